"""Means over cells of equal weight, with intervals over seeds and texts.

The paper's aggregates are means over cells (data set and encoder; Tables 3 and 4, Figures 1 and 2), and a cell is a
mean over its own texts. A plain mean over all rows would let the largest corpus speak for the rest. So each cell is
averaged first, and the cells then count alike; a resample draws the texts of every data set among themselves, and
the seeds, once for all cells: the same texts meet every model. For one data set and cells of one size that is what
`common.summarise` and `common.contrast` compute, draw for draw.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import RESAMPLES, bounds, weights
from attnlib.utils.errors import DataError

CELL = ["dataset", "encoder", "attention"]


def summarise(frame: pd.DataFrame, by: Sequence[str], *, resamples: int = RESAMPLES) -> pd.DataFrame:
    """One row per value of `by`: the mean over its cells, the 95% interval, n (rows) and seeds."""
    rows = []
    for key, part in frame.groupby(list(by), sort=False):
        found = _means(part, CELL, resamples)
        ends = _bounds(found, len(part))
        row = dict(zip(by, key, strict=True)) | {"value": found[0], "low": ends["low"], "high": ends["high"]}
        rows.append(row | {"n": len(part), "seeds": part["seed"].nunique()})
    return pd.DataFrame(rows)


def contrast(
    frame: pd.DataFrame,
    column: str,
    a: str,
    b: str,
    by: Sequence[str] = (),
    *,
    pair: Sequence[str],
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Paired differences mean(a) - mean(b), one row per value of `by`; the cells of the columns `pair` count alike.

    Rows are paired by seed and text within a cell; one without a partner is left out. n counts pairs, and `p_holm`
    corrects over the rows of the table.
    """
    keys = [*by, *pair, "seed", "instance"]
    sides = [frame.loc[frame[column] == side, [*keys, "value"]] for side in (a, b)]
    for name, side in zip((a, b), sides, strict=True):
        if side.empty:
            raise DataError(f"No row has {column} = {name!r}; the frame has {sorted(frame[column].unique())}.")
        if side.duplicated(keys).any():
            raise DataError(f"Several rows share {keys} where {column} = {name!r}; name what differs in `pair`.")
    both = sides[0].merge(sides[1], on=keys, suffixes=("_a", "_b"))
    both = both.assign(value=both["value_a"] - both["value_b"])
    rows = []
    for key, part in both.groupby(list(by), sort=False) if by else [((), both)]:
        found = _means(part, pair, resamples)
        levels = part.groupby(list(pair), sort=False)[["value_a", "value_b"]].mean().mean()
        row = dict(zip(by, key, strict=True)) | {"contrast": f"{a} - {b}"}
        row |= {"a": levels["value_a"], "b": levels["value_b"], "estimate": found[0]}
        rows.append(row | _bounds(found, len(part)) | {"n": len(part)})
    table = pd.DataFrame(rows)
    table["p_holm"] = stats.holm(table["p"])
    return table


def _bounds(found: np.ndarray, n: int) -> dict[str, float]:
    """`common.bounds` of the resamples; one value alone has none."""
    return bounds(found[1:]) if n > 1 else dict.fromkeys(("low", "high", "p"), np.nan)


def _means(part: pd.DataFrame, cells: Sequence[str], resamples: int) -> np.ndarray:
    """The mean over cells of their means, then its resamples."""
    seeds = np.unique(part["seed"])
    texts = {name: pd.unique(rows["instance"]) for name, rows in part.groupby("dataset", sort=False)}
    drawn, models = _weights(tuple(len(names) for names in texts.values()), len(seeds), resamples)
    place = {name: k for k, name in enumerate(texts)}
    found = []
    for key, cell in part.groupby(["dataset", *(c for c in cells if c != "dataset")], sort=False):
        names, times = texts[key[0]], drawn[place[key[0]]]
        values = np.full((len(names), len(seeds)), np.nan)
        values[pd.Index(names).get_indexer(cell["instance"]), np.searchsorted(seeds, cell["seed"])] = cell["value"]
        real = ~np.isnan(values)
        if real.sum() < len(cell):
            raise DataError(f"A text has several values, or none, for one seed in the cell {key}; tell them apart.")
        total = (times @ np.where(real, values, 0.0) * models).sum(1)
        with np.errstate(invalid="ignore"):
            found.append(total / (times @ real * models).sum(1))
    means = np.mean(found, 0)
    return means[~np.isnan(means)]  # a draw may hold no text of a cell that was measured in part


@lru_cache(maxsize=1)
def _weights(sizes: tuple[int, ...], models: int, resamples: int) -> tuple[list[np.ndarray], np.ndarray]:
    """`common.weights` of the texts of each data set, drawn among themselves, and of the seeds."""
    drawn = [weights(n, models if k == 0 else 1, resamples, seed=k) for k, n in enumerate(sizes)]
    return [texts for texts, _ in drawn], drawn[0][1]
