"""What Tutek & Šnajder say, and the rule by which each sentence is judged. The rules were fixed before the runs.

Changes under replaced attention are means over corpora, attentions and both replacements (uniform, permuted), in
points of macro-F1. Variants are compared within a training (`seed`) and text, on the trainings in which both
learned something (`learned.idle`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, contrast, effect
from attnlib.studies.beside import closest, printed, reference
from attnlib.studies.learned import without
from attnlib.studies.ledger import NotTested, Printed, Rule, judge
from attnlib.studies.tying_mlm import tables
from attnlib.studies.tying_mlm.adversaries import frontier_gap
from attnlib.studies.tying_mlm.grid import Results, models
from attnlib.studies.tying_mlm.params import REGULARISED, Params
from attnlib.studies.tying_mlm.tables import MODEL, POINTS, SCORES, STUDY, TOKENS, main

SIMILAR = 3.0
"""Points of F1 within which two models count as similar: above the largest loss of Table 1, 2.7 (Anemia, MLM)."""
CONSTANT = 1.0
"""Points of F1 within which a replacement of attention counts as changing nothing."""
JUDGED = "macro"
"""The score by which claims on replaced attention are judged."""
CLUSTERS = 1000
"""Clusters of the paper's mutual information (section 3.4): with another number, its size is another."""
HISTORY = (
    "Until results had been seen, this was judged by F1 of the positive class. That score cannot fall where a "
    "model with uniform attention calls most texts positive, however wrong it is; macro-F1 can. The table of "
    "verdicts by score has both."
)
SPELLED = {"tying": "tying", "mlm": "masked language modelling"}
CELLS = ["dataset", "attention"]
DROPS = ("delta_f1_uniform", "delta_f1_permuted")
POSITIVE = ", F1 of the positive class"


def _learned(results: Results, name: str) -> pd.DataFrame:
    """A frame of the results without the models that learned nothing."""
    return without(getattr(results, name), results.idle)


def _minus(frame: pd.DataFrame, column: str, a: object, b: object, cells: Sequence[str], **options) -> Effect:
    """`contrast` of two kinds of models, paired by training; not tested where the run lacks one of them."""
    if frame.empty or not {a, b} <= set(frame[column].unique()):
        raise NotTested
    return contrast(frame, column, a, b, cells, **options)


def _drops(results: Results, score: str) -> pd.DataFrame:
    return tables.drops(_learned(results, "scores"), score)


def _fragile(variant: str, other: str, results: Results, score: str = JUDGED) -> Effect:
    return _minus(main(_drops(results, score)), "variant", variant, other, CELLS, bounds=POINTS)


def _similar(variant: str, results: Results) -> Effect:
    scores = main(_learned(results, "scores"))
    return _minus(scores[scores["metric"] == "f1_trained"], "variant", variant, "base", CELLS, bounds=POINTS)


def _informed(variant: str, results: Results) -> Effect:
    known = tables.known(_learned(results, "information"))
    return _minus(known, "variant", variant, "base", CELLS, text=None)


def _fooled(variant: str, results: Results) -> Effect:
    distances = _learned(results, "distances")
    if distances.empty or not {variant, "base"} <= set(distances["variant"].unique()):
        raise NotTested("No adversaries of both models are part of this run, or the models learned nothing.")
    gap = frontier_gap(distances, variant, "base")
    if np.isnan(gap.estimate):
        raise NotTested("The curves of the two models share no JSD, so that nothing can be compared.")
    return gap


def _alone(variant: str, results: Results) -> Effect:
    texts = tables.correct(main(_learned(results, "texts")))
    return _minus(texts, "variant", variant, "base", CELLS, bounds=(-1.0, 1.0))


def _deep(results: Results, score: str = JUDGED) -> Effect:
    drops = _drops(results, score)
    part = drops[drops["chosen"] & (drops["attention"] == "additive") & (drops["variant"] == "base")]
    deepest = part["layers"].max() if len(part) else 1
    if deepest == 1:
        raise NotTested("No base model with more than one layer is part of this run, or none learned something.")
    return _minus(part, "layers", deepest, 1, ["dataset"], bounds=POINTS)


def _even(results: Results) -> Effect:
    even = tables.entropies(_learned(results, "texts"))
    return _minus(even, "init", "kaiming", "normal", ["dataset"], bounds=(-1.0, 1.0))


def _constant(results: Results, score: str = JUDGED) -> Effect:
    drops = _drops(results, score)
    return effect(drops[drops["init"] == "kaiming"], ["dataset"], bounds=POINTS)


def _printed(
    table: int, metrics: Sequence[str], a: dict[str, str], b: dict[str, str], results: Results, *, note: str = ""
) -> Printed:
    """The paper's difference of `a` and `b`, mean over metrics and the run's attentions: for the run's corpora, or
    the closest that the paper has; where it has none, over all of its corpora."""
    corpora, where = closest(STUDY, table, results.swaps["dataset"].unique())
    attentions = set(results.swaps["attention"].unique()) & set(reference(STUDY, table)["attention"])
    gaps = []
    for dataset, attention, metric in product(corpora, sorted(attentions), metrics):
        cell = {"dataset": dataset, "attention": attention, "metric": metric}
        gaps.append(printed(STUDY, table, **cell, **a) - printed(STUDY, table, **cell, **b))
    return Printed(float(np.mean(gaps)), where + note)


