"""Percentile bootstrap intervals: to be replaced by `stats.inference`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats as scipy_stats

from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

KEPT = 6_000_000
"""Counts of a bootstrap that are held at once, and kept for the next call with as many texts and seeds."""


class Interval(NamedTuple):
    """An estimate with its bootstrap interval. `n` values counted, `missing` NaN left out."""

    estimate: float
    low: float
    high: float
    n: int
    missing: int = 0

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}] (n = {self.n:,})"


class Difference(NamedTuple):
    """A paired difference a - b with its interval; `p` is the two-sided bootstrap p-value of no difference."""

    estimate: float
    low: float
    high: float
    n: int
    missing: int
    p: float


def bootstrap(
    values: ArrayLike | pd.DataFrame,
    *,
    groups: ArrayLike | str | None = None,
    instances: ArrayLike | str | None = None,
    column: str = "value",
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """Percentile bootstrap interval of a mean over seeds and instances.

    values     (n,) numbers, or a frame with a column of that name; NaN are left out and counted as `missing`
    groups     a label a value, such as the seed of the model. Groups are resampled first, then values within each:
               the interval covers chance in training as well as in sampling texts
    instances  a label a value that recurs across groups, such as the text's id. Texts and groups are then
               resampled independently and crossed (Owen 2007), since the same text in two seeds is one text
    For a frame, `groups` and `instances` name columns. One value alone has no interval, nor have several of one
    text under one seed: low and high are NaN.
    """
    x, groups, instances = _columns(values, groups, instances, column)
    means, estimate, n, missing = _resampled(x, groups, instances, resamples, seed)
    low, high = _percentiles(means, level, n)
    return Interval(estimate, low, high, n, missing)


def expansion(units: ArrayLike, *, level: float = 0.95) -> np.ndarray:
    """By how much a percentile interval drawn from so few units is to be widened about its estimate.

    sqrt(u / (u - 1)) t / z, the expanded percentile interval of Hesterberg (2015, "What teachers should know about
    the bootstrap"). Units are what is drawn anew and varies most, such as trainings. One unit has no interval: NaN.
    """
    u = np.asarray(units, dtype=float)
    tail = (1 + level) / 2
    few = np.where(u > 1, u, np.nan)
    return np.sqrt(few / (few - 1)) * scipy_stats.t.ppf(tail, few - 1) / scipy_stats.norm.ppf(tail)


def widened(estimate, low, high, units: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Bounds moved away from their estimates by `expansion`."""
    factor = expansion(units)
    return estimate - factor * np.maximum(estimate - low, 0), estimate + factor * np.maximum(high - estimate, 0)


def paired_bootstrap(
    a: ArrayLike,
    b: ArrayLike,
    *,
    groups: ArrayLike | None = None,
    instances: ArrayLike | None = None,
    level: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Difference:
    """Bootstrap of the mean paired difference a - b: both sides of a pair are drawn together.

    A pair with a NaN on either side is left out and counted. See `bootstrap` for `groups` and `instances`.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise DataError(f"paired_bootstrap: {a.shape} and {b.shape} do not pair. Give one b for each a.")
    means, estimate, n, missing = _resampled(a - b, groups, instances, resamples, seed)
    low, high = _percentiles(means, level, n)
    if np.isnan(low):
        p = float("nan")
    else:
        tail = min((means <= 0).sum(), (means >= 0).sum())
        p = min(1.0, 2 * (tail + 1) / (len(means) + 1))
    return Difference(estimate, low, high, n, missing, float(p))


def _resampled(x, groups, instances, resamples, seed):
    """Means of `resamples` bootstrap samples, the plain mean, n and the number of NaN left out."""
    x = np.asarray(x, dtype=float)
    if x.ndim != 1:
        raise DataError(f"bootstrap: values must be one-dimensional; got shape {x.shape}.")
    if resamples < 1:
        raise DataError(f"bootstrap: resamples must be positive; got {resamples}.")
    labels = [_labels(groups, "groups", len(x)), _labels(instances, "instances", len(x))]
    real = ~np.isnan(x)
    missing = int((~real).sum())
    x = x[real]
    if not len(x):
        return np.full(resamples, np.nan), float("nan"), 0, missing
    groups, instances = (None if k is None else np.unique(k[real], return_inverse=True)[1] for k in labels)
    rng = np.random.default_rng(seed)
    if instances is not None:
        means = _crossed(x, groups, instances, resamples, seed)
    elif groups is not None:
        means = _nested(x, groups, resamples, rng)
    else:
        means = _flat(x, resamples, rng)
    return means, float(x.mean()), len(x), missing


def _flat(x: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    means = np.empty(resamples)
    step = max(1, 4_000_000 // len(x))
    for start in range(0, resamples, step):
        stop = min(start + step, resamples)
        means[start:stop] = x[rng.integers(0, len(x), (stop - start, len(x)))].mean(1)
    return means


def _nested(x: np.ndarray, groups: np.ndarray, resamples: int, rng: np.random.Generator) -> np.ndarray:
    """Groups drawn with replacement, then values within each drawn group, fresh for each draw."""
    order = np.argsort(groups, kind="stable")
    x = x[order]
    sizes = np.bincount(groups)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    means = np.empty(resamples)
    for k in range(resamples):
        drawn = rng.integers(0, len(sizes), len(sizes))
        size = sizes[drawn]
        within = (rng.random(size.sum()) * np.repeat(size, size)).astype(int)
        means[k] = x[np.repeat(starts[drawn], size) + within].mean()
    return means


def _crossed(x, groups, instances, resamples, seed) -> np.ndarray:
    """Owen's pigeonhole bootstrap: a value weighs as often as its group times its instance was drawn.

    Values are added up by instance and group first, so that a resample is a product with two rows of counts. Draws
    without any value are left out.
    """
    groups = np.zeros_like(instances) if groups is None else groups
    m, g = instances.max() + 1, groups.max() + 1
    if m == g == 1:  # nothing to draw
        return np.full(resamples, np.nan)
    cell = instances * g + groups
    totals = np.bincount(cell, x, m * g).reshape(m, g)
    counts = np.bincount(cell, minlength=m * g).reshape(m, g).astype(float)
    means = []
    for texts, models in _drawn(m, g, resamples, seed) if m * resamples <= KEPT else _draws(m, g, resamples, seed):
        weight = (texts @ counts * models).sum(1)
        means.append(((texts @ totals * models).sum(1) / np.where(weight > 0, weight, 1))[weight > 0])
    return np.concatenate(means)


def draws(instances: int, groups: int, resamples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """How often each instance and each group is drawn, a row a resample: the draws that `bootstrap` makes."""
    texts, models = zip(*_draws(instances, groups, resamples, seed), strict=True)
    return np.concatenate(texts), np.concatenate(models)


@lru_cache(maxsize=2)
def _drawn(m: int, g: int, resamples: int, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The draws kept: a table has many cells of the same texts and seeds."""
    return list(_draws(m, g, resamples, seed))


def _draws(m: int, g: int, resamples: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """How often each of m instances and g groups was drawn, a row a resample, in blocks of at most KEPT numbers."""
    rng = np.random.default_rng(seed)
    block = max(1, KEPT // m)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        texts, models = np.empty((rows, m)), np.ones((rows, g))
        for k in range(rows):
            texts[k] = rng.multinomial(m, np.full(m, 1 / m))
            if g > 1:
                models[k] = rng.multinomial(g, np.full(g, 1 / g))
        yield texts, models


def _percentiles(means: np.ndarray, level: float, n: int) -> tuple[float, float]:
    if not 0 < level < 1:
        raise DataError(f"bootstrap: level must lie between 0 and 1; got {level}.")
    if n < 2 or np.isnan(means).any():
        return float("nan"), float("nan")
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _columns(values, groups, instances, column):
    if hasattr(values, "columns"):
        frame = values
        wanted = [k for k in (column, groups, instances) if k is not None]
        absent = [k for k in wanted if not isinstance(k, str) or k not in frame.columns]
        if absent:
            raise DataError(f"bootstrap: the frame has no column {absent[0]!r}; it has {', '.join(frame.columns)}.")
        pick = lambda name: None if name is None else frame[name].to_numpy()  # noqa: E731
        return frame[column].to_numpy(dtype=float, na_value=np.nan), pick(groups), pick(instances)
    return np.asarray(values, dtype=float), groups, instances


def _labels(labels, name: str, n: int) -> np.ndarray | None:
    if labels is None:
        return None
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise DataError(f"bootstrap: {name} are {labels.shape}, values ({n},). Give one label a value.")
    return labels
