"""Task-scaled attention (Chrysostomou & Aletras 2021): every number of the study, its tables and its claims.

Means are over the cells of corpus, encoder and attention of the run, each of which counts alike. Models with TaSc
and without are paired: they share a training (seed) and the texts. Different encoders and attentions are trainings
of their own and share the texts alone. Trainings with a model that learned nothing are left out, of tables and
claims alike (`Results.tested`); a mean over encoders needs those that have every cell (`Results.whole`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from attnlib.stats.inference import COUNTS, Effect, effect
from attnlib.stats.jackknife import f1_values, spread_values
from attnlib.stats.judge import holds
from attnlib.studies.beside import beside, printed_minus, quoted, reference, relative
from attnlib.studies.beside import named as spelled
from attnlib.studies.datasets import kin, short
from attnlib.studies.ledger import AS_ACCURATE, Claim, Judged, NotTested, Printed, judged
from attnlib.studies.quantity import Quantity, Table
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, MODEL, POOLS, RANKINGS, TOP1, Results, balanced
from attnlib.studies.tasc.grid import models as models_of
from attnlib.studies.tasc.params import NAMES, Params

RANGE = {FRACTION: (0.0, 1.0), TOP1: (0.0, 100.0)}
"""Between what values a metric lies."""
CHANNELS = 15
"""Of Conv-TaSc (section 4)."""
BLOCKS = 10
"""Groups of texts that are left out in turn, where a number is no mean over texts."""
COMPARABLE = 0.05
"""Mean fractions that differ by less are comparable; so are, of the fraction without TaSc, the paper's ratios."""
TRAINING, SCALED = [*CELL, "seed"], ("lin", "feat", "conv")
RECURRENT, PLAIN = ("lstm", "gru"), ("mlp", "cnn")
ALL = "all that have every cell"
BY_CORPUS = (3, 9, 10, 13)
"""Claims that may hang on the balance of the classes."""

# rows ---------------------------------------------------------------------------------------------


def of(metric: str, rankings: tuple[str, ...], flips: pd.DataFrame) -> pd.DataFrame:
    """Rows of a metric by some rankings."""
    return flips[(flips["metric"] == metric) & flips["importance"].isin(rankings)]


def compared(flips: pd.DataFrame) -> pd.DataFrame:
    """Fractions without TaSc by WO, x∇x and IG, and with Lin-TaSc by α∇α, on the texts that all of them have."""
    others, ours = of(FRACTION, BASELINES, flips), of(FRACTION, ("alpha_grad",), flips)
    others, ours = others[others["variant"] == "none"], ours[ours["variant"] == "lin"]
    return pd.concat([others, ours.merge(others[[*CELL, "instance"]].drop_duplicates())])


def gains(flips: pd.DataFrame) -> pd.DataFrame:
    """What Lin-TaSc changes in each training and text."""
    lin, none = (flips[flips["variant"] == v] for v in ("lin", "none"))
    both = lin.merge(none, on=[*TRAINING, "instance"], suffixes=("", "_none"))
    return both.assign(value=both["value"] - both["value_none"])


def over_rankings(flips: pd.DataFrame) -> pd.DataFrame:
    """The mean over rankings, for each training and text."""
    return flips.groupby([*MODEL, "seed", "instance"], sort=False)["value"].mean().reset_index()


def with_all(flips: pd.DataFrame) -> pd.DataFrame:
    """The rows of each encoder, and those of all that can be averaged over cells; `models` tells which."""
    return pd.concat([balanced(flips).assign(models=ALL), flips.assign(models=flips["encoder"])])


def f1_rows(labels: pd.DataFrame, by: str = "variant") -> pd.DataFrame:
    """Macro-F1 of every training, as a number per text (`stats.jackknife`)."""
    return f1_values(labels, [*CELL, by, "seed"])


# numbers ------------------------------------------------------------------------------------------


def on(key: tuple) -> str:
    """`LSTM`, `Lin-TaSc, LSTM`: a group of models as the paper writes it."""
    return ", ".join(NAMES.get(part, short(part)) for part in key)


def measured(metric: str, *rankings: str, frame: str = "whole") -> Quantity:
    """The fraction of tokens to a flip, or the flips by the top token, by some rankings or by the paper's three."""
    rows, unit = partial(of, metric, rankings or RANKINGS), "points" if metric == TOP1 else "of the tokens"
    return Quantity(frame, rows=rows, model=tuple(CELL), bounds=RANGE[metric], unit=unit, named=on)


def gain(metric: str, *rankings: str, frame: str = "whole") -> Quantity:
    """What Lin-TaSc changes in it."""
    return measured(metric, *rankings, frame=frame).minus("variant", "lin", "none")


