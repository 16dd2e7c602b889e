"""Staying true to your word (Tutek & Šnajder 2020): the study's numbers, its tables and its claims.

F1 enters as one number per model and text (`grid.scores`), in percent. Changes under replaced attention are means
over corpora, attentions and both replacements. Variants are compared within a training (`seed`) and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, effect
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import Printed, printed_gap
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged
from attnlib.studies.quantity import NotTested, Quantity, Rows, Table
from attnlib.studies.results import Results
from attnlib.studies.tying_mlm.grid import CELL, MODEL, SWAPPED, models
from attnlib.studies.tying_mlm.params import REGULARISED, VARIANTS, Params

STUDY = "tying_mlm"
SCORES: dict[str, str] = {}
for _score, _name in {"f1": "F1", "macro": "macro-F1"}.items():
    SCORES |= {f"{_score}_trained": _name} | {f"delta_{_score}_{swap}": f"{_name}, Δ {swap}" for swap in SWAPPED}
DROPS = [f"delta_macro_{swap}" for swap in SWAPPED]
SAMPLES = {"mi_most_frequent": "MF", "mi_random_sample": "RS"}
TOKENS = "per_token_probability"
NAMES = SCORES | SAMPLES | {TOKENS: "per token"}
"""Metrics, as the paper's tables name them -> as readers see them."""
CLUSTERS = 1000  # of the paper's mutual information: with another number, its size is another
LEVELS = 50  # places along the JSD that two curves of adversaries share
SAME = 1.0  # points of macro-F1: a replacement of attention within this changes nothing


