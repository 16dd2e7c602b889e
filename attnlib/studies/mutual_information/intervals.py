"""Means and differences of tau over models, with an interval only where there are models enough for one.

A bootstrap never leaves the range of its values: two values of one sign would always decide. So an interval over
models needs `LEAST_SEEDS` seeds and `LEAST_MODELS` models (or pairs of them), else its bounds are NaN and a claim
that rests on it stays undetermined.

The seeds of a cell (corpus, encoder, attention) share its texts and its architecture, so an interval resamples
cells and seeds, crossed. Over few values a bootstrap is too narrow, so its bounds are moved away from the estimate
(`stats.widened`, by the larger of the numbers of cells and of seeds). That mends the small numbers, not the choice
of cells: two or three say little about the next corpus.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd
from scipy import stats as scipy_stats

from attnlib import stats
from attnlib.studies.common import RESAMPLES, contrast, exact, summarise
from attnlib.studies.mutual_information.grid import CELL, MAIN

LEAST_SEEDS = 2
"""One seed says nothing about the next."""
LEAST_MODELS = 3
"""The fewest values that an interval is drawn from."""
LEAST_ORDERED = 5
"""The fewest settings that a rank correlation is judged by: chance puts four in perfect order once in twelve."""


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
    """The models that learned something, on texts enough; where one of a pair did not, its partner has no match."""
    return taus[~(idle(taus) | taus["thin"])]


def shared(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The rows of corpora that have every setting of `columns` there is: means over them compare like with like."""
    settings = frame[["dataset", *columns]].drop_duplicates()
    every = len(settings[list(columns)].drop_duplicates())
    counts = settings.groupby("dataset").size()
    return frame[frame["dataset"].isin(counts.index[counts == every])]