f1 = Quantity("labels", rows=f1_rows, model=tuple(CELL), unit="F1", named=on)
f1_compared = f1.of(frame="comparable")
f1_pooled = f1.of(frame="pooling_labels", rows=partial(f1_rows, by="pool"))
baselines = Quantity("tested", rows=compared, model=tuple(CELL), named=on)
spread = gain(FRACTION, "alpha_grad").only(variant=["none", "lin"])
spread = spread.where(partial(spread_values, by=[*MODEL, "seed"]))
ACROSS: dict[str, Any] = {"model": ("dataset", "encoder"), "paired": False}
"""Between attentions, which are trainings of their own."""
gain_of_dot = measured(TOP1, "alpha_grad").where(gains).of(bounds=(-100.0, 100.0))
gain_of_dot = gain_of_dot.minus("attention", "dot", "additive", **ACROSS)
tanh_above_dot = measured(TOP1).only(variant="none").where(over_rankings)
tanh_above_dot = tanh_above_dot.minus("attention", "additive", "dot", **ACROSS)


def each_variant(quantity: Quantity, results: Results, by: Sequence[str] | None = None) -> dict[str, Effect]:
    """Each variant of TaSc minus none, mean over cells; `by`: in groups of models, each of them."""
    found = {}
    for v in scaled(getattr(results, quantity.frame)):
        gap = quantity.minus("variant", v, "none")
        groups = {"": gap.mean(results)} if by is None else gap.each(results, by)
        found |= {", ".join(filter(None, (NAMES[v], name))): effect for name, effect in groups.items()}
    return found


def scaled(frame: pd.DataFrame) -> list[str]:
    """The variants of TaSc that a frame has."""
    return [v for v in frame["variant"].unique() if v != "none"]


def recurrent(variant: str, results: Results) -> Effect:
    """The fraction by α∇α with recurrent encoders minus that with MLP and CNN; encoders of a kind count alike."""
    part = measured(FRACTION, "alpha_grad").only(variant=variant).values(results)
    kinds = [[e for e in kind if e in part["encoder"].unique()] for kind in (RECURRENT, PLAIN)]
    if not all(kinds):
        raise NotTested
    shared = part[["dataset", "attention"]].drop_duplicates()
    weights = {
        (dataset, encoder, attention): sign / len(kind) / len(shared)
        for dataset, attention in shared.itertuples(index=False, name=None)
        for sign, kind in zip((1, -1), kinds, strict=True)
        for encoder in kind
    }
    return effect(part, CELL, weights=weights, bounds=(-1, 1))


def rivals(results: Results) -> list[tuple[str, str, str]]:
    """A name, the variant and the other ranking, for every comparison of α∇α with another ranking."""
    return [(f"{NAMES[r]}, {NAMES[v]}", v, r) for v in ("none", *scaled(results.flips)) for r in RANKINGS[:2]]


def best_ranking(metric: str, results: Results) -> dict[str, Effect]:
    """What α∇α gives minus what each other ranking does, for each variant."""
    return {
        case: measured(metric).only(variant=v).minus("importance", "alpha_grad", other).mean(results)
        for case, v, other in rivals(results)
    }


def bert_needs_most(results: Results) -> dict[str, Effect]:
    """The fraction by α∇α without TaSc, BERT minus each other encoder, in BERT's cells and on its texts."""
    shared = ["dataset", "attention", "instance"]

    def in_common(flips: pd.DataFrame) -> pd.DataFrame:
        return flips.merge(flips.loc[flips["encoder"] == "bert", shared].drop_duplicates(), on=shared)

    plain = measured(FRACTION, "alpha_grad", frame="with_bert").only(variant="none").where(in_common)
    others = [e for e in plain.values(results)["encoder"].unique() if e != "bert"]
    plain = plain.of(model=("dataset", "attention"))
    return {on((e,)): plain.minus("encoder", "bert", e, paired=False).mean(results) for e in others}


def by_training(
    quantity: Quantity,
    statistic: Callable[[pd.DataFrame], pd.Series],
    results: Results,
    bounds: tuple[float, float] = (0, 1),
    within: str = "mean",
) -> Effect:
    """The mean over trainings of a statistic that is one number per training and no mean over texts.

    statistic  one row per training, one column per variant and ranking: what the values of its texts are `within`
               it (their mean or median) -> one number per training

    What its texts add to the variance is estimated by leaving out a tenth of them in turn (a grouped
    jackknife, which holds for medians too).
    """
    part, columns = quantity.values(results), ["variant", "importance"]
    groups = part.groupby([*TRAINING, *columns])
    number, names = groups.ngroup().to_numpy(), groups.size().index
    value = part["value"].to_numpy(float)

    def values(kept: np.ndarray) -> pd.DataFrame:
        own = pd.Series(value[kept]).groupby(number[kept]).agg(within)
        rows = own.set_axis(names[own.index]).rename("value").reset_index()
        wide = rows.pivot_table(index=TRAINING, columns=columns, values="value")
        return statistic(wide).astype(float).rename("value").reset_index()

    texts = part.groupby(["dataset", "instance"], sort=False).ngroup()
    block = texts.to_numpy() % BLOCKS
    means = [values(block != k)["value"].mean() for k in range(BLOCKS)]
    found = replace(effect(values(block >= 0), CELL, text=None, bounds=bounds), n=len(part))
    if math.isnan(found.low):
        return replace(found, texts=texts.nunique())
    return found.widened((BLOCKS - 1) * float(np.var(means)), texts.nunique(), bounds)


