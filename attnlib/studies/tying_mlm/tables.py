"""Tables of the study of word-level objectives: frames in, frames out, ours next to the paper's. F1 in percent."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import (
    RESAMPLES,
    beside_paper,
    bounds,
    contrast,
    interval_text,
    spell_interval,
    summarise,
    with_width,
)
from attnlib.studies.f1 import resampled_f1
from attnlib.studies.tying_mlm.grid import VARIANTS, main
from attnlib.utils.errors import DataError

CELL = ["dataset", "attention", "variant"]
SWAPPED = ("uniform", "permuted")
METRICS = {"f1_trained": "F1", "delta_f1_uniform": "Δ uniform", "delta_f1_permuted": "Δ permuted"}
"""Metrics of Tables 1 and 6, as the reference names them -> as a reader sees them."""
DROPS = ("delta_f1_uniform", "delta_f1_permuted")
TOKENS = "per_token_probability"
NAMES = {"mi_most_frequent": "MF", "mi_random_sample": "RS", "mlm": "MLM", TOKENS: "per token"}


class Resampled(NamedTuple):
    """A score of one cell: its bootstrap draws over texts and seeds, the estimate, texts, seeds and data set.

    In percent, and not below `least`: 0 for a score, -100 for a difference of two.
    """

    draws: np.ndarray
    estimate: float
    n: int
    seeds: int
    dataset: str
    least: float = 0.0

    def minus(self, other: Resampled) -> Resampled:
        """The difference, draw by draw."""
        if self.dataset != other.dataset:
            raise DataError(
                f"Scores of {self.dataset!r} and {other.dataset!r} share no texts and cannot be paired."
            )
        seeds = min(self.seeds, other.seeds)
        draws, estimate = self.draws - other.draws, self.estimate - other.estimate
        return Resampled(draws, estimate, self.n, seeds, self.dataset, least=-100.0)

    def row(self) -> dict[str, float]:
        """value, low, high, n, seeds. Also where all texts agree, the interval has a width (`with_width`)."""
        ends = (end / 100 for end in (self.estimate, *np.quantile(self.draws, [0.025, 0.975])))
        low, high = (100 * end for end in with_width(*ends, self.n, self.least / 100))
        return {"value": self.estimate, "low": low, "high": high, "n": self.n, "seeds": self.seeds}


def f1_of(swaps: pd.DataFrame, resamples: int = RESAMPLES) -> dict[str, Resampled]:
    """F1 of the positive class with trained attention, and its change under the others, for the models of one cell.

    In percent. Permuted attention counts with the mean F1 over its draws. Texts and seeds are drawn alike for all
    cells that have as many, so that differences between cells are paired.
    """
    datasets = swaps["dataset"].unique()
    if len(datasets) != 1:
        raise DataError(f"A cell holds the texts of one data set; got those of {sorted(datasets) or 'none'}.")
    found = {}
    for swap, part in swaps.groupby("swap"):
        draws = [resampled_f1(one, positive=1, resamples=resamples) for _, one in part.groupby("draw")]
        scores, estimates, texts = zip(*draws, strict=True)
        mean, estimate = 100 * np.mean(scores, 0), 100 * float(np.mean(estimates))
        found[swap] = Resampled(mean, estimate, texts[0], part["seed"].nunique(), datasets[0])
    missing = {"trained", *SWAPPED} - set(found)
    if missing:
        raise DataError(f"The cell lacks attention {sorted(missing)}; it has {sorted(found)}.")
    own = found["trained"]
    return {"f1_trained": own, **{f"delta_f1_{swap}": found[swap].minus(own) for swap in SWAPPED}}


def f1_long(swaps: pd.DataFrame, by: Sequence[str], resamples: int = RESAMPLES) -> pd.DataFrame:
    """One row per cell and metric: value, low, high, n (texts), seeds."""
    rows = []
    for key, part in swaps.groupby(list(by), sort=False):
        cell = dict(zip(by, key, strict=True))
        rows += [cell | {"metric": name, **score.row()} for name, score in f1_of(part, resamples).items()]
    return pd.DataFrame(rows)


def f1_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Table 1, long: every cell of the main grid and metric, ours with its interval next to the paper's."""
    found = f1_long(main(swaps), CELL)
    return _beside(_ordered(found, CELL), 1)


