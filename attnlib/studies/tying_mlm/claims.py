"""The effects behind the rules of `claims.yaml`, and what must hold whatever the data.

Changes under replaced attention are means over corpora, attentions and both replacements (uniform, permuted), in
points of macro-F1. Variants are compared within a training (`seed`) and text, on the trainings in which both
learned something (`learned.idle`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, contrast, effect
from attnlib.studies.beside import closest, printed_minus, reference
from attnlib.studies.ledger import NotTested, Printed, judge, required
from attnlib.studies.rules import read_rules
from attnlib.studies.tying_mlm import tables
from attnlib.studies.tying_mlm.grid import Results, models
from attnlib.studies.tying_mlm.params import Params
from attnlib.studies.tying_mlm.tables import MODEL, POINTS, SCORES, STUDY, main

JUDGED = "macro"
"""The score by which claims on replaced attention are judged."""
CLUSTERS = 1000
"""Clusters of the paper's mutual information (section 3.4): with another number, its size is another."""
CELLS = ["dataset", "attention"]
DROPS = ("delta_f1_uniform", "delta_f1_permuted")
POSITIVE = ", F1 of the positive class"


def _learned(results: Results, name: str) -> pd.DataFrame:
    """A frame of the results without the models that learned nothing."""
    return results.learned(name)


def _minus(frame: pd.DataFrame, column: str, a: object, b: object, cells: Sequence[str], **options) -> Effect:
    """`contrast` of two kinds of models, paired by training; not tested where the run lacks one of them."""
    if frame.empty or not {a, b} <= set(frame[column].unique()):
        raise NotTested
    return contrast(frame, column, a, b, cells, **options)


def _drops(results: Results, score: str) -> pd.DataFrame:
    return tables.drops(_learned(results, "scores"), score)


def fragile(results: Results, a: str, b: str, score: str = JUDGED) -> Effect:
    """How much more the score falls with `a` than with `b` when attention is replaced."""
    return _minus(main(_drops(results, score)), "variant", a, b, CELLS, bounds=POINTS)


def similar(results: Results, variant: str) -> Effect:
    """F1 with trained attention, of the variant minus that of base."""
    scores = main(_learned(results, "scores"))
    return _minus(scores[scores["metric"] == "f1_trained"], "variant", variant, "base", CELLS, bounds=POINTS)


def informed(results: Results, variant: str) -> Effect:
    """Mutual information of states and words, of the variant minus that of base."""
    known = tables.known(_learned(results, "information"))
    return _minus(known, "variant", variant, "base", CELLS, text=None)


def fooled(results: Results, variant: str) -> Effect:
    """TVD at equal JSD, of adversaries of the variant minus those of base (`frontier_gap`)."""
    distances = _learned(results, "distances")
    if distances.empty or not {variant, "base"} <= set(distances["variant"].unique()):
        raise NotTested("No adversaries of both models are part of this run, or the models learned nothing.")
    gap = tables.frontier_gap(distances, variant, "base")
    if np.isnan(gap.estimate):
        raise NotTested("The curves of the two models share no JSD, so that nothing can be compared.")
    return gap


def alone(results: Results, variant: str) -> Effect:
    """Per-token probability of correctly classified texts, of the variant minus that of base."""
    texts = tables.correct(main(_learned(results, "texts")))
    return _minus(texts, "variant", variant, "base", CELLS, bounds=(-1.0, 1.0))


def deep(results: Results, score: str = JUDGED) -> Effect:
    """Change of the score of base models under replaced attention, with most layers minus with one."""
    drops = _drops(results, score)
    part = drops[drops["chosen"] & (drops["attention"] == "additive") & (drops["variant"] == "base")]
    why = "No base model with more than one layer is part of this run, or none learned something."
    required(part[part["layers"] > 1], why)
    return _minus(part, "layers", part["layers"].max(), 1, ["dataset"], bounds=POINTS)


def even(results: Results) -> Effect:
    """Normalised entropy of dot attention, with torch's start of the query minus with N(0, 1)."""
    even = tables.entropies(_learned(results, "texts"))
    return _minus(even, "init", "kaiming", "normal", ["dataset"], bounds=(-1.0, 1.0))