def won(sign: int, means: pd.DataFrame) -> pd.Series:
    """The share of rankings and variants with a larger mean than without TaSc (sign -1: a smaller one)."""
    changes = sign * means.drop(columns="none", level=0).sub(means["none"], level=1)
    return (changes > 0).mean(axis=1)


def lin_leads(means: pd.DataFrame) -> pd.Series:
    """The share of rankings in which Lin-TaSc needs no larger a fraction than Feat- and Conv-TaSc."""
    others = [means[v] for v in ("feat", "conv") if v in means]
    if not others:
        raise NotTested
    return (means["lin"] < np.fmin.reduce(others) + COMPARABLE * means["none"]).mean(axis=1)


def beaten(means: pd.DataFrame) -> pd.Series:
    """Whether α∇α with Lin-TaSc needs fewer tokens than each of WO, x∇x and IG without."""
    return means["lin", "alpha_grad"] < means["none"][list(BASELINES)].min(axis=1)


def medians(results: Results) -> dict[str, Effect]:
    """The median over texts of the fraction, Lin-TaSc minus no TaSc, mean over cells, by ∇α and by α∇α."""
    gap, options = lambda m: (m["lin"] - m["none"]).squeeze(1), {"bounds": (-1, 1), "within": "median"}
    return {
        NAMES[r]: by_training(measured(FRACTION, r), gap, results, **options) for r in ("grad_alpha", "alpha_grad")
    }


# tables -------------------------------------------------------------------------------------------


def told(table: pd.DataFrame) -> pd.DataFrame:
    """Names as the paper writes them."""
    if "models" in table:
        table = table.assign(models=[NAMES.get(name, name) for name in table["models"]])
    return spelled(table, NAMES).rename(columns={"importance": "ranking"})


def parameter_table(results: Results) -> pd.DataFrame:
    """Appendix B: numbers that each variant adds, by formula and as counted in the models."""
    found = results.parameters
    kinds = found["encoder"].where(found["encoder"] == "bert", "word models")
    keys = ["dataset", "encoder", "variant", "vocabulary", "embedding", "scaling"]
    table = found.assign(encoder=kinds)[keys].drop_duplicates(ignore_index=True)
    v, d = table["vocabulary"], table["embedding"]
    counts = {"0": 0 * v, "|V|": v, "|V| d": v * d, "|V| + n d + n": v + CHANNELS * d + CHANNELS}
    table["formula"] = table["variant"].map(dict(zip(("none", *SCALED), counts, strict=True)))
    table["by formula"] = [counts[formula][row] for row, formula in table["formula"].items()]
    shown = {"encoder": "model", "vocabulary": "|V|", "embedding": "d", "scaling": "in the model"}
    return spelled(table, NAMES).rename(columns=shown)


def aggregate(metric: str, results: Results) -> pd.DataFrame:
    """The paper's Tables 3 and 4: a row per ranking, attention and variant, mean over cells of corpus and encoder.

    `ratio` is the value over that without TaSc, as the paper prints it in parentheses.
    """
    keys = ["importance", "attention", "variant"]
    found = measured(metric).table(results, keys, CELL).assign(metric=metric)
    found = beside(found, "tasc", 3 if metric == TOP1 else 4, digits=2)
    found["ratio"] = relative(found, "variant", "none", keys[:2])
    found["paper: ratio"] = relative(found.assign(value=found["paper"]), "variant", "none", keys[:2])
    order = {name: k for k, name in enumerate((*RANKINGS, "additive", "dot", "none", *SCALED))}
    found = found.sort_values(keys, key=lambda column: column.map(order), ignore_index=True)
    return found[[*keys, "ours", "ratio", "paper", "paper: ratio", *COUNTS]]


def table5(results: Results) -> pd.DataFrame:
    """The paper's Table 5, one row per cell and method, ours next to the paper's."""
    found = baselines.table(results, [*CELL, "variant", "importance"])
    return spelled(beside(found.assign(metric=FRACTION), "tasc", 5), NAMES)