def layer_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Table 6, long: the same by number of layers, additive attention, chosen weights."""
    part = swaps[swaps["chosen"] & (swaps["attention"] == "additive")]
    found = f1_long(part, ["dataset", "attention", "variant", "layers"])
    found["encoder"] = [f"lstm-{depth}layer" for depth in found["layers"]]
    return _beside(_ordered(found, ["dataset", "variant", "layers"]), 6)


def ablation_table(swaps: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """Weights δ of tying and η of MLM: F1, drops and per-token probability, additive attention.

    Of the weights of Table 1 only the seeds that the other weights have, so that all rows rest on as many.
    """
    seeds = set(swaps.loc[~swaps["chosen"], "seed"]) or set(swaps["seed"])
    chosen = [
        frame[
            (frame["attention"] == "additive")
            & (frame["layers"] == 1)
            & frame["seed"].isin(seeds)
            & frame["variant"].isin(["tying", "mlm"])
        ]
        for frame in (swaps, texts)
    ]
    keys = ["dataset", "variant", "strength"]
    if chosen[0].empty:
        return pd.DataFrame()
    found = pd.concat([f1_long(chosen[0], keys), probability(chosen[1], keys)], ignore_index=True)
    return _ordered(found, keys)


def probability(texts: pd.DataFrame, by: Sequence[str] = CELL) -> pd.DataFrame:
    """Mean over correctly classified texts of the mean per-token probability of the predicted class."""
    return summarise(correct(texts), by).assign(metric=TOKENS)


def correct(texts: pd.DataFrame) -> pd.DataFrame:
    """Correctly classified texts, `value` their mean per-token probability."""
    right = texts[texts["prediction"] == texts["label"]]
    return right.assign(value=right["token_probability"])


def probability_table(texts: pd.DataFrame) -> pd.DataFrame:
    """Table 3: per-token probability of the main grid, next to the paper's."""
    return _beside(_ordered(probability(main(texts)), CELL), 3, digits=3)


def information_table(information: pd.DataFrame) -> pd.DataFrame:
    """Table 2: mutual information by variant and sample of words, mean over seeds, next to the paper's.

    floor: what shuffled labels give, the bias of the estimate; above: value minus floor; ceiling: entropy of the
    words; within: mean half-width of the bootstrap interval over occurrences of a single model.
    """
    keys = [*CELL, "metric"]
    found = summarise(information, keys)
    within = information.assign(within=(information["high"] - information["low"]) / 2)
    extra = within.groupby(keys, sort=False)[["floor", "ceiling", "within", "words", "k"]].mean().reset_index()
    extra = extra.astype({"words": int, "k": int})
    occurring = information.groupby(keys, sort=False)["n"].max().rename("occurrences").reset_index()
    found = found.merge(extra, on=keys).merge(occurring, on=keys)
    found["above"] = found["value"] - found["floor"]
    return _beside(_ordered(found, ["dataset", "metric", "variant"]), 2)


def fragility_table(swaps: pd.DataFrame) -> pd.DataFrame:
    """Each variant minus base: F1 and its changes, paired over texts and seeds; Holm over all rows."""
    part = main(swaps)
    rows = []
    for (dataset, attention), cell in part.groupby(["dataset", "attention"], sort=False):
        found = {name: f1_of(one) for name, one in cell.groupby("variant", sort=False)}
        for variant in [v for v in VARIANTS if v in found and v != "base"]:
            for metric in METRICS:
                gap = difference([(found[variant][metric], found["base"][metric])])
                row = {"dataset": dataset, "attention": attention, "variant": variant, "metric": metric}
                rows.append(row | gap._asdict())
    table = pd.DataFrame(rows, columns=[*CELL, "metric", *stats.Difference._fields])
    table["p_holm"] = stats.holm(table["p"]) if rows else table["p"]
    return table.drop(columns="missing")


