"""Staying true to your word (Tutek & Šnajder 2020): every number of the study, its tables and its claims.

Accuracy and F1 enter as one number per model and text (`scores`), in percent; F1 is no mean over texts, so these
are its pseudovalues. Changes under replaced attention are means over corpora, attentions and both replacements
(uniform, permuted). Variants are compared within a training (`seed`) and text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import chain

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, contrasts, effect, interval_texts
from attnlib.stats.jackknife import pseudovalues
from attnlib.studies.beside import Printed, beside, closest, printed_minus, reference
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged, verdict_of
from attnlib.studies.quantity import NotTested, Quantity, Rows, Table, required
from attnlib.studies.results import Results
from attnlib.studies.tying_mlm.grid import CELL, MODEL, SWAPPED, models
from attnlib.studies.tying_mlm.params import REGULARISED, VARIANTS, Params

STUDY = "tying_mlm"
CELLS = ("dataset", "attention")
SCORES = {"f1": "F1", "macro": "macro-F1", "accuracy": "accuracy"}
"""F1 of the positive class, as the paper has it; its mean over both classes; share of correct decisions."""
NAMES = {f"{s}_trained": name for s, name in SCORES.items()} | {
    f"delta_{s}_{swap}": f"{name}, Δ {swap}" for s, name in SCORES.items() for swap in SWAPPED
}
"""Metrics, as the paper's tables name them -> as readers see them."""
SAMPLES = {"mi_most_frequent": "MF", "mi_random_sample": "RS"}
TOKENS = "per_token_probability"
JUDGED = "macro"
"""The score by which claims on replaced attention are judged."""
CLUSTERS = 1000
"""Clusters of the paper's mutual information (section 3.4): with another number, its size is another."""
LEVELS = 50
"""Places along the JSD that two curves of adversaries share at which their TVD is compared."""
SAME = 1.0
"""Points of macro-F1: a replacement of attention within this changes nothing."""

# rows -----------------------------------------------------------------------------------------------


def drops(score: str, frame: pd.DataFrame) -> pd.DataFrame:
    """The change of a score when attention is replaced, mean over both replacements: one row per model and text."""
    part = frame[(frame["score"] == score) & frame["metric"].str.startswith("delta")]
    keys = [*MODEL, "chosen", "instance"]
    return part.groupby(keys, sort=False, dropna=False)[["value", "point"]].mean().reset_index()