def _printed_information(variant: str, results: Results) -> Printed | None:
    if set(results.information["k"].unique()) != {CLUSTERS}:
        return None
    metrics = ("mi_most_frequent", "mi_random_sample")
    return _printed(2, metrics, {"variant": variant}, {"variant": "base"}, results)


def _printed_depth(results: Results) -> Printed | None:
    deep, flat = ({"encoder": f"lstm-{n}layer", "variant": "base"} for n in (results.swaps["layers"].max(), 1))
    found = _printed(6, DROPS, deep, flat, results, note=POSITIVE)
    return None if np.isnan(found.value) else found


def _rules(variant: str) -> list[Rule]:
    """The claims on one of the paper's objectives."""
    spelled, sides = SPELLED[variant], ({"variant": variant}, {"variant": "base"})
    return [
        Rule(
            id=f"tying_mlm-fragile-{variant}",
            says=f"With {spelled}, F1 falls more than in the base model when attention is replaced.",
            where="section 4.1, Table 1",
            test=f"change of macro-F1 under uniform and permuted attention, {variant} minus base",
            effect=partial(_fragile, variant, "base"),
            direction="less",
            paper=partial(_printed, 1, DROPS, *sides, note=POSITIVE),
            unit="points",
            figure="drops-macro",
            history=HISTORY,
        ),
        Rule(
            id=f"tying_mlm-similar-{variant}",
            says=f"With {spelled}, the model classifies about as well as the base model.",
            where="section 4.1, Table 1",
            test=f"F1 with trained attention, {variant} minus base",
            effect=partial(_similar, variant),
            direction="within",
            border=SIMILAR,
            unit="points",
            figure="fragility",
        ),
        Rule(
            id=f"tying_mlm-information-{variant}",
            says=f"With {spelled}, hidden states share more information with their words.",
            where="section 4.2, Table 2",
            test=f"mutual information, mean of MF and RS, {variant} minus base",
            effect=partial(_informed, variant),
            paper=partial(_printed_information, variant),
            unit="nats",
            figure="information",
        ),
        Rule(
            id=f"tying_mlm-adversary-{variant}",
            says=f"Fooling a model with {spelled} changes its outputs more, at the same distance of attentions, "
            "than fooling the base model.",
            where="section 4.3, Figure 1",
            test=f"mean TVD at equal JSD, adversaries of {variant} minus those of base, additive attention",
            effect=partial(_fooled, variant),
            unit="TVD",
            figure="frontier",
            waits="adversary_seeds",
        ),
        Rule(
            id=f"tying_mlm-tokens-{variant}",
            says=f"With {spelled}, single tokens alone give a lower probability of the prediction.",
            where="section 5, Table 3",
            test=f"mean per-token probability of texts that both classify correctly, {variant} minus base",
            effect=partial(_alone, variant),
            direction="less",
            paper=partial(_printed, 3, (TOKENS,), *sides),
            figure="per_token",
        ),
    ]


_PAIRED = [rule for pair in zip(*map(_rules, REGULARISED), strict=True) for rule in pair]
RULES: tuple[Rule, ...] = (
    *_PAIRED,
    Rule(
        id="tying_mlm-depth",
        says="With more layers, the base model depends less on its attention.",
        where="Appendix B, Table 6",
        test="change of macro-F1 under replaced attention, most layers minus one, additive attention",
        effect=_deep,
        paper=_printed_depth,
        unit="points",
        figure="layers",
        history=HISTORY,
    ),
    Rule(
        id="tying_mlm-init-entropy",
        says="Dot attention is nearer to uniform with torch's default start of its query than with N(0, 1).",
        where="Appendix C",
        test="normalised entropy of attention, default minus normal, base models",
        effect=_even,
        figure="entropy",
    ),
    Rule(
        id="tying_mlm-init-constant",
        says="With the default start of the query, replacing dot attention leaves F1 as it is.",
        where="Appendix C",
        test="change of macro-F1 under uniform and permuted attention, base models",
        effect=_constant,
        direction="within",
        border=CONSTANT,
        unit="points",
        figure="initialisation",
        history=HISTORY,
    ),
    Rule(
        id="tying_mlm-residual",
        says="A residual connection behaves like concatenation when attention is replaced.",
        where="section 4.1 (omitted there for space)",
        test="change of macro-F1 under replaced attention, residual minus concat",
        effect=partial(_fragile, "residual", "concat"),
        direction="within",
        border=SIMILAR,
        unit="points",
        figure="drops-macro",
        history=HISTORY,
        waits="baseline_seeds",
    ),
)
REPLACED = tuple(rule for rule in RULES if rule.history == HISTORY)
"""The claims on replaced attention."""


def by_score(results: Results) -> pd.DataFrame:
    """The claims on replaced attention judged by every score: the rule's, the one before it (F1), and accuracy."""
    rows = []
    for rule in REPLACED:
        for score, name in SCORES.items():
            try:
                found = rule.effect(results, score)
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
