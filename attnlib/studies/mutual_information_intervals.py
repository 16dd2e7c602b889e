"""Means and differences of tau over models, with an interval only where there are models enough for one.

A bootstrap never leaves the range of its values: two values of one sign would always decide. So an interval over
models needs `LEAST_SEEDS` seeds and `LEAST_MODELS` models (or pairs of them), else its bounds are NaN and a claim
that rests on it stays undetermined.

The seeds of a cell (corpus, encoder, attention) share its texts and its architecture, so an interval draws cells
and seeds anew, crossed. Over two or three cells it is still too narrow: so few say little about the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import RESAMPLES, contrast, summarise
from attnlib.studies.mutual_information import CELL, MAIN

LEAST_SEEDS = 2
"""One seed says nothing about the next."""
LEAST_MODELS = 3
"""The fewest values that an interval is drawn from. Still few: by chance alone three have one sign in one case of
four, so n belongs beside every verdict."""


def plain(taus: pd.DataFrame) -> pd.DataFrame:
    """The softmax models as trained: the grid of Figure 2."""
    return taus[(taus["variant"] == "none") & (taus["projection"] == "softmax")]


def of_main(taus: pd.DataFrame) -> pd.DataFrame:
    """Those of BiLSTM with additive attention."""
    return taus[(taus["encoder"] == MAIN[0]) & (taus["attention"] == MAIN[1])]


def idle(taus: pd.DataFrame) -> pd.Series:
    """Which models learned nothing: not more accurate than the commonest class, or one output for all texts.

    Their outputs say nothing of a text, so what their states tell of them says nothing of attention.
    """
    learned = (taus["accuracy"] > taus["majority"]) & (taus["output_entropy"] > 0) & taus["tau"].notna()
    return ~learned


def without_idle(taus: pd.DataFrame) -> pd.DataFrame:
    """The models that learned something; where one of a pair did not, its partner finds no match."""
    return taus[~idle(taus)]


def shared(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The rows of corpora that have every setting of `columns` there is: means over them compare like with like."""
    settings = frame[["dataset", *columns]].drop_duplicates()
    every = len(settings[list(columns)].drop_duplicates())
    counts = settings.groupby("dataset").size()
    return frame[frame["dataset"].isin(counts.index[counts == every])]


def averaged(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`summarise` over models, without an interval where they are too few."""
    return _enough(summarise(_cells(frame, CELL), by)) if len(frame) else pd.DataFrame()


def paired(
    frame: pd.DataFrame, column: str, a: str, b: str, by: Sequence[str] = (), *, pair: Sequence[str] = ()
) -> pd.DataFrame:
    """`contrast` over models, with the number of seeds, and without an interval where pairs are too few."""
    found = contrast(_cells(frame, [*by, *pair]), column, a, b, by, pair=pair)
    keys = [*by, *pair, "seed"]
    sides = [frame[frame[column] == side].dropna(subset=["value"])[keys] for side in (a, b)]
    both = sides[0].merge(sides[1], on=keys)
    if by:
        seeds = both.groupby(list(by))["seed"].nunique().rename("seeds").reset_index()
        found = found.merge(seeds, on=list(by), how="left").fillna({"seeds": 0}).astype({"seeds": int})
    else:
        found["seeds"] = both["seed"].nunique()
    return _enough(found)


def _cells(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """With `instance`, the cell of each row, which a bootstrap draws as a whole."""
    return frame.assign(instance=["|".join(map(str, key)) for key in frame[list(columns)].to_numpy()])


def _enough(found: pd.DataFrame) -> pd.DataFrame:
    """The frame (n, seeds, low, high) with bounds of NaN, and no p, where n or seeds are too few."""
    few = (found["n"] < LEAST_MODELS) | (found["seeds"] < LEAST_SEEDS)
    bounds = [c for c in ("low", "high", "p", "p_holm") if c in found]
    return found.assign(**{c: found[c].mask(few) for c in bounds})


def nothing() -> stats.Interval:
    """No models at all."""
    return stats.Interval(float("nan"), float("nan"), float("nan"), 0)


def without_bounds(found: stats.Interval) -> stats.Interval:
    """The estimate alone where fewer than `LEAST_MODELS` values made it."""
    return found if found.n >= LEAST_MODELS else found._replace(low=float("nan"), high=float("nan"))


def seed_differences(part: pd.DataFrame) -> list[float]:
    """|difference| of tau for every pair of seeds of one cell."""
    values = part.sort_values("seed")["tau"].dropna().to_numpy(float)
    return [abs(float(a - b)) for i, a in enumerate(values) for b in values[i + 1 :]]


def seed_gap(part: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0) -> tuple[stats.Interval, float]:
    """Mean |difference| of tau over pairs of seeds of the same cell, n pairs; and the largest.

    Pairs share seeds, so cells are drawn anew, and seeds within each, and the mean is taken over the pairs of
    distinct seeds that were drawn. No bounds unless cells or the seeds of one are `LEAST_MODELS` at least.
    """
    values = [own["tau"].dropna().to_numpy(float) for _, own in part.groupby(CELL)]
    cells = [np.abs(own[:, None] - own) for own in values if len(own) > 1]
    if not cells:
        return nothing(), float("nan")
    n = sum(len(own) * (len(own) - 1) // 2 for own in cells)
    estimate, largest = sum(own.sum() / 2 for own in cells) / n, max(own.max() for own in cells)
    low = high = float("nan")
    if max(len(cells), *map(len, cells)) >= LEAST_MODELS:
        rng = np.random.default_rng(seed)
        times = rng.multinomial(len(cells), np.full(len(cells), 1 / len(cells)), resamples)
        total, pairs = np.zeros(resamples), np.zeros(resamples)
        for k, own in enumerate(cells):
            drawn = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples)
            total += times[:, k] * np.einsum("ri,ij,rj->r", drawn, own, drawn) / 2
            pairs += times[:, k] * (len(own) ** 2 - (drawn**2).sum(1)) / 2
        low, high = np.quantile(total[pairs > 0] / pairs[pairs > 0], [0.025, 0.975])
    return stats.Interval(float(estimate), float(low), float(high), n), float(largest)


def uniformity(taus: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0) -> stats.Interval:
    """Kendall tau-b between a model's tau and the entropy of its attention, within corpora, averaged over them.

    Over the corpora with `LEAST_MODELS` settings (encoder, attention) at least; where no corpus has as many, over
    all, without bounds. 95 % interval: settings are drawn anew within each corpus, with all their seeds. n counts
    settings.
    """
    part = plain(taus).dropna(subset=["tau", "entropy"])
    groups = [
        [g[["tau", "entropy"]].to_numpy(float) for _, g in own.groupby(CELL)] for _, own in part.groupby("dataset")
    ]
    enough = [own for own in groups if len(own) >= LEAST_MODELS]
    groups = enough or groups
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(resamples if enough else 0):
        drawn = [[own[i] for i in rng.integers(0, len(own), len(own))] for own in groups]
        draws.append(_within(drawn))
    low, high = np.nanquantile(draws, [0.025, 0.975]) if np.isfinite(draws).any() else (np.nan, np.nan)
    return stats.Interval(_within(groups), float(low), float(high), sum(map(len, groups)))


def _within(groups: Iterable[Sequence[np.ndarray]]) -> float:
    found = []
    for cells in groups:
        rows = np.vstack(cells)
        found.append(stats.kendall_tau(rows[:, 0], rows[:, 1]) if len(rows) > 2 else np.nan)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")