def baseline_wins(results: Results) -> pd.DataFrame:
    """In how many cells of Table 5 α∇α with Lin-TaSc needs a smaller fraction than the best of the others.

    Fractions are compared as the paper prints them, to two digits: equal ones are comparable.
    """
    rows, table = [], table5(results)
    for column, whose in (("value", "here"), ("paper", "the paper, in these cells")):
        wide = table.pivot_table(index=CELL, columns="importance", values=column).dropna().round(2)
        if len(wide):
            best = wide[[NAMES[b] for b in BASELINES]].min(axis=1)
            row = {"": whose, "smaller": (wide["α∇α"] < best).sum(), "equal": (wide["α∇α"] == best).sum()}
            rows.append(row | {"larger": (wide["α∇α"] > best).sum(), "cells": len(wide)})
    return pd.DataFrame(rows)


def word_table(results: Results, n: int = 5) -> pd.DataFrame:
    """The paper's Figure 4: the n highest and lowest words of u for every cell and seed, with their counts."""
    parts = []
    for _, part in results.words.groupby([*CELL, "seed"], sort=False):
        ordered = part.sort_values(["u", "word"], ascending=[False, True])
        for end, rows in (("highest", ordered.head(n)), ("lowest", ordered.tail(n)[::-1])):
            parts.append(rows.assign(end=end, rank=range(1, len(rows) + 1)))
    return pd.concat(parts, ignore_index=True)[[*CELL, "seed", "end", "rank", "word", "u", "s", "count"]]


def word_agreement(results: Results, n: int = 10) -> pd.DataFrame:
    """Whether the first two trainings of a cell agree on the n words with the largest |u|, and on the sign of u."""
    rows = []
    for key, part in results.words.groupby(CELL, sort=False):
        first, *more = (own.set_index("word") for _, own in part.groupby("seed"))
        row = dict(zip(CELL, key, strict=True)) | {"words": len(first), "largest": n}
        row["occur at most twice"] = (first["count"] <= 2).mean()
        if more:
            tops = [own["u"].loc[own["u"].abs().nlargest(n).index] for own in (first, more[0])]
            shared = tops[0].index.intersection(tops[1].index)
            row["shared by two trainings"] = len(shared)
            row["of the same sign"] = int((np.sign(tops[0][shared]) == np.sign(tops[1][shared])).sum())
        rows.append(row)
    return pd.DataFrame(rows)


def pooled(table: pd.DataFrame) -> pd.DataFrame:
    """The poolings in the order of the footnote."""
    names = {"direct": "u itself", "sum": "sum (the paper)"}
    table = table.sort_values("pool", key=lambda column: column.map(POOLS.index))
    return table.assign(pool=[names.get(p, p) for p in table["pool"]]).rename(columns={"pool": "pooling"})


def by_corpus(results: Results) -> pd.DataFrame:
    """The claims of `BY_CORPUS` judged on every corpus alone, those with few texts of a class among them."""
    rows = []
    for dataset, own in results.by_corpus.items():
        scores = f1_rows(own.labels).groupby("variant")["point"].mean()
        row = {"dataset": dataset, "rarer class": own.labels["truth"].value_counts(normalize=True).min()}
        row |= {f"F1, {NAMES[v]}": scores[v] for v in ("none", "lin")}
        for number in BY_CORPUS:
            claim = judged(CLAIMS[number - 1], own)
            said = {"claim": number, "measured": claim.test, "effect": claim.text(3), "verdict": claim.verdict}
            rows.append(row | said | {"trainings": claim.trainings, "texts": claim.texts})
    return pd.DataFrame(rows)


def ours_of(ranking: str, variant: str) -> Quantity:
    """A column of the paper's Table 5."""
    where = {"metric": FRACTION, "variant": variant, "importance": ranking}
    return baselines.only(importance=ranking).of(printed=("tasc", 5, where))


def status(name: str) -> tuple[Quantity, str]:
    """The share of texts that α∇α leaves with this status."""
    return measured(FRACTION, "alpha_grad", frame="tested").of(value=lambda flips: flips["status"] == name), "mean"