def constant(results: Results, score: str = JUDGED) -> Effect:
    """Change of the score under replaced dot attention, with torch's start of the query."""
    drops = _drops(results, score)
    return effect(drops[drops["init"] == "kaiming"], ["dataset"], bounds=POINTS)


def printed_gap(
    results: Results, table: int, metrics: Sequence[str], a: dict[str, str], b: dict[str, str], note: str = ""
) -> Printed:
    """The paper's difference of `a` and `b`, mean over metrics and the run's attentions: for the run's corpora, or
    the closest that the paper has; where it has none, over all of its corpora."""
    corpora, where = closest(STUDY, table, results.swaps["dataset"].unique())
    attentions = set(results.swaps["attention"].unique()) & set(reference(STUDY, table)["attention"])
    cells = {"dataset": corpora, "attention": sorted(attentions), "metric": metrics}
    return Printed(printed_minus(STUDY, table, a, b, **cells), where + note)


def printed_information(results: Results, variant: str) -> Printed | None:
    """The paper's difference of mutual information; none with another number of clusters."""
    if set(results.information["k"].unique()) != {CLUSTERS}:
        return None
    metrics = ("mi_most_frequent", "mi_random_sample")
    return printed_gap(results, 2, metrics, {"variant": variant}, {"variant": "base"})


def printed_depth(results: Results) -> Printed | None:
    """The paper's difference between as many layers as the run has and one."""
    deep, flat = ({"encoder": f"lstm-{n}layer", "variant": "base"} for n in (results.swaps["layers"].max(), 1))
    found = printed_gap(results, 6, DROPS, deep, flat, note=POSITIVE)
    return None if np.isnan(found.value) else found


RULES = read_rules(__file__, globals())
REPLACED = tuple(rule for rule in RULES if rule.effect.func in (fragile, deep, constant))
"""The claims on replaced attention."""


def by_score(results: Results) -> pd.DataFrame:
    """The claims on replaced attention judged by every score: the rule's, the one before it (F1), and accuracy."""
    rows = []
    for rule in REPLACED:
        for score, name in SCORES.items():
            try:
                found = rule.effect(results, score=score)
            except NotTested:
                continue
            if np.isnan(found.estimate):
                continue
            verdict = judge(found.low, found.high, rule.direction, rule.border)
            rows.append(
                {"claim": rule.id, "score": name, "rule": score == JUDGED, "verdict": verdict} | found.row()
            )
    return pd.DataFrame(rows, columns=["claim", "score", "rule", "verdict", *Effect(np.nan).row()])


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    swaps, texts, information, distances = results.swaps, results.texts, results.information, results.distances
    trained = swaps[swaps["swap"] == "trained"]
    draws = swaps.groupby([*MODEL, "swap"])["draw"].nunique()
    stated = draws.index.get_level_values("swap").map({"permuted": params.permutations}).fillna(1)
    expected: Counter[str] = Counter()
    for model in models(results.params):
        corpus = results.grid.corpora[model.data]
        expected[corpus.name] += len(corpus.test)
    answers = [frame.set_index([*MODEL, "instance"])["prediction"].sort_index() for frame in (trained, texts)]
    return {
        "every model answered every test text": all(Counter(f["dataset"]) == expected for f in (trained, texts)),
        "trained attention changes nothing": float(trained["change"].max()) < 1e-5,
        "every model met one uniform and the stated permutations": bool((draws.to_numpy() == stated).all()),
        "both measures of a model agree on its predictions": answers[0].equals(answers[1]),
        "entropies and probabilities are shares": all(
            texts[name].dropna().between(0, 1).all() for name in ("entropy", "token_probability", "confidence")
        ),
        "information lies between zero and the entropy of the words": bool(
            information["value"].between(0, information["ceiling"] + 1e-9).all()
        ),
        "divergences keep to their ranges": distances.empty
        or bool(distances["jsd"].dropna().between(0, stats.LN2).all() and distances["tvd"].between(0, 1).all()),
    }