def averaged(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`summarise` over models: value, low, high, n, missing, seeds, cells; no bounds where models are too few."""
    if not len(frame):
        return pd.DataFrame()
    frame = _cells(frame, CELL)
    return _bounded(summarise(frame, by).drop(columns="seeds"), "value", frame.dropna(subset=["value"]), by, 1.0)


def paired(
    frame: pd.DataFrame, column: str, a: str, b: str, by: Sequence[str] = (), *, pair: Sequence[str] = ()
) -> pd.DataFrame:
    """`contrast` over models, with the numbers of seeds and cells; no bounds where pairs are too few.

    Without its p-values: they belong to the interval as it is before it is widened.
    """
    frame = _cells(frame, [*by, *pair])
    found = contrast(frame, column, a, b, by, pair=pair).drop(columns=["p", "p_holm"])
    keys = [*by, *pair, "seed", "instance"]
    sides = [frame[frame[column] == side].dropna(subset=["value"])[keys] for side in (a, b)]
    both = sides[0].merge(sides[1], on=keys).assign(contrast=f"{a} - {b}")
    return _bounded(found, "estimate", both, [*by, "contrast"], 2.0)


def _cells(frame: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """With `instance`, the cell of each row, which a bootstrap draws as a whole."""
    return frame.assign(instance=["|".join(map(str, key)) for key in frame[list(columns)].to_numpy()])


def _bounded(
    found: pd.DataFrame, estimate: str, models: pd.DataFrame, by: Sequence[str], most: float
) -> pd.DataFrame:
    """`found` with the seeds and cells among the models of each row, and bounds that fit them, within ±most."""
    counts = models.groupby(list(by))[["seed", "instance"]].nunique()
    counts = counts.rename(columns={"seed": "seeds", "instance": "cells"}).reset_index()
    found = found.merge(counts, on=list(by), how="left").fillna({"seeds": 0, "cells": 0})
    found = found.astype({"seeds": int, "cells": int})
    few = (found["n"] < LEAST_MODELS) | (found["seeds"] < LEAST_SEEDS)
    units = found[["seeds", "cells"]].max(axis=1)
    low, high = stats.widened(found[estimate], found["low"], found["high"], units)
    return found.assign(low=low.clip(-most, most).mask(few), high=high.clip(-most, most).mask(few))


def nothing() -> stats.Interval:
    """No models at all."""
    return stats.Interval(float("nan"), float("nan"), float("nan"), 0)


def share(kept: Sequence[bool]) -> stats.Interval:
    """The share of true values with its exact binomial interval (Clopper & Pearson).

    A bootstrap of equal values has no width, however few they are.
    """
    n = len(kept)
    if not n:
        return nothing()
    hits = int(sum(kept))
    return stats.Interval(hits / n, *exact(hits, n), n)


def tasks_apart(taus: pd.DataFrame) -> stats.Interval:
    """Mean tau of corpora to classify minus that of corpora with a query; n counts corpora.

    A corpus counts by its mean over the settings (encoder, attention) that both kinds have. 95% interval by
    Welch's t, with two corpora of each kind at least: models of one corpus do not speak for another.
    """
    part = plain(taus).dropna(subset=["value"])
    query = part["task"] != "classification"
    settings = part["encoder"] + "|" + part["attention"]
    both = set(settings[query]) & set(settings[~query])
    cells = part[settings.isin(both)].groupby(["dataset", "task", "encoder", "attention"])["value"].mean()
    means = cells.groupby(level=["dataset", "task"]).mean().reset_index()
    sides = [own["value"].to_numpy() for _, own in means.groupby(means["task"] != "classification")]
    if len(sides) < 2:
        return nothing()
    low = high = float("nan")
    if min(map(len, sides)) > 1:
        low, high = scipy_stats.ttest_ind(*sides, equal_var=False).confidence_interval()
    return stats.Interval(float(sides[0].mean() - sides[1].mean()), float(low), float(high), len(means))


def seed_differences(part: pd.DataFrame) -> list[float]:
    """|difference| of tau for every pair of seeds of one cell."""
    values = part.sort_values("seed")["tau"].dropna().to_numpy(float)
    return [abs(float(a - b)) for i, a in enumerate(values) for b in values[i + 1 :]]


def seed_gap(part: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0) -> tuple[stats.Interval, float]:
    """Mean |difference| of tau over pairs of seeds of the same cell, n pairs; and the largest.

    Pairs share seeds, so cells are resampled, and seeds within each, and the mean is taken over the pairs of
    distinct seeds that were drawn, widened for the larger of cells and seeds. No bounds unless one of these numbers
    is `LEAST_MODELS` at least.
    """
    values = [own["tau"].dropna().to_numpy(float) for _, own in part.groupby(CELL)]
    cells = [np.abs(own[:, None] - own) for own in values if len(own) > 1]
    if not cells:
        return nothing(), float("nan")
    n = sum(len(own) * (len(own) - 1) // 2 for own in cells)
    estimate, largest = sum(own.sum() / 2 for own in cells) / n, max(own.max() for own in cells)
    low = high = float("nan")
    if (units := max(len(cells), *map(len, cells))) >= LEAST_MODELS:
        rng = np.random.default_rng(seed)
        times = rng.multinomial(len(cells), np.full(len(cells), 1 / len(cells)), resamples)
        total, pairs = np.zeros(resamples), np.zeros(resamples)
        for k, own in enumerate(cells):
            drawn = rng.multinomial(len(own), np.full(len(own), 1 / len(own)), resamples)
            total += times[:, k] * np.einsum("ri,ij,rj->r", drawn, own, drawn) / 2
            pairs += times[:, k] * (len(own) ** 2 - (drawn**2).sum(1)) / 2
        low, high = np.quantile(total[pairs > 0] / pairs[pairs > 0], [0.025, 0.975])
        low, high = np.clip(stats.widened(estimate, low, high, units), 0.0, 2.0)
    return stats.Interval(float(estimate), float(low), float(high), n), float(largest)


def uniformity(taus: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0) -> stats.Interval:
    """Kendall tau-b between a model's tau and the entropy of its attention, within corpora, averaged over them.

    Over the corpora with `LEAST_ORDERED` settings (encoder, attention) at least; where no corpus has as many, over
    all, without bounds. 95% interval: settings are resampled within each corpus, with all their seeds, and the
    interval is widened for their number. n counts settings.
    """
    part = plain(taus).dropna(subset=["tau", "entropy"])
    groups = [
        [g[["tau", "entropy"]].to_numpy(float) for _, g in own.groupby(CELL)] for _, own in part.groupby("dataset")
    ]
    enough = [own for own in groups if len(own) >= LEAST_ORDERED]
    groups = enough or groups
    rng = np.random.default_rng(seed)
    draws = []
    for _ in range(resamples if enough else 0):
        drawn = [[own[i] for i in rng.integers(0, len(own), len(own))] for own in groups]
        draws.append(_within(drawn))
    low, high = np.nanquantile(draws, [0.025, 0.975]) if np.isfinite(draws).any() else (np.nan, np.nan)
    estimate, n = _within(groups), sum(map(len, groups))
    low, high = np.clip(stats.widened(estimate, low, high, n), -1.0, 1.0)
    return stats.Interval(estimate, float(low), float(high), n)


def _within(groups: Iterable[Sequence[np.ndarray]]) -> float:
    found = []
    for cells in groups:
        rows = np.vstack(cells)
        found.append(stats.kendall_tau(rows[:, 0], rows[:, 1]) if len(rows) > 2 else np.nan)
    return float(np.nanmean(found)) if np.isfinite(found).any() else float("nan")