by_ag = measured(FRACTION, "alpha_grad", frame="tested")
LEARNED = "Trainings in which a model learned nothing are left out."
N = "n counts texts times trainings."
ASIDE = "the paper's value is that of the same corpus, or of the closest that it has."
NO_BASELINES = "WO, x∇x and IG are not part of this run."
CHANGES = {NAMES[v]: f1_compared.minus("variant", v, "none") for v in SCALED}
NO_F1 = "Without TaSc no model learned anything, so there is no performance to lose."
TABLES = [
    Table("parameters", parameter_table, "After the paper's Appendix B: numbers that each variant "
          "adds to a model, by formula and as counted."),
    Table("f1_changes", CHANGES, f"Change of macro-F1 against attention without TaSc, mean over "
          f"the cells of an encoder, with 95% intervals; p after Holm correction over the "
          f"encoders, for each variant. {N}", ["encoder"], digits=3, cells=CELL, shown=told,
          otherwise=NO_F1),
    Table("f1_cells", CHANGES, "The same for every cell of corpus, encoder and attention; p after "
          "Holm correction over the cells.", CELL, digits=3, shown=told, otherwise=NO_F1),
    Table("f1", {NAMES[v]: f1.only(variant=v).of(printed=("tasc", 2, {"metric": "f1_macro",
          "variant": v})) for v in ("none", *SCALED)}, f"After the paper's Table 2: macro-F1 of "
          f"all trainings; {ASIDE} {N}", CELL, digits=3, shown=told),
    Table("top_token", partial(aggregate, TOP1), f"After the paper's Table 3: decisions flipped by "
          f"the top token (%), mean over cells, each counting alike. {LEARNED} {N} The paper's "
          f"mean is over its five corpora and five encoders.", shown=told),
    Table("top_token_changes", {NAMES[r]: gain(TOP1, r, frame="tested").where(with_all) for r in
          RANKINGS}, "What Lin-TaSc changes in them (percentage points), over all cells and by "
          "encoder; p after Holm correction over these, for each ranking.", ["models"], cells=CELL,
          shown=told),
    Table("fraction", partial(aggregate, FRACTION), f"After the paper's Table 4: fraction of "
          f"tokens erased until the decision flips (never = 1), mean over cells, each counting "
          f"alike. {LEARNED} {N} The paper's mean is over its five corpora and five encoders.",
          shown=told),
    Table("fraction_changes", {NAMES[r]: gain(FRACTION, r, frame="tested").where(with_all) for r in
          RANKINGS}, "What Lin-TaSc changes in the fraction, over all cells and by encoder; p "
          "after Holm correction over these, for each ranking.", ["models"], digits=3, cells=CELL,
          shown=told),
    Table("conventions", {"n": (by_ag, "size"), "mean, never = 1": (by_ag, "mean"), "never flips":
          status("never"), "only when empty": status("only_when_empty"), "flips before":
          status("flipped"), "mean of those": (by_ag.where(lambda flips: flips[flips["status"] ==
          "flipped"]), "mean")}, f"The fraction by α∇α, and what its mean hides. {N}", MODEL,
          digits=3, shown=told),
    Table("wins", baseline_wins, "In how many cells α∇α with Lin-TaSc needs a smaller fraction "
          "than the best of the three.", otherwise=NO_BASELINES),
    Table("baselines", {NAMES[b]: ours_of(b, "none") for b in BASELINES} | {"α∇α, Lin-TaSc":
          ours_of("alpha_grad", "lin")}, f"After the paper's Table 5: fraction of tokens to a flip "
          f"by WO, x∇x and IG without TaSc, and by α∇α with Lin-TaSc; {ASIDE} {N}", CELL,
          shown=told, otherwise=NO_BASELINES),
    Table("appendix_e", {NAMES[b]: gain(FRACTION, b, frame="tested") for b in BASELINES},
          "After the paper's Appendix E: the fraction by WO, x∇x and IG, models with Lin-TaSc "
          "minus those without, paired by text and training; p after Holm correction over the "
          "cells, for each method.", CELL, shown=told, otherwise=NO_BASELINES),
    Table("by_corpus", by_corpus, f"Claims {', '.join(map(str, BY_CORPUS))} on each corpus alone. "
          f"{LEARNED}"),
    Table("words", word_table, "After the paper's Figure 4: highest and lowest words of u, by cell "
          "and training.", digits=3, shown=told),
    Table("words_agreement", word_agreement, "The words with the largest |u| in two trainings of a "
          "cell: how many are the same, and of the same sign.", shown=told),
    Table("pooling", {"macro-F1": f1_pooled, "fraction by α∇α": measured(FRACTION, "alpha_grad",
          frame="pooling_flips")}, f"After the paper's footnote 4: Lin-TaSc by pooling. {N}",
          ["pool"], digits=3, cells=CELL, shown=pooled, says=lambda results: f"The models are "
          f"{' with '.join(map(NAMES.get, results.params.pooled))}."),
]  # fmt: skip

# claims -------------------------------------------------------------------------------------------

MEAN = "mean over its corpora and encoders"


def printed_changes(results: Results) -> dict[str, Printed]:
    """The changes of the paper's Table 2, for the same encoder and attentions and the closest corpora."""
    found = {}
    for encoder, labels in results.labels.groupby("encoder", sort=False):
        rows, where = rows_for(2, labels)
        means = rows.groupby("variant")["value"].mean()
        for variant in means.index.drop("none"):
            found[on((variant, encoder))] = Printed(means[variant] - means["none"], where)
    return found