def main(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 1's models: one layer, the chosen weights, the normal query."""
    return frame[frame["chosen"] & (frame["layers"] == 1) & (frame["init"] != "kaiming")]


def weighed(frame: pd.DataFrame) -> pd.DataFrame:
    """Tying and MLM, additive attention, one layer, of the seeds that all weights of a loss have."""
    seeds = set(frame.loc[~frame["chosen"], "seed"].unique()) or set(frame["seed"].unique())
    kept = frame[(frame["attention"] == "additive") & (frame["layers"] == 1) & frame["seed"].isin(seeds)]
    return kept[kept["variant"].isin(REGULARISED)]


def deeper(frame: pd.DataFrame) -> pd.DataFrame:
    """Additive attention, chosen weights, every depth, which `encoder` names as Table 6 does."""
    kept = frame[frame["chosen"] & (frame["attention"] == "additive")]
    ends = kept["layers"].map({kept["layers"].max(): "most", 1: "one"})
    return kept.assign(encoder=[f"lstm-{depth}layer" for depth in kept["layers"]], depth=ends)


def dot(frame: pd.DataFrame) -> pd.DataFrame:
    """Base models with dot attention, whose query starts in one of two ways."""
    return frame[(frame["attention"] == "dot") & (frame["variant"] == "base") & (frame["layers"] == 1)]


def correct(texts: pd.DataFrame) -> pd.DataFrame:
    """Texts that the models of Table 1 classify correctly."""
    kept = main(texts)
    return kept[kept["prediction"] == kept["label"]].assign(metric=TOKENS)


def mean_of(metrics: Sequence[str], rows: Rows, frame: pd.DataFrame) -> pd.DataFrame:
    """One row per model and text: the mean over metrics, which are no trainings apart."""
    kept = rows(frame)
    keys = [c for c in (*MODEL, "chosen", "depth", "instance") if c in kept]
    values = [c for c in ("value", "point") if c in kept]
    part = kept[kept["metric"].isin(metrics)]
    return part.groupby(keys, sort=False, dropna=False)[values].mean().reset_index()


CELLS = ("dataset", "attention")
points = Quantity("scores", model=CELLS, bounds=(-100, 100), apart=(-100, 100), unit="points")


def scores(rows: Rows, table: int = 0) -> dict[str, Quantity]:
    """Both scores and their changes under both replacements; `table`: where the paper prints F1."""
    made = {}
    for metric, name in SCORES.items():
        own = points.of(rows=rows, bounds=(-100 if "delta" in metric else 0, 100)).only(metric=metric)
        made[name] = own.of(printed=(STUDY, table, metric)) if table and "f1" in metric else own
    return made


def drop(rows: Rows = main) -> Quantity:
    """The change of macro-F1 under replaced attention, mean over both replacements."""
    return points.of(rows=partial(mean_of, DROPS, rows))


f1 = scores(main)["F1"]
deep = drop(deeper).only(variant="base").minus("depth", "most", "one").of(model=("dataset",))
started = drop(dot).of(model=("dataset",))
information = Quantity("information", model=CELLS, text=None, bounds=None, unit="nats")
known = information.of(rows=partial(mean_of, list(SAMPLES), lambda frame: frame))
tokens = Quantity("texts", "token_probability", correct, CELLS, printed=(STUDY, 3, TOKENS))
entropy = Quantity("texts", "entropy", dot, ("dataset",))
dev = Quantity("kept", lambda frame: 100 * frame["dev_f1_macro"], weighed, CELLS, (0, 100), text=None)
distances = Quantity("distances", "tvd", model=("dataset", "variant", "lam"))
jsd = distances.of(value="jsd", bounds=(0, stats.LN2))


def versus(quantity: Quantity, variant: str, base: str = "base") -> Quantity:
    """A variant minus the base model, paired by training and text."""
    return quantity.minus("variant", variant, base)


def fooled(variant: str, results: Results) -> Effect:
    """TVD of adversaries of a variant beyond those of base at equal JSD, mean over the JSD that both reach.

    A curve joins the mean (JSD, TVD) of the adversaries of one training; both sides share the seed.
    """
    rows = versus(distances, variant).values(results).dropna(subset="jsd")
    places = [("jsd", "tvd"), (variant, "base"), sorted(rows["lam"].unique())]
    wide = rows.pivot_table(["jsd", "tvd"], ["dataset", "seed", "instance"], ["variant", "lam"])
    wide = wide.reindex(columns=pd.MultiIndex.from_product(places))
    wide.columns = columns = wide.columns.to_flat_index()

    def gap(means: np.ndarray) -> float:
        curves = [curve[:, np.argsort(curve[0])] for curve in means.reshape(2, 2, -1).swapaxes(0, 1)]
        ours, theirs = (curve[:, ~np.isnan(curve[0])] for curve in curves)
        if not (ours.size and theirs.size):
            return np.nan
        low, high = max(ours[0, 0], theirs[0, 0]), min(ours[0, -1], theirs[0, -1])
        at = np.linspace(low, high, LEVELS)
        return float((np.interp(at, *ours) - np.interp(at, *theirs)).mean()) if low < high else np.nan

    def whole(part: pd.DataFrame) -> float:
        return gap(part[columns].to_numpy(float).mean(0))

    def without_each(part: pd.DataFrame) -> np.ndarray:
        values = part[columns].to_numpy(float)
        return np.array([gap(rest) for rest in (values.sum(0) - values) / (len(values) - 1)])

    values = pseudovalues(wide.reset_index(), whole, ["dataset", "seed"], without_each=without_each)
    found = effect(values, ["dataset"], bounds=(-1.0, 1.0))
    if np.isnan(found.estimate):
        raise NotTested("The curves of the two models share no JSD, so that nothing can be compared.")
    return found


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in the paper's order of attentions and variants; metrics as readers see them."""
    order = [*frame["dataset"].unique(), "additive", "dot", *VARIANTS]
    keys = [c for c in ("dataset", "attention", "variant") if c in frame]
    names = {"metric": frame["metric"].map(NAMES)} if "metric" in frame else {}
    ranks = frame[keys].apply(lambda column: column.map(order.index))
    return frame.assign(**names).loc[ranks.sort_values(keys, kind="stable").index].reset_index(drop=True)


COUNTED = {"floor": "floor", "ceiling": "ceiling", "words": "words", "k": "k", "occurrences": "n"}
TABLES = [
    Table("f1", scores(main, table=1), "F1 of the positive class and macro-F1 with trained "
          "attention, and their changes, with 95% intervals; F1 next to the paper's Table 1 for "
          "the corpus or the closest one it has.", CELL, 1, shown=ordered),
    Table("ablation", scores(weighed) | {"macro-F1 on dev": dev}, "Weights of both losses: scores, "
          "their changes, and macro-F1 on dev, which chooses the weight of all other tables.",
          ["dataset", "variant", "strength"], 1, shown=lambda t: ordered(t.sort_values("strength"))),
    Table("layers", scores(deeper, table=6), "F1, macro-F1 and their changes by number of layers, "
          "additive attention, after the paper's Table 6.", ["dataset", "variant", "encoder"], 1,
          shown=ordered),
    Table("initialisation", {"normalised entropy": entropy} | scores(dot), "Base models with dot "
          "attention by the start of the query, after the paper's Appendix C: entropy of the "
          "weights relative to its maximum (1 is uniform), scores and their changes.",
          ["dataset", "init"], otherwise="No model of this run has dot attention."),
    Table("information", {"nats": information.of(printed=(STUDY, 2, ""))} | {name:
          (information.of(value=column), "mean") for name, column in COUNTED.items()}, "Mutual "
          "information in nats, after the paper's Table 2, additive attention, with 95% intervals "
          "over trainings. Floor: shuffled labels; ceiling: the entropy of the words.",
          [*CELL, "metric"], shown=ordered),
    Table("per_token", {"per token": tokens}, "Mean per-token probability of the predicted class, "
          "with 95% intervals, after the paper's Table 3.", CELL, 3, shown=ordered),
]  # fmt: skip


def theirs(table: int, metrics: Sequence[str], variant: str, results: Results) -> Printed | None:
    """The paper's difference of a variant and base; none of information with another number of clusters."""
    if table == 2 and set(results.information["k"].unique()) != {CLUSTERS}:
        return None
    datasets, attentions = (results.swaps[column].unique() for column in CELLS)
    gap = versus(points.of(rows=lambda frame: frame).only(metric=metrics), variant)
    return printed_gap(STUDY, table, gap, datasets, attention=attentions)


FALL = "change of macro-F1 under uniform and permuted attention"


def about(v: str, words: str) -> list[Claim]:
    """What the paper says of an objective."""
    return [
        Claim(f"With {words}, F1 falls more than in the base model when attention is replaced.",
              "section 4.1, Table 1", f"{FALL}, {v} minus base", versus(drop(), v), "less",
              figure="f1", id=f"fragile-{v}"),
        Claim(f"With {words}, the model classifies about as well as the base model.",
              "section 4.1, Table 1", f"F1 with trained attention, {v} minus base", versus(f1, v),
              "within", border=AS_ACCURATE, figure="f1", id=f"similar-{v}"),
        Claim(f"With {words}, hidden states share more information with their words.",
              "section 4.2, Table 2", f"mutual information, mean of MF and RS, {v} minus base",
              versus(known, v), paper=partial(theirs, 2, list(SAMPLES), v),
              figure="information", id=f"information-{v}"),
        Claim(f"Fooling a model with {words} changes its outputs more, at the same distance of "
              f"attentions, than fooling the base model.", "section 4.3, Figure 1", f"mean TVD at "
              f"equal JSD, adversaries of {v} minus those of base, additive attention",
              partial(fooled, v), unit="TVD", figure="frontier", id=f"adversary-{v}"),
        Claim(f"With {words}, single tokens alone give a lower probability of the prediction.",
              "section 5, Table 3", f"mean per-token probability of texts that both classify "
              f"correctly, {v} minus base", versus(tokens, v), "less",
              paper=partial(theirs, 3, [TOKENS], v), figure="per_token", id=f"tokens-{v}"),
    ]  # fmt: skip


CLAIMS = [
    *about("tying", "tying"),
    *about("mlm", "masked language modelling"),
    Claim("With more layers, the base model depends less on its attention.", "Appendix B, Table 6",
          "change of macro-F1 under replaced attention, most layers minus one, additive attention",
          deep, figure="layers", id="depth"),
    Claim("Dot attention is nearer to uniform with torch's default start of its query than with "
          "N(0, 1).", "Appendix C", "normalised entropy of attention, default minus normal, base "
          "models", entropy.minus("init", "kaiming", "normal"), figure="initialisation",
          id="init-entropy"),
    Claim("With the default start of the query, replacing dot attention leaves F1 as it is.",
          "Appendix C", f"{FALL}, base models", started.only(init="kaiming"), "within", border=SAME,
          figure="initialisation", id="init-constant"),
    Claim("A residual connection behaves like concatenation when attention is replaced.",
          "section 4.1 (omitted there for space)", "change of macro-F1 under replaced attention, "
          "residual minus concat", versus(drop(), "residual", "concat"), "within",
          border=AS_ACCURATE, figure="f1", id="residual"),
]  # fmt: skip


def answer(claims: Mapping[str, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""

    def both(name: str) -> str:
        return f"tying {claims[f'{name}-tying']}; MLM {claims[f'{name}-mlm']}"

    return [
        "Does attention matter more to a classifier whose hidden states stay close to their words, by "
        "tying or by masked language modelling (MLM)? Numbers are differences from the base model.",
        f"**When attention is replaced**, macro-F1 falls further: {both('fragile')}. With its own "
        f"attention F1 stays within {AS_ACCURATE:g} points: {both('similar')}.",
        f"**States share more with their words**, in nats: {both('information')}. Single tokens alone "
        f"predict less confidently: {both('tokens')}.",
        f"**Adversaries** change outputs more at equal distance of attentions: {both('adversary')}. A model that "
        "needs its attention meets a condition for an explanation; whether it is faithful stays open here.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    swaps, rows, apart = results.swaps, results.information, results.distances
    trained = swaps[swaps["swap"] == "trained"]
    tested = [results.grid.corpora[model.data] for model in models(results.params)]
    expected = sum((Counter({corpus.name: len(corpus.test)}) for corpus in tested), Counter())
    known = rows["value"].between(0, rows["ceiling"] + 1e-9)
    far = apart["jsd"].dropna() if len(apart) else pd.Series(dtype=float)
    return {
        "every model answered every test text": Counter(trained["dataset"]) == expected,
        "trained attention changes nothing": trained["change"].max() < 1e-5,
        "information lies between zero and the entropy of the words": known.all(),
        "divergences keep to their ranges": far.between(0, stats.LN2).all(),
    }
