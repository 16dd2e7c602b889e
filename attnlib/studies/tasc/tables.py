"""Tables of the TaSc study: frames in, frames out, ours next to the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd

from attnlib.stats.inference import COUNTS, ENDS, contrasts, effects, holm
from attnlib.stats.jackknife import f1_values
from attnlib.studies.beside import beside, relative
from attnlib.studies.beside import named as spelled
from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, POOLS, RANKINGS, TOP1, balanced

NAMES = {
    "alpha": "α", "grad_alpha": "∇α", "alpha_grad": "α∇α",
    "omission": "WO", "input_x_grad": "x∇x", "integrated_gradients": "IG",
    "additive": "Tanh", "dot": "Dot",
    "none": "No-TaSc", "lin": "Lin-TaSc", "feat": "Feat-TaSc", "conv": "Conv-TaSc",
    "bert": "BERT", "lstm": "LSTM", "gru": "GRU", "mlp": "MLP", "cnn": "CNN", "transformer": "Transformer",
}  # fmt: skip
"""Our names as the paper writes them."""
RANGE = {FRACTION: (0.0, 1.0), TOP1: (0.0, 100.0)}
"""Between what values a metric lies; a difference of two lies within ± the upper one."""
named = partial(spelled, names=NAMES)
CHANNELS = 15
"""Of Conv-TaSc (section 4)."""


def of(flips: pd.DataFrame, metric: str, *rankings: str) -> pd.DataFrame:
    """Rows of a metric by the rankings, or by the paper's three."""
    return flips[(flips["metric"] == metric) & flips["importance"].isin(rankings or RANKINGS)]


def parameter_table(parameters: pd.DataFrame) -> pd.DataFrame:
    """Appendix B: numbers that each variant adds, by formula and as counted in the models."""
    formulas = {"none": "0", "lin": "|V|", "feat": "|V| d", "conv": "|V| + n d + n"}
    kinds = parameters["encoder"].where(parameters["encoder"] == "bert", "word models")
    keys = ["dataset", "encoder", "variant", "vocabulary", "embedding", "scaling"]
    table = parameters.assign(encoder=kinds)[keys].drop_duplicates(ignore_index=True)
    v, d = table["vocabulary"], table["embedding"]
    counts = {"none": 0 * v, "lin": v, "feat": v * d, "conv": v + CHANNELS * d + CHANNELS}
    counted = [counts[variant][row] for row, variant in table["variant"].items()]
    table = table.assign(formula=table["variant"].map(formulas)).assign(**{"by formula": counted})
    shown = {"encoder": "model", "vocabulary": "|V|", "embedding": "d", "scaling": "in the model"}
    return named(table).rename(columns=shown)


def f1_table(labels: pd.DataFrame) -> pd.DataFrame:
    """The paper's Table 2: macro-F1 of every cell and variant next to the paper's value."""
    values = f1_values(labels, [*CELL, "variant", "seed"])
    return _beside(effects(values, [*CELL, "variant"], bounds=(0, 1)).assign(metric="f1_macro"), 2)


def f1_changes(labels: pd.DataFrame, by: Sequence[str] = ("encoder",)) -> pd.DataFrame:
    """What each variant changes in macro-F1 against no TaSc, by encoder (mean over its cells) or by cell; Holm."""
    values = f1_values(labels, [*CELL, "variant", "seed"])
    variants = [v for v in values["variant"].unique() if v != "none"]
    table = contrasts(values, "variant", variants, "none", by, CELL, bounds=(-1, 1))
    return _changes(table, [*by, "variant"], "with", "without")