def changed(
    table: int, a: tuple[str, str], b: tuple[str, str], results: Results, encoder: str | None = None
) -> Printed:
    """A variant and ranking minus another in Table 3 or 4, with the attentions of the run or an encoder."""
    flips = results.flips if encoder is None else results.flips[results.flips["encoder"] == encoder]
    sides = [{"variant": variant, "importance": ranking} for variant, ranking in (a, b)]
    value = printed_minus("tasc", table, *sides, attention=flips["attention"].unique())
    return Printed(value, f"Table {table}, {MEAN}")


def printed_gains(results: Results) -> dict[str, Printed]:
    """What Lin-TaSc changes for α∇α in the paper's Table 4, with the attentions of each encoder."""
    return {on((e,)): printed_gain("alpha_grad", results, e) for e in results.flips["encoder"].unique()}


def printed_gain(ranking: str, results: Results, encoder: str | None = None) -> Printed:
    """What Lin-TaSc changes in the paper's Table 4."""
    return changed(4, ("lin", ranking), ("none", ranking), results, encoder)


def printed_dot(results: Results) -> Printed:
    """The gain of Dot minus that of Tanh in the paper's Table 3."""
    sides, options = ({"attention": "dot"}, {"attention": "additive"}), {"importance": ["alpha_grad"]}
    lin, none = (printed_minus("tasc", 3, *sides, variant=[v], **options) for v in ("lin", "none"))
    return Printed(lin - none, f"Table 3, {MEAN}")


def printed_rivals(table: int, results: Results) -> dict[str, Printed]:
    """The differences between rankings in the paper's Table 3 or 4."""
    return {case: changed(table, (v, "alpha_grad"), (v, other), results) for case, v, other in rivals(results)}


def printed_alpha(results: Results) -> dict[str, Printed]:
    """What each variant changes for α in the paper's Table 3."""
    return {NAMES[v]: changed(3, (v, "alpha"), ("none", "alpha"), results) for v in scaled(results.flips)}


def printed_tanh(results: Results) -> Printed:
    """Tanh minus Dot without TaSc in the paper's Table 3, mean over the rankings."""
    value = printed_minus("tasc", 3, {"attention": "additive"}, {"attention": "dot"}, variant=["none"])
    return Printed(value, f"Table 3, {MEAN}")


def printed_wins(results: Results) -> Printed:
    """The share of cells in the paper's Table 5 where α∇α with Lin-TaSc has the smallest fraction.

    Cells that are equal at the two digits printed count neither way.
    """
    rows, where = rows_for(5, compared(results.tested))
    wide = rows.pivot_table(index=CELL, columns="importance", values="value")
    gap = wide["alpha_grad"] - wide[list(BASELINES)].min(axis=1)
    return Printed((gap[gap != 0] < 0).mean(), f"{where}, ties left out")