def readable(table: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """The named columns (all by default) with metrics as a reader sees them."""
    kept = table[list(columns)] if columns else table
    return kept.assign(metric=kept["metric"].map(lambda name: METRICS.get(name, NAMES.get(name, name))))


def fragility_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`fragility_table` as it is shown: the difference with its interval, and the p after Holm's correction."""
    shown = readable(table)
    shown["minus base"] = interval_text(table.rename(columns={"estimate": "value"}), 1)
    return shown[[*CELL, "metric", "minus base", "n", "p_holm"]].rename(columns={"p_holm": "p (Holm)"})


def difference(pairs: Iterable[tuple[Resampled, Resampled]]) -> stats.Difference:
    """Mean over pairs of a - b with its interval and two-sided bootstrap p; n: texts, summed over data sets.

    Where no text differs, the interval gets its width by an exact bound (`with_width`).
    """
    gaps = [a.minus(b) for a, b in pairs]
    if not gaps:
        raise DataError("There is no pair of cells to compare.")
    draws, estimate = np.mean([g.draws for g in gaps], 0), float(np.mean([g.estimate for g in gaps]))
    found, n = bounds(draws), sum({g.dataset: g.n for g in gaps}.values())
    low, high = with_width(estimate / 100, found["low"] / 100, found["high"] / 100, n)
    return stats.Difference(estimate, 100 * low, 100 * high, n, 0, found["p"])


def initialisation_table(swaps: pd.DataFrame, texts: pd.DataFrame) -> pd.DataFrame:
    """App. C: normalised entropy of dot attention and the change of F1 by the initialisation of the query."""
    keys = ["dataset", "init"]
    f1 = f1_long(_dot(swaps), keys)
    entropy = summarise(entropies(texts), keys).assign(metric="normalised entropy")
    found = pd.concat([entropy, f1], ignore_index=True)
    share = found["metric"] == "normalised entropy"
    found["ours"] = interval_text(found, 1).mask(share, interval_text(found, 3))
    return found[[*keys, "metric", "ours", "value", "low", "high", "n", "seeds"]]


def entropies(texts: pd.DataFrame) -> pd.DataFrame:
    """Base models with dot attention: `value` is the normalised entropy of a text's weights (one word: NaN)."""
    part = _dot(texts)
    return part.assign(value=part["entropy"])


def _dot(frame: pd.DataFrame) -> pd.DataFrame:
    return frame[(frame["attention"] == "dot") & (frame["variant"] == "base") & (frame["layers"] == 1)]


def wide(long: pd.DataFrame, keys: Sequence[str], digits: int = 1) -> pd.DataFrame:
    """A long table as readers like it: one row per cell, one column per metric.

    A cell reads `ours [interval]`, then, where the paper prints one, its value and ours minus that:
    `paper 84.2 (-1.3)`.
    """
    rows = []
    for key, part in long.groupby(list(keys), sort=False):
        row = dict(zip(keys, key, strict=True))
        row |= {name: f"{row[name]:g}" for name in row if name == "strength"}
        part = part.set_index("metric")
        for metric in part.index:
            name, one = (METRICS | NAMES)[metric], part.loc[metric]
            row[name] = spell_interval(*one[["value", "low", "high"]], 3 if metric == TOKENS else digits)
            if not np.isnan(one.get("paper", np.nan)):
                row[name] += f" paper {one['paper']:.{digits}f} ({one['difference']:+.{digits}f})"
        rows.append(row | {"n": int(part["n"].iloc[0]), "seeds": int(part["seeds"].iloc[0])})
    return pd.DataFrame(rows)


def information_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`information_table` as it is shown: ours with its interval over seeds, the paper's, and the difference.

    ± one model: half the interval over occurrences of a single model; n: occurrences.
    """
    shown = readable(table).rename(columns={"metric": "sample", "within": "± one model"})
    shown = shown.assign(ours=interval_text(shown), n=shown["occurrences"])
    first = ["dataset", "sample", "variant", "ours", "paper", "difference"]
    return shown[[*first, "± one model", "floor", "ceiling", "n", "seeds"]]


def changes(frame: pd.DataFrame, variants: Sequence[str], pair: Sequence[str] = ()) -> pd.DataFrame:
    """Each variant minus base over a frame with `value`, averaged over data sets and `pair`; Holm over the rows."""
    present = [v for v in variants if (frame["variant"] == v).any()]
    if not present:
        return pd.DataFrame(columns=["contrast", "a", "b", *stats.Difference._fields, "p_holm"])
    table = pd.concat(
        [contrast(frame, "variant", v, "base", pair=["dataset", "attention", *pair]) for v in present],
        ignore_index=True,
    )
    table["p_holm"] = stats.holm(table["p"])
    return table


def _ordered(frame: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows in the paper's order of variants."""
    order = {name: k for k, name in enumerate((*VARIANTS, "additive", "dot"))}

    def rank(column: pd.Series) -> pd.Series:
        return column.map(order) if column.name in ("variant", "attention") else column

    return frame.sort_values(list(keys), key=rank, kind="stable", ignore_index=True)


def _beside(found: pd.DataFrame, table: int, digits: int = 1) -> pd.DataFrame:
    """A summary by cell with the paper's value for its corpus, or for the closest one it has."""
    return beside_paper(found, "tying_mlm", table, digits).drop(columns="missing", errors="ignore")