def main(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 1's models: one layer, the chosen weights, the normal query."""
    return frame[frame["chosen"] & (frame["layers"] == 1) & (frame["init"] != "kaiming")]


def weighed(frame: pd.DataFrame) -> pd.DataFrame:
    """Tying and MLM with additive attention and one layer, of the seeds that all weights of a loss have."""
    seeds = set(frame.loc[~frame["chosen"], "seed"].unique()) or set(frame["seed"].unique())
    kept = frame[(frame["attention"] == "additive") & (frame["layers"] == 1) & frame["seed"].isin(seeds)]
    return kept[kept["variant"].isin(REGULARISED)]


def deeper(frame: pd.DataFrame) -> pd.DataFrame:
    """Additive attention, chosen weights, every depth, which `encoder` names as the paper's Table 6 does."""
    kept = frame[frame["chosen"] & (frame["attention"] == "additive")]
    return kept.assign(encoder=[f"lstm-{depth}layer" for depth in kept["layers"]])


def dot(frame: pd.DataFrame) -> pd.DataFrame:
    """Base models with dot attention, whose query starts in one of two ways."""
    return frame[(frame["attention"] == "dot") & (frame["variant"] == "base") & (frame["layers"] == 1)]


def correct(texts: pd.DataFrame) -> pd.DataFrame:
    """Correctly classified texts."""
    return texts[texts["prediction"] == texts["label"]]


def both_samples(information: pd.DataFrame) -> pd.DataFrame:
    """Mutual information of every model: the mean over both samples of words, which are no trainings apart."""
    return information.groupby(MODEL, sort=False, dropna=False)["value"].mean().reset_index()


# numbers --------------------------------------------------------------------------------------------

points = Quantity("scores", model=CELLS, bounds=(-100, 100), apart=(-100, 100), unit="points")


def score(metric: str, rows: Rows = main, table: int = 0) -> Quantity:
    """A score, or its change, by the name that the paper's tables have for it; `table`: where it prints it."""
    bounds = points.bounds if metric.startswith("delta") else (0, 100)
    printed = (STUDY, table, metric) if table else None
    return points.of(rows=rows, bounds=bounds, printed=printed).only(metric=metric)


def drop(name: str = JUDGED, rows: Rows = main) -> Quantity:
    """The change of a score under replaced attention, mean over both replacements."""
    return points.of(rows=lambda frame: drops(name, rows(frame)) if len(frame) else frame)


f1 = score("f1_trained")
information = Quantity("information", model=CELLS, text=None, bounds=None, unit="nats")
known = information.of(rows=lambda frame: both_samples(frame) if len(frame) else frame)
tokens = Quantity("texts", "token_probability", lambda frame: correct(main(frame)), CELLS)
entropy = Quantity("texts", "entropy", dot, ("dataset",))
started = drop(rows=dot).of(model=("dataset",))
dev = Quantity("kept", lambda frame: 100 * frame["dev_f1_macro"], weighed, CELLS, (0, 100), text=None)
distances = Quantity("distances", "tvd", model=("dataset", "variant", "lam"))
jsd = distances.of(value="jsd", bounds=(0, stats.LN2))
decided_alike = distances.of(value=lambda frame: frame["prediction_base"] == frame["prediction_adversary"])


def versus(quantity: Quantity, variant: str, base: str = "base") -> Quantity:
    """A variant minus the base model, paired by training and text."""
    return quantity.minus("variant", variant, base)


def fooled(variant: str, results: Results) -> Effect:
    """TVD at equal JSD, of adversaries of the variant minus those of base (`frontier_gap`)."""
    rows = results.distances
    if rows.empty or not {variant, "base"} <= set(rows["variant"].unique()):
        raise NotTested("No adversaries of both models are part of this run, or the models learned nothing.")
    gap = frontier_gap(rows, variant, "base")
    if np.isnan(gap.estimate):
        raise NotTested("The curves of the two models share no JSD, so that nothing can be compared.")
    return gap


def deep(results: Results, name: str = JUDGED) -> Effect:
    """Change of the score of base models under replaced attention, with most layers minus with one."""
    why = "No base model with more than one layer is part of this run, or none learned something."
    base = drop(name, deeper).only(variant="base").of(model=("dataset",), why=why)
    most = base.values(results)["layers"].max()
    if most < 2:
        raise NotTested(why)
    return base.minus("layers", most, 1).mean(results)


def frontier_gap(rows: pd.DataFrame, a: str, b: str) -> Effect:
    """TVD that adversaries of `a` have beyond those of `b` at equal JSD, averaged over the JSD that both reach.

    A curve joins the mean (JSD, TVD) of the adversaries of one training in order of JSD; both sides share the seed.
    NaN where no two curves share a JSD.
    """
    both = rows[rows["variant"].isin([a, b])].dropna(subset="jsd")
    text = ["dataset", "seed", "instance"]
    table = both.pivot_table(index=text, columns=["variant", "lam"], values=["jsd", "tvd"])
    sides = [[c for c in table if c[:2] == (name, side)] for side in (a, b) for name in ("jsd", "tvd")]
    columns, cuts = list(chain(*sides)), np.cumsum([len(side) for side in sides])[:-1]
    table.columns = table.columns.to_flat_index()

    def gap(means: np.ndarray) -> float:
        far_a, cost_a, far_b, cost_b = (side[~np.isnan(side)] for side in np.split(means, cuts))
        if not (len(far_a) and len(far_b)):
            return float("nan")
        low, high = max(far_a.min(), far_b.min()), min(far_a.max(), far_b.max())
        if not low < high:
            return float("nan")
        at = np.linspace(low, high, LEVELS)
        i, j = (np.argsort(far, kind="stable") for far in (far_a, far_b))
        return float((np.interp(at, far_a[i], cost_a[i]) - np.interp(at, far_b[j], cost_b[j])).mean())

    def statistic(part: pd.DataFrame) -> float:
        return gap(part[columns].to_numpy(float).mean(0))

    def without_each(part: pd.DataFrame) -> np.ndarray:
        values = part[columns].to_numpy(float)
        return np.array([gap(rest) for rest in (values.sum(0) - values) / (len(values) - 1)])

    values = pseudovalues(table.reset_index(), statistic, ["dataset", "seed"], without_each=without_each)
    return effect(values, ["dataset"], bounds=(-1.0, 1.0))


# tables ---------------------------------------------------------------------------------------------


def ordered(frame: pd.DataFrame) -> pd.DataFrame:
    """Rows in the paper's order of variants and attentions, and the run's of data sets."""
    order = {name: k for k, name in enumerate((*VARIANTS, "additive", "dot"))}
    keys = [c for c in ("dataset", "attention", "variant", "strength", "encoder", "lam") if c in frame]

    def rank(column: pd.Series) -> pd.Series:
        if column.name == "dataset":
            return pd.Series(pd.factorize(column)[0], index=column.index)
        return column.map(order) if column.name in ("variant", "attention") else column

    return frame.sort_values(keys, key=rank, kind="stable", ignore_index=True)


def long(results: Results, columns: Mapping[str, Quantity], by: Sequence[str]) -> pd.DataFrame:
    """Quantities below one another, one row per group and `metric`, next to the paper's: what figures draw."""
    found = []
    for metric, quantity in columns.items():
        try:
            rows = quantity.table(results, by).assign(metric=metric)
        except NotTested:
            continue
        found.append(beside(rows, STUDY, quantity.printed[1]) if quantity.printed else rows)
    return ordered(pd.concat(found, ignore_index=True)) if found else pd.DataFrame()


def metrics(*names: str, rows: Rows = main, table: int = 0) -> dict[str, Quantity]:
    """Trained scores and their changes under both replacements, by the paper's name of each metric."""
    kinds = [(f"{name}_trained", *(f"delta_{name}_{swap}" for swap in SWAPPED)) for name in names]
    return {metric: score(metric, rows, table) for metric in chain(*kinds)}


def named(columns: Mapping[str, Quantity]) -> dict[str, Quantity]:
    """The same by the names that readers see."""
    return {NAMES.get(metric, metric): quantity for metric, quantity in columns.items()}


BY_WEIGHT = ["dataset", "variant", "strength"]
BY_DEPTH = ["dataset", "variant", "encoder"]
BY_LAMBDA = ["dataset", "variant", "lam"]
SCORED = metrics("f1", table=1)
OTHERS = metrics("macro", "accuracy")
DEEP = metrics("f1", rows=deeper, table=6) | metrics("macro", rows=deeper)
TRIED = metrics("f1", "macro", rows=weighed)
FRONTIER = {"jsd": jsd, "tvd": distances}


def fragility(results: Results) -> pd.DataFrame:
    """Each variant minus base by F1 and macro-F1, paired over texts and seeds; Holm over all rows."""
    rows = main(results.scores[results.scores["score"] != "accuracy"])
    variants = [v for v in VARIANTS if v != "base"]
    found = contrasts(rows, "variant", variants, "base", [*CELLS, "metric"], bounds=points.bounds)
    return versus_base(found.assign(metric=found["metric"].map(NAMES)), [*CELL, "metric"], 1)


def information_gaps(results: Results) -> pd.DataFrame:
    """Each variant minus base in nats, mean over both samples of words of a model; Holm over the rows."""
    rows = both_samples(required(results.information))
    found = contrasts(rows, "variant", ["residual", *REGULARISED], "base", [], CELLS, text=None)
    return versus_base(found, ["variant"], 2)


def versus_base(found: pd.DataFrame, by: Sequence[str], digits: int) -> pd.DataFrame:
    """Differences to base with their intervals as text, and p after Holm."""
    table = ordered(found)
    shown = table[list(by)].assign(**{"minus base": interval_texts(table, digits)})
    return shown.assign(**{"p (Holm)": table["p_holm"], "trainings": table["trainings"], "texts": table["texts"]})


def by_score(results: Results) -> pd.DataFrame:
    """The claims on replaced attention judged by every score, with the same border."""
    rows = []
    for claim, made in REPLACED:
        for name, shown in SCORES.items():
            asked = made(name)
            try:
                found = asked.mean(results.learned) if isinstance(asked, Quantity) else asked(results.learned)
            except NotTested:
                continue
            if not np.isnan(found.estimate):
                verdict = verdict_of(found, claim)
                rows.append(
                    (claim.says, shown, name == JUDGED, found.text(1), verdict, found.trainings, found.texts)
                )
    return pd.DataFrame(rows, columns=["claim", "score", "judged by it", "ours", "verdict", "trainings", "texts"])


def alike(results: Results) -> str:
    """How many changes of F1 have the sign of the paper's."""
    table = long(results, {m: q for m, q in SCORED.items() if m.startswith("delta")}, CELL)
    part = table[table["paper"].notna()] if "paper" in table else table[:0]
    if part.empty:
        return "The paper prints no numbers for this corpus or one like it."
    same = int((np.sign(part["value"]) == np.sign(part["paper"])).sum())
    return (
        f"Of {len(part)} changes of F1 that the paper prints for this corpus or the closest one, {same} have its "
        f"sign."
    )


WEIGHT = "The weight that dev chose is that of all other tables."
TABLES = [
    Table("f1", named(SCORED), "F1 of the positive class with trained attention, and its change, "
          "with 95% intervals, next to the paper's Table 1 for the corpus or the closest one it "
          "has.", CELL, 1, shown=ordered, says=alike),
    Table("scores", named(OTHERS), "The same models by macro-F1 and accuracy.", CELL, 1,
          shown=ordered),
    Table("fragility", fragility, "Each variant minus base, in points, with 95% intervals. In the "
          "rows of a change (Δ), below zero means more fragile.", otherwise="There is no variant "
          "to compare with base."),
    Table("by_score", by_score, "Verdicts by score, in points with 95% intervals.",
          otherwise="No claim on replaced attention can be tested in this run."),
    Table("ablation", {**named(TRIED), "macro-F1 on dev": dev, "per token": tokens.of(rows=lambda
          frame: correct(weighed(frame)))}, f"Weights of both losses: macro-F1 on dev, which "
          f"chooses the weight; F1, macro-F1 and their changes; and the mean per-token probability "
          f"of section 4. {WEIGHT}", BY_WEIGHT, 1, shown=ordered),
    Table("layers", named(DEEP), "F1, macro-F1 and their changes by number of layers, additive "
          "attention, after the paper's Table 6.", BY_DEPTH, 1, shown=ordered),
    Table("initialisation", {"normalised entropy": entropy, **named(metrics("f1", "macro",
          rows=dot))}, "Base models with dot attention by the start of the query, after the "
          "paper's Appendix C.", ["dataset", "init"], 2),
    Table("information", {"nats": information.of(printed=(STUDY, 2, "")), **{name:
          (information.of(value=name), how) for name, how in {"floor": "mean", "ceiling": "mean",
          "words": "max", "k": "max"}.items()}, "occurrences": (information.of(value="n"), "max")},
          "Mutual information in nats, after the paper's Table 2, additive attention, with 95% "
          "intervals over trainings. Floor: what shuffled labels give. Ceiling: the entropy of the "
          "words.", [*CELL, "metric"], 2, shown=lambda table:
          ordered(table.assign(metric=table["metric"].map(SAMPLES)))),
    Table("information_gaps", information_gaps, "Mutual information of each variant minus base, in "
          "nats, mean over both samples of words, with 95% intervals.", otherwise="There is no "
          "variant to compare with base."),
    Table("adversaries", {"JSD": jsd, "TVD": distances, "same decision": (decided_alike, "mean")},
          "Adversaries, additive attention: means with 95% intervals over trainings and test "
          "texts.", BY_LAMBDA, 3, shown=ordered, otherwise="There is no adversary: none was asked "
          "for (`lambdas`, `adversary_bases`), or every one failed."),
    Table("per_token", {"per token": tokens.of(printed=(STUDY, 3, TOKENS))}, "Mean per-token "
          "probability of the predicted class, with 95% intervals, after the paper's Table 3.",
          CELL, 3, shown=ordered),
]  # fmt: skip

# claims ---------------------------------------------------------------------------------------------


def printed_gap(table: int, names: Sequence[str], a: dict, b: dict, results: Results) -> Printed:
    """The paper's difference of `a` and `b`, mean over metrics and the run's attentions: for the run's corpora, or
    the closest that the paper has; where it has none, over all of its corpora."""
    corpora, where = closest(STUDY, table, results.swaps["dataset"].unique())
    attentions = set(results.swaps["attention"].unique()) & set(reference(STUDY, table)["attention"])
    cells = {"dataset": corpora, "attention": sorted(attentions), "metric": names}
    return Printed(printed_minus(STUDY, table, a, b, **cells), where)


def printed_information(variant: str, results: Results) -> Printed | None:
    """The paper's difference of mutual information; none with another number of clusters."""
    if set(results.information["k"].unique()) != {CLUSTERS}:
        return None
    return printed_gap(2, list(SAMPLES), {"variant": variant}, {"variant": "base"}, results)


WORDS = {"tying": "tying", "mlm": "masked language modelling"}
SHORT = {"tying": "tying", "mlm": "MLM"}
FALL = "change of macro-F1 under uniform and permuted attention"


def _of_each(made) -> list[Claim]:
    return [made(variant, words) for variant, words in WORDS.items()]


CLAIMS = [
    *_of_each(lambda v, words: Claim(f"With {words}, F1 falls more than in the base model when "
              f"attention is replaced.", "section 4.1, Table 1", f"{FALL}, {v} minus base",
              versus(drop(), v), "less", figure="drops-macro", id=f"fragile-{v}")),
    *_of_each(lambda v, words: Claim(f"With {words}, the model classifies about as well as the "
              f"base model.", "section 4.1, Table 1", f"F1 with trained attention, {v} minus base",
              versus(f1, v), "within", border=AS_ACCURATE, figure="fragility", id=f"similar-{v}")),
    *_of_each(lambda v, words: Claim(f"With {words}, hidden states share more information with "
              f"their words.", "section 4.2, Table 2", f"mutual information, mean of MF and RS, "
              f"{v} minus base", versus(known, v), paper=partial(printed_information, v),
              figure="information", id=f"information-{v}")),
    *_of_each(lambda v, words: Claim(f"Fooling a model with {words} changes its outputs more, at "
              f"the same distance of attentions, than fooling the base model.", "section 4.3, "
              "Figure 1", f"mean TVD at equal JSD, adversaries of {v} minus those of base, "
              f"additive attention", partial(fooled, v), unit="TVD", figure="frontier",
              id=f"adversary-{v}")),
    *_of_each(lambda v, words: Claim(f"With {words}, single tokens alone give a lower probability "
              f"of the prediction.", "section 5, Table 3", f"mean per-token probability of texts "
              f"that both classify correctly, {v} minus base", versus(tokens, v), "less",
              paper=partial(printed_gap, 3, [TOKENS], {"variant": v}, {"variant": "base"}),
              figure="per_token", id=f"tokens-{v}")),
    Claim("With more layers, the base model depends less on its attention.", "Appendix B, Table 6",
          "change of macro-F1 under replaced attention, most layers minus one, additive attention",
          deep, unit="points", figure="layers", id="depth"),
    Claim("Dot attention is nearer to uniform with torch's default start of its query than with "
          "N(0, 1).", "Appendix C", "normalised entropy of attention, default minus normal, base "
          "models", entropy.minus("init", "kaiming", "normal"), figure="entropy", id="init-entropy"),
    Claim("With the default start of the query, replacing dot attention leaves F1 as it is.",
          "Appendix C", f"{FALL}, base models", started.only(init="kaiming"), "within", border=SAME,
          figure="initialisation", id="init-constant"),
    Claim("A residual connection behaves like concatenation when attention is replaced.",
          "section 4.1 (omitted there for space)", "change of macro-F1 under replaced attention, "
          "residual minus concat", versus(drop(), "residual", "concat"), "within",
          border=AS_ACCURATE, figure="drops-macro", id="residual"),
]  # fmt: skip
BY_ID = {claim.id: claim for claim in CLAIMS}
REPLACED = (
    *((BY_ID[f"fragile-{v}"], lambda name, v=v: versus(drop(name), v)) for v in WORDS),
    (BY_ID["depth"], lambda name: partial(deep, name=name)),
    (BY_ID["init-constant"], lambda name: drop(name, dot).of(model=("dataset",)).only(init="kaiming")),
    (BY_ID["residual"], lambda name: versus(drop(name), "residual", "concat")),
)
"""The claims on replaced attention, and what they would be judged by with another score."""


def answer(claims: Mapping[str, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""

    def said(name: str) -> str:
        claim = claims[name]
        digits = 1 if claim.unit == "points" else 3
        size = claim.against(digits=digits)
        return f"{claim.text(digits)} {claim.unit}".rstrip() + f"{size} ({claim.verdict})"

    positive = {v: versus(drop("f1"), v) for v in WORDS}
    pairs = []
    for variant, quantity in positive.items():
        try:
            ours = quantity.mean(results.learned).text(1)
        except NotTested:
            continue
        paper = printed_gap(
            1, [f"delta_f1_{s}" for s in SWAPPED], {"variant": variant}, {"variant": "base"}, results
        )
        pairs.append(f"{SHORT[variant]} {ours}, the paper's {paper.value:.1f}")
    return [
        "Does attention matter more to a classifier whose hidden states are kept close to their words, by tying "
        "them to "
        "the word vectors or by masked language modelling (MLM)? Numbers are differences from the base model, with "
        "95% intervals.",
        "**When attention is replaced** by uniform or permuted weights, macro-F1 should fall further than in the "
        "base "
        f"model. It changes, with tying, by {said('fragile-tying')}; with MLM, by {said('fragile-mlm')}. By F1 of "
        f"the positive class, which the paper prints: {'; '.join(pairs) or 'nothing to compare'}.",
        f"**With its own attention** the model should classify as well, which means within {AS_ACCURATE:g} points "
        f"of F1: tying {said('similar-tying')}; MLM {said('similar-mlm')}.",
        f"**States share more with their words**: tying {said('information-tying')}; MLM "
        f"{said('information-mlm')}. "
        f"Single tokens alone predict less confidently: tying {said('tokens-tying')}; MLM {said('tokens-mlm')}.",
        "**Adversaries** that attend elsewhere should change the outputs more, at equal distance of attentions: "
        "tying "
        f"{said('adversary-tying')}; MLM {said('adversary-mlm')}. A model that needs its attention meets a "
        f"condition "
        "for an explanation; whether its attention is faithful stays open here.",
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    swaps, texts, rows, apart = results.swaps, results.texts, results.information, results.distances
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
            rows["value"].between(0, rows["ceiling"] + 1e-9).all()
        ),
        "divergences keep to their ranges": apart.empty
        or bool(apart["jsd"].dropna().between(0, stats.LN2).all() and apart["tvd"].between(0, 1).all()),
    }