def rows_for(table: int, found: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """The rows of a table of the paper for the cells of a frame, as far as it has them, and how to cite them."""
    rows, means = reference("tasc", table), []
    for column, every in (("dataset", "corpora"), ("encoder", "encoders"), ("attention", "attentions")):
        ours = {kin(name) if column == "dataset" else name for name in found[column].unique()}
        if ours.isdisjoint(rows[column]):
            means.append(every)
        else:
            rows = rows[rows[column].isin(ours)]
    corpora = ", ".join(rows["dataset"].unique()).upper()
    return rows, f"Table {table}, " + (f"mean over its {' and '.join(means)}" if means else corpora)


SHARE_OF_CASES = "share of rankings and variants that are better than without TaSc, mean over trainings and cells"
CLAIMS = [
    Claim("TaSc does not sacrifice predictive performance.", "section 6.2, Table 2",
          f"macro-F1 of each variant minus that without TaSc, with each encoder of the run (a loss "
          f"of less than {AS_ACCURATE:g} points counts as none)", partial(each_variant, f1_compared,
          by=["encoder"]), border=-AS_ACCURATE / 100, paper=printed_changes, unit="F1",
          figure="f1_changes"),
    *(Claim(f"With Lin-TaSc, fewer tokens ranked by {NAMES[r]} must go until the decision flips.",
            "section 6.4, Table 4", f"fraction to flip by {NAMES[r]}, Lin-TaSc minus no TaSc",
            gain(FRACTION, r), "less", paper=partial(printed_gain, r), figure="fraction") for r in
            ("grad_alpha", "alpha_grad")),
    Claim("Lin-TaSc lowers the fraction to flip (α∇α) with every encoder.", "section 6.4, Figure 2",
          "Lin-TaSc minus no TaSc, for each encoder of the run", partial(gain(FRACTION,
          "alpha_grad", frame="tested").each, by=["encoder"]), "less", paper=printed_gains,
          unit="of the tokens", figure="fraction"),
    Claim("Dot attention gains more from TaSc than Tanh (decisions flipped by the top token, α∇α).",
          "section 6.3, Table 3", "gain of Lin-TaSc with Dot minus gain with Tanh, in percentage "
          "points", gain_of_dot, paper=printed_dot, figure="top_token"),
    Claim("Without TaSc, MLP and CNN need a smaller fraction (α∇α) than recurrent encoders.",
          "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN",
          partial(recurrent, "none"), unit="of the tokens", figure="fraction"),
    Claim("With Lin-TaSc, recurrent encoders become comparable to MLP and CNN (α∇α).",
          "section 6.4, Figure 2", "fraction with recurrent encoders minus that with MLP and CNN, "
          "with Lin-TaSc", partial(recurrent, "lin"), "within", COMPARABLE, unit="of the tokens",
          figure="fraction"),
    Claim("Of the three attention rankings α∇α finds the decisive token most often, with TaSc or "
          "without.", "section 6.3, Table 3", "decisions flipped by the top token, α∇α minus each "
          "other ranking, without TaSc and with each variant", partial(best_ranking, TOP1),
          paper=partial(printed_rivals, 3), unit="points", figure="top_token"),
    Claim("Lin-TaSc with α∇α flips decisions with fewer tokens than WO, x∇x and IG without TaSc in "
          "most cells.", "section 7, Table 5", "share of trainings in which each of the three is "
          "beaten, mean over cells", partial(by_training, baselines, beaten), border=0.5,
          paper=printed_wins, unit="of the cells", figure="baselines"),
    Claim("TaSc lowers the fraction of WO, x∇x and IG too, in most cells.", "section 7, Appendix E",
          "share of methods whose mean fraction falls, mean over trainings and cells",
          partial(by_training, measured(FRACTION, *BASELINES, frame="tested"), lambda m:
          (m["lin"] < m["none"]).mean(axis=1)), border=0.5, unit="of the cells",
          figure="appendix_e"),
    Claim("Without TaSc, BERT needs the largest fraction (α∇α) of all encoders.", "section 6.4, "
          "Figure 2", "fraction with BERT minus that with each other encoder, without TaSc",
          bert_needs_most, unit="of the tokens", figure="fraction"),
    Claim("Lin-TaSc lowers BERT's fraction (α∇α).", "section 6.4, Figure 2", "fraction with BERT, "
          "Lin-TaSc minus no TaSc", gain(FRACTION, "alpha_grad", frame="with_bert").only(encoder=
          "bert"), "less", paper=partial(printed_gain, "alpha_grad", encoder="bert"),
          unit="of the tokens", figure="fraction"),
    Claim("With Lin-TaSc the fraction to flip (α∇α) varies less from text to text.", "section 6.5, "
          "Figure 3", "standard deviation over texts, Lin-TaSc minus no TaSc, mean over cells",
          spread, "less", figure="boxes"),
    Claim("The top token flips more decisions with TaSc in most cases (the paper: 12 of 18).",
          "section 6.3, Table 3", SHARE_OF_CASES, partial(by_training, measured(TOP1), partial(won,
          1)), border=0.5, paper=partial(quoted, study="tasc", metric="cases_top1",
          where="section 6.3"), unit="of the cases", figure="top_token"),
    Claim("With TaSc fewer tokens must go in most cases (the paper: 17 of 18).", "section 6.4, "
          "Table 4", SHARE_OF_CASES, partial(by_training, measured(FRACTION), partial(won, -1)),
          border=0.5, paper=partial(quoted, study="tasc", metric="cases_fraction",
          where="section 6.4"), unit="of the cases", figure="fraction"),
    Claim("Without TaSc, the top token flips more decisions with Tanh than with Dot.",
          "section 6.3, Table 3", "decisions flipped, Tanh minus Dot, mean over the three rankings",
          tanh_above_dot, paper=printed_tanh, figure="top_token"),
    Claim("By α alone, the top token flips fewer decisions with each variant of TaSc.", "Table 3",
          "decisions flipped by the top token, each variant minus no TaSc", partial(each_variant,
          measured(TOP1, "alpha")), "less", paper=printed_alpha, unit="points",
          figure="top_token"),
    Claim("Lin-TaSc improves at least as much as Feat- and Conv-TaSc in most cases (the paper: 5 "
          "of 6).", "section 6.4, Table 4", f"share of rankings where its fraction is as small, "
          f"within {COMPARABLE:g} of that without TaSc, mean over trainings", partial(by_training,
          measured(FRACTION), lin_leads), border=0.5, paper=partial(quoted, study="tasc",
          metric="cases_lin", where="section 6.4"), unit="of the cases", figure="fraction"),
    Claim("With Lin-TaSc the median fraction to flip is lower, by ∇α and by α∇α.", "section 6.5, "
          "Figure 3", "median over texts, Lin-TaSc minus no TaSc, mean over cells, by each of the "
          "two rankings", medians, "less", unit="of the tokens", figure="boxes"),
    Claim("Mean, maximum or u itself in place of the sum give lower results.", "section 4.1, "
          "footnote 4", "macro-F1 of the sum minus that of each other pooling", lambda r: {pool:
          f1_pooled.minus("pool", "sum", pool).mean(r) for pool in POOLS if pool != "sum"},
          unit="F1", figure="pooling"),
    Claim("Of the three attention rankings α∇α needs the fewest tokens, with TaSc or without.",
          "sections 6.5 and 7, Table 4", "fraction by α∇α minus that by each other ranking, "
          "without TaSc and with each variant", partial(best_ranking, FRACTION), "less",
          paper=partial(printed_rivals, 4), unit="of the tokens", figure="fraction"),
]  # fmt: skip


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: what was asked, and what was found."""
    asked = (
        "TaSc scales attention by one learned number per word. The paper reports that explanations become more "
        "faithful at no cost in accuracy: fewer of the words ranked highest must be erased until the decision "
        "changes."
    )
    main, each, cost = claims[3], claims[4], claims[1]
    if main.found is None:
        return [asked, f"**This run cannot say.** {main.note}"]
    product = (
        "**By attention times gradient** (α∇α) Lin-TaSc changes the fraction of words to erase by "
        f"**{main.text(3)}**{' (95% CI)' * (main.low == main.low)}{main.against(digits=3)}: that fewer must go is "
        f"**{main.verdict}**, on average over encoders. With the least favourable one ({each.case}) the change is "
        f"{each.text(3)}."
    )
    rest = []
    if claims[6].found and claims[7].found:
        rest.append(
            f"Recurrent encoders need {claims[6].text(3)} more of the words than MLP and CNN without TaSc, "
            f"{claims[7].text(3)} with Lin-TaSc: that TaSc makes them comparable (within ±{COMPARABLE:g}) is "
            f"**{claims[7].verdict}**."
        )
    if cost.found:
        rest.append(
            f"TaSc changes macro-F1 by {cost.text(1, 100)} points in the least favourable case ({cost.case}): that "
            f"it is as accurate, a loss of less than {AS_ACCURATE:g} points, is **{cost.verdict}**."
        )
    return [asked, product, by_alpha(claims[17], results), *([" ".join(rest)] if rest else [])]


def by_alpha(claim: Judged, results: Results) -> str:
    """What Lin-TaSc does to attention itself, by both tests and with each encoder."""
    top, fraction = gain(TOP1, "alpha").mean(results), gain(FRACTION, "alpha").mean(results)
    each = gain(FRACTION, "alpha", frame="tested").each(results, ["encoder"])
    worse = (holds(top.low, top.high, "less"), holds(fraction.low, fraction.high, "greater"))
    told = {
        (True, True): "By both tests TaSc makes the weights themselves a **worse** explanation.",
        (False, False): "By both tests TaSc makes the weights themselves a **better** explanation.",
    }.get(worse, "Whether TaSc makes the weights themselves a better or a worse explanation stays open.")
    encoders = "; ".join(f"{name} {found.text(3)}" for name, found in each.items())
    return (
        "**By attention alone** (α) Lin-TaSc changes the share of decisions that the top word flips by "
        f"**{top.text(1)}** points (that it falls with each variant: {claim.verdict}), and the fraction of words "
        f"to erase by **{fraction.text(3)}** ({encoders}). {told}"
    )


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips, sizes = results.flips, results.parameters
    fraction, top = (flips[flips["metric"] == metric] for metric in (FRACTION, TOP1))
    models = sum(len(f[[*MODEL, "seed"]].drop_duplicates()) for f in (results.labels, results.unbalanced_labels))
    one = (fraction["value"].to_numpy() * fraction["length"].to_numpy()).round(6) == 1
    one &= (fraction["status"] != "never").to_numpy()
    empty = fraction.loc[fraction["status"] == "only_when_empty", "value"]
    linear = sizes[sizes["variant"] == "lin"]
    found = {
        "every model of the grid was measured": models == models_of(params) and results.grid.failures.empty,
        "a fraction lies above 0 and is 1 at most": fraction["value"].between(0, 1, inclusive="right").all(),
        "what flips only when empty has the fraction 1": params.quirks or (empty == 1).all(),
        "the top token flips a text where the fraction is one token": params.quirks
        or (one == (top["value"] == 100).to_numpy()).all(),
        "Lin-TaSc adds one number per word": (linear["scaling"] == linear["vocabulary"]).all(),
    }
    return {name: bool(holds) for name, holds in found.items()}