def aggregate_table(flips: pd.DataFrame, metric: str) -> pd.DataFrame:
    """The paper's Tables 3 and 4: a row per ranking, attention and variant, mean over cells of corpus and encoder.

    Every cell counts alike, however many texts its corpus has. `ratio` is the value over that without TaSc, as the
    paper prints it in parentheses. The paper's mean is over five corpora and five encoders, ours over those of the
    run (`balanced`), so there is no difference of the two.
    """
    keys = ["importance", "attention", "variant"]
    found = effects(balanced(of(flips, metric)), keys, CELL, bounds=RANGE[metric]).assign(metric=metric)
    found["ratio"] = relative(found, "variant", "none", keys[:2])
    found = beside(found, "tasc", 3 if metric == TOP1 else 4)
    found["paper's ratio"] = relative(found.assign(value=found["paper"]), "variant", "none", keys[:2])
    order = {name: k for k, name in enumerate((*RANKINGS, "additive", "dot", "none", "lin", "feat", "conv"))}
    found = found.sort_values(keys, key=lambda column: column.map(order), ignore_index=True)
    found = named(found).rename(columns={"paper": "paper's mean"})
    return found[[*keys, *ENDS, *COUNTS, "ratio", "paper's mean", "paper's ratio"]]


def changes(flips: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Lin-TaSc minus no TaSc by ranking, over all cells (`balanced` ones) and for each encoder; Holm over all."""
    part, ends = of(flips, metric), RANGE[metric][1]
    sides, keys = ("variant", "lin", "none"), ["importance", "encoder"]
    overall = contrasts(balanced(part), *sides, keys[:1], CELL, bounds=(-ends, ends)).assign(encoder="all")
    each = contrasts(part, *sides, keys, CELL, bounds=(-ends, ends))
    return _changes(pd.concat([overall, each]) if len(overall) else each, keys, NAMES["lin"], NAMES["none"])


def conventions(flips: pd.DataFrame, ranking: str = "alpha_grad") -> pd.DataFrame:
    """What the mean fraction hides: texts that never flip (counted 1), or flip only when nothing is left."""
    part = of(flips, FRACTION, ranking)
    status = part["status"]
    part = part.assign(
        never=status == "never",
        empty=status == "only_when_empty",
        before=status == "flipped",
        inside=part["value"].where(status == "flipped"),
    )
    shown = {
        "n": ("value", "size"),
        "mean, never = 1": ("value", "mean"),
        "never flips": ("never", "mean"),
        "only when empty": ("empty", "mean"),
        "flips before": ("before", "mean"),
        "mean of those": ("inside", "mean"),
    }
    return named(part.groupby([*CELL, "variant"], sort=False).agg(**shown).reset_index())


def quartiles(flips: pd.DataFrame, cells: Sequence[tuple[str, str, str]]) -> pd.DataFrame:
    """The paper's Figure 3 in numbers: quartiles over texts and trainings, without TaSc and with Lin-TaSc."""
    part = of(flips, FRACTION)
    part = part[part["variant"].isin(["none", "lin"])]
    part = part.merge(pd.DataFrame(list(cells), columns=CELL).drop_duplicates(), on=CELL)
    groups = part.groupby([*CELL, "importance", "variant"], sort=False)["value"]
    ends = {"lower": lambda x: x.quantile(0.25), "median": "median", "upper": lambda x: x.quantile(0.75)}
    return named(groups.agg(**ends, n="size").reset_index())


def compared(flips: pd.DataFrame) -> pd.DataFrame:
    """Fractions without TaSc by WO, x∇x and IG, and with Lin-TaSc by α∇α, on the texts that all of them have."""
    others, ours = of(flips, FRACTION, *BASELINES), of(flips, FRACTION, "alpha_grad")
    others, ours = others[others["variant"] == "none"], ours[ours["variant"] == "lin"]
    return pd.concat([others, ours.merge(others[[*CELL, "instance"]].drop_duplicates())])


def baseline_table(flips: pd.DataFrame) -> pd.DataFrame:
    """The paper's Table 5: the mean fractions of `compared`, cell by cell."""
    found = effects(compared(flips), [*CELL, "variant", "importance"], bounds=RANGE[FRACTION])
    return _beside(found.assign(metric=FRACTION), 5)


def baseline_wins(table: pd.DataFrame) -> pd.DataFrame:
    """In how many cells of `baseline_table` α∇α with Lin-TaSc needs a smaller fraction than the best of the others.

    Fractions are compared as the paper prints them, to two digits: equal ones are comparable.
    """
    rows = []
    for column, whose in (("value", "here"), ("paper", "the paper, in these cells")):
        wide = table.pivot_table(index=CELL, columns="importance", values=column).dropna().round(2)
        if len(wide):
            best = wide[[NAMES[b] for b in BASELINES]].min(axis=1)
            row = {"": whose, "smaller": (wide["α∇α"] < best).sum(), "equal": (wide["α∇α"] == best).sum()}
            rows.append(row | {"larger": (wide["α∇α"] > best).sum(), "cells": len(wide)})
    return pd.DataFrame(rows)


def with_tasc_table(flips: pd.DataFrame) -> pd.DataFrame:
    """Appendix E: what Lin-TaSc changes for WO, x∇x and IG, cell by cell; Holm over all."""
    keys = [*CELL, "importance"]
    table = contrasts(of(flips, FRACTION, *BASELINES), "variant", "lin", "none", keys, bounds=(-1, 1))
    return _changes(table, keys, NAMES["lin"], NAMES["none"])


def word_table(words: pd.DataFrame, n: int = 5) -> pd.DataFrame:
    """The paper's Figure 4: the n highest and lowest words of u for every cell and seed, with their counts."""
    parts = []
    for _, cell in words.groupby(CELL, sort=False):
        for _, part in cell.groupby("seed"):
            ordered = part.sort_values(["u", "word"], ascending=[False, True])
            for end, rows in (("highest", ordered.head(n)), ("lowest", ordered.tail(n)[::-1])):
                parts.append(rows.assign(end=end, rank=range(1, len(rows) + 1)))
    kept = [*CELL, "seed", "end", "rank", "word", "u", "s", "count"]
    return named(pd.concat(parts, ignore_index=True))[kept]


def word_agreement(words: pd.DataFrame, n: int = 10) -> pd.DataFrame:
    """Whether the first two trainings of a cell agree on the n words with the largest |u|, and on the sign of u."""
    rows = []
    for key, part in words.groupby(CELL, sort=False):
        first, *more = (own.set_index("word") for _, own in part.groupby("seed"))
        row = dict(zip(CELL, key, strict=True)) | {"words": len(first), "largest": n}
        row["occur at most twice"] = (first["count"] <= 2).mean()
        if more:
            tops = [own["u"].loc[own["u"].abs().nlargest(n).index] for own in (first, more[0])]
            shared = tops[0].index.intersection(tops[1].index)
            row["shared by two trainings"] = len(shared)
            row["of the same sign"] = int((np.sign(tops[0][shared]) == np.sign(tops[1][shared])).sum())
        rows.append(row)
    return named(pd.DataFrame(rows))


def pooling_table(flips: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Footnote 4: F1 and the fraction to flip by α∇α for each way to pool the scaled embedding into s."""
    part = of(flips, FRACTION, "alpha_grad")
    scores = f1_values(labels, ["dataset", "pool", "seed"])
    tables = [
        effects(frame, ["pool"], bounds=(0, 1)).assign(measure=name)
        for name, frame in (("macro-F1", scores), ("fraction", part))
    ]
    found = pd.concat(tables)
    pools = {"direct": "u itself", "sum": "sum (the paper)"}
    found = found.sort_values("pool", key=lambda column: column.map(POOLS.index), kind="stable")
    return found.assign(pooling=[pools.get(p, p) for p in found["pool"]])[["pooling", "measure", *ENDS, *COUNTS]]


def _changes(table: pd.DataFrame, keys: list[str], a: str, b: str) -> pd.DataFrame:
    """Contrasts as they are shown, `a` minus `b`, with Holm's p over all rows."""
    found = named(table.assign(p_holm=holm(table["p"].to_numpy(float)))).reset_index(drop=True)
    return found[[*keys, "a", "b", *ENDS, *COUNTS, "df", "p_holm"]].rename(
        columns={"a": a, "b": b, "value": "difference"}
    )


def _beside(found: pd.DataFrame, table: int) -> pd.DataFrame:
    """Effects by cell with the paper's value for its corpus, or for the closest that it has."""
    joined = beside(found, "tasc", table)
    keys = [c for c in (*CELL, "variant", "importance") if c in joined]
    kept = [*ENDS, *COUNTS, "paper", "paper's corpus"] + (
        ["difference"] if joined["difference"].notna().any() else []
    )
    return named(joined)[[*keys, *kept]]
