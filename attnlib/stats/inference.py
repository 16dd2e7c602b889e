"""Every interval of the kit: effects over trainings and texts.

`attnlib.stats.variance` has the model and its variance in closed form. What is no mean over texts (F1, a standard
deviation, a correlation) is brought to that form by `attnlib.stats.jackknife`; a share of models has an exact
interval (`exact_share`). Coverage is tested by simulation (`tests/stats/test_coverage.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special

from attnlib.stats.variance import Cell, estimated, identity, lean, matrices, quantile, two_sided
from attnlib.utils.errors import DataError

LEVEL = 0.95
NAN = float("nan")
ENDS, COUNTS = ["value", "low", "high"], ["n", "trainings", "texts"]
"""Columns of a table of effects: an estimate with its interval, and what it rests on."""


@dataclass(frozen=True)
class Effect:
    """A number with an interval.

    estimate, low, high   the effect and its interval; NaN bounds where one training leaves none
    se, df, p             standard error, degrees of freedom, two-sided p-value of no effect (by the same t)
    n, cells, trainings, texts              measurements, and of how many of each
    from_trainings, from_texts, from_both   the variance that more of these, or of either, would lower
    again                 level -> the same effect with an interval of that level

    >>> share = al.stats.Effect(0.412, 0.38, 0.4449)
    >>> share.text(), share.scaled(100).text(digits=1)
    ('0.41 [0.38, 0.44]', '41.2 [38.0, 44.5]')
    """

    estimate: float
    low: float = NAN
    high: float = NAN
    se: float = NAN
    df: float = NAN
    p: float = NAN
    n: int = 0
    cells: int = 1
    trainings: int = 0
    texts: int = 0
    from_trainings: float = NAN
    from_texts: float = NAN
    from_both: float = 0.0
    again: Callable[[float], Effect] | None = field(default=None, repr=False, compare=False)

    def text(self, digits: int = 2) -> str:
        """`0.41 [0.38, 0.44]`; without bounds the estimate alone."""
        return interval_text(self.estimate, self.low, self.high, digits)

    __str__ = text

    def row(self) -> dict[str, Any]:
        """The columns of a tidy table: value, low, high, n, trainings, texts, df, p."""
        others = ("low", "high", *COUNTS, "df", "p")
        return {"value": self.estimate, **{name: getattr(self, name) for name in others}}

    def scaled(self, factor: float) -> Effect:
        """In another unit: the share 0.12 as 12 points with `factor` 100."""
        ends = sorted((factor * self.low, factor * self.high))
        parts = {name: factor**2 * getattr(self, name) for name in ("from_trainings", "from_texts", "from_both")}
        again = None if self.again is None else lambda level: self.again(level).scaled(factor)
        return replace(
            self, estimate=factor * self.estimate, low=ends[0], high=ends[1], se=abs(factor) * self.se, again=again,
            **parts,
        )  # fmt: skip

    def widened(self, variance: float, texts: int, bounds: tuple[float, float]) -> Effect:
        """With a further variance over `texts`, of which a statistic of whole trainings knows nothing by itself."""
        spread = math.sqrt(variance)
        z = float(special.ndtri((1 + LEVEL) / 2))
        low, high = (math.hypot(self.estimate - end, z * spread) for end in (self.low, self.high))
        se = math.hypot(self.se, spread)
        p = two_sided(self.estimate / se, self.df) if se else self.p
        again = None if self.again is None else lambda level: self.again(level).widened(variance, texts, bounds)
        ends = {"low": max(self.estimate - low, bounds[0]), "high": min(self.estimate + high, bounds[1])}
        return replace(self, **ends, se=se, p=max(p, self.p), texts=texts, from_texts=variance, again=again)

    def at(self, level: float) -> Effect:
        """The same effect with an interval of another level."""
        return self if self.again is None or level == LEVEL or math.isnan(self.low) else self.again(level)

    def needed(self, target: float, level: float = LEVEL, most: int = 1000) -> tuple[int, int] | None:
        """Trainings (added first) and texts that would separate this from `target`, if it stays; or None."""
        gap = abs(self.estimate - target)
        if not (gap > 0 and self.from_trainings >= 0):  # both parts of the variance are known, or none
            return None
        for texts in (1, 2, 5, 10, 20, 50, 100):
            for more in range(2 if texts == 1 else 1, most):
                variance = self.from_trainings / more + self.from_texts / texts + self.from_both / (more * texts)
                freedom = max(1.0, more * self.trainings - self.cells) if self.trainings else self.texts - 1
                if quantile((1 + level) / 2, freedom) * math.sqrt(variance) < gap:
                    return more * self.trainings, texts * self.texts
                if self.from_texts / texts >= (gap / 2) ** 2:
                    break
        return None


def effect(
    frame: pd.DataFrame,
    cells: Sequence[str] = (),
    *,
    training: str | None = "seed",
    text: str | None = "instance",
    weights: Mapping[Any, float] | None = None,
    bounds: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> Effect:
    """The mean of `value` over equally weighted cells, or the weighted sum of cell means that `weights` describes.

    cells     columns that tell cells apart; trainings are nested in them
    training  column of the training; None: the models are given, and texts are the only sample
    text      column of the text; None: the values are one per training. Texts of different `dataset` differ
    weights   cell key (a tuple, in the order of `cells`) -> weight; cells without one do not count
    bounds    the range of the values: an interval keeps inside, that of a share of 0/1 values is Wilson's (1927)
              with the effective number of texts, and unanimous values get the exact bounds of a share

    A frame with the column `point` (see `stats.jackknife`) holds the statistic of each training there. NaN values
    are left out. One training per cell has no interval; a lone cell of one borrows the mean spread of the others.

    >>> import pandas as pd
    >>> rows = [(seed, text, 0.5 + 0.1 * seed + 0.02 * text) for seed in range(3) for text in range(5)]
    >>> found = al.stats.effect(pd.DataFrame(rows, columns=["seed", "instance", "value"]))
    >>> found.trainings, found.texts, round(found.estimate, 3), found.low < 0.64 < found.high
    (3, 5, 0.64, True)
    """
    parts = matrices(lean(frame, cells, training, text), list(cells), training, text, weights)
    return _effect(parts, training is not None, text is not None, bounds, level) if parts else Effect(NAN)


def _effect(
    parts: list[Cell], by_training: bool, by_text: bool, bounds: tuple[float, float] | None, level: float
) -> Effect:
    """The effect of cells that are at hand as matrices."""
    again = partial(_effect, parts, by_training, by_text, bounds)
    found = Effect(**estimated(parts, by_training=by_training, by_text=by_text, level=level), again=again)
    if bounds is None or math.isnan(found.se):
        return found
    shares = (cell.weight > 0 and np.isin(cell.values[~np.isnan(cell.values)], bounds).all() for cell in parts)
    return _bounded(found, bounds, all(shares), level)


def contrast(
    frame: pd.DataFrame,
    column: str,
    a: object,
    b: object,
    cells: Sequence[str] = (),
    *,
    paired: bool = True,
    training: str | None = "seed",
    text: str | None = "instance",
    bounds: tuple[float, float] | None = None,
    level: float = LEVEL,
) -> Effect:
    """Mean where `column` is `a` minus mean where it is `b`, over equally weighted cells.

    paired    two values with the same cell, training and text are compared; one without its partner is left out.
              Not paired: the sides are separate trainings, and only cells that both sides have count

    >>> import pandas as pd
    >>> rows = [(seed, text, "none", 0.5) for seed in range(3) for text in range(4)]
    >>> rows += [(seed, text, "lin", 0.7 + 0.02 * seed + 0.01 * text) for seed in range(3) for text in range(4)]
    >>> frame = pd.DataFrame(rows, columns=["seed", "instance", "scaling", "value"])
    >>> print(al.stats.contrast(frame, "scaling", "lin", "none"))
    0.23 [0.19, 0.28]
    """
    frame = lean(frame, [*cells, column], training, text)
    sides = _sides(frame, column, a, b)
    unit = [k for k in (training, text) if k is not None]
    if paired:
        keys = [*identity(frame, cells, text), *unit]
        merged = sides[0].merge(sides[1], on=list(dict.fromkeys(keys)), suffixes=("", "_b"), validate="one_to_one")
        for name in ("value", "point"):
            if name in merged:
                merged[name] = merged[name] - merged[f"{name}_b"]
        return effect(merged, cells, training=training, text=text, bounds=bounds, level=level)
    shared = [()]
    if cells:
        both = sides[0][list(cells)].drop_duplicates().merge(sides[1][list(cells)].drop_duplicates())
        shared = list(both.itertuples(index=False, name=None))
    weights = {(*key, side): sign / len(shared) for key in shared for side, sign in ((a, 1.0), (b, -1.0))}
    options = {"training": training, "text": text, "weights": weights, "bounds": bounds, "level": level}
    return effect(pd.concat(sides), [*cells, column], **options)


def effects(frame: pd.DataFrame, by: Sequence[str], cells: Sequence[str] = (), **options: Any) -> pd.DataFrame:
    """`effect` of every group of `by`, one row each: the columns of the group and `Effect.row`."""
    groups = lean(frame, [*by, *cells], **_sample(options)).groupby(
        list(by), sort=False, dropna=False, observed=True
    )
    rows = [dict(zip(by, key, strict=True)) | effect(part, cells, **options).row() for key, part in groups]
    return pd.DataFrame(rows, columns=[*by, *Effect(NAN).row()])


def contrasts(
    frame: pd.DataFrame,
    column: str,
    a: object,
    b: object,
    by: Sequence[str],
    cells: Sequence[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """`contrast` of every group of `by` that has both sides, one row each, with Holm's p over the rows."""
    frame = lean(frame, [*by, *cells, column], **_sample(options))
    rows = [
        dict(zip(by, key, strict=True)) | contrast(part, column, a, b, cells, **options).row()
        for key, part in frame.groupby(list(by), sort=False, dropna=False, observed=True)
        if {a, b} <= set(part[column].unique())
    ]
    table = pd.DataFrame(rows, columns=[*by, *Effect(NAN).row()])
    return table.assign(p_holm=holm(table["p"].to_numpy(float)))


def _sample(options: Mapping[str, Any]) -> dict[str, str | None]:
    """The columns of trainings and texts, as `effect` has them."""
    return {"training": options.get("training", "seed"), "text": options.get("text", "instance")}


def exact_share(hits: int, n: int, level: float = LEVEL) -> Effect:
    """A share of independent units that either hit or miss (models, cells), with the bounds of Clopper & Pearson.

    `p` tests a share of one half.

    >>> print(al.stats.exact_share(9, 10))
    0.90 [0.55, 1.00]
    """
    if not n:
        return Effect(NAN)
    tail, missed = (1 - level) / 2, n - hits
    low = float(special.betaincinv(hits, missed + 1, tail)) if hits else 0.0
    high = float(special.betaincinv(hits + 1, missed, 1 - tail)) if missed else 1.0
    p = min(1.0, 2 * float(special.bdtr(min(hits, missed), n, 0.5)))
    return Effect(hits / n, low, high, p=p, n=n, cells=n, trainings=n, again=partial(exact_share, hits, n))


def holm(p_values: ArrayLike) -> np.ndarray:
    """Holm's adjusted p-values: the k-th smallest of m times m - k + 1, made monotone; NaN stays NaN, uncounted.

    >>> al.stats.holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=float)
    real, adjusted = ~np.isnan(p), np.full(p.shape, np.nan)
    order = np.flatnonzero(real)[np.argsort(p[real], kind="stable")]
    adjusted[order] = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1)).clip(max=1.0)
    return adjusted


def interval_text(value: float, low: float = NAN, high: float = NAN, digits: int = 2) -> str:
    """`0.41 [0.38, 0.44]`; without bounds the value alone, and a dash for NaN."""
    if math.isnan(value):
        return "–"
    return f"{value:z.{digits}f}" + ("" if math.isnan(low) else f" [{low:z.{digits}f}, {high:z.{digits}f}]")


def interval_texts(frame: pd.DataFrame, digits: int = 2) -> list[str]:
    """`interval_text` of every row of a table of effects."""
    return [interval_text(*row, digits) for row in frame.reindex(columns=ENDS).to_numpy(float)]


def _sides(frame: pd.DataFrame, column: str, a: object, b: object) -> list[pd.DataFrame]:
    sides = [frame[frame[column] == side] for side in (a, b)]
    for name, side in zip((a, b), sides, strict=True):
        if side.empty:
            raise DataError(f"No row has {column} = {name!r}; the frame has {sorted(set(frame[column]), key=str)}.")
    return sides


def _bounded(found: Effect, bounds: tuple[float, float], binary: bool, level: float) -> Effect:
    """An interval within the range of the values: Wilson's for shares, exact where all values agree."""
    low, high = bounds
    reach = high - low
    if found.se == 0:
        n = found.texts or found.trainings
        tail = (1 - level) / 2 if low < found.estimate < high else 1 - level
        width = reach * (1 - tail ** (1 / n))
        return replace(found, low=max(low, found.estimate - width), high=min(high, found.estimate + width))
    if binary:
        share = (found.estimate - low) / reach
        t = (found.high - found.estimate) / found.se
        n = share * (1 - share) / (found.se / reach) ** 2
        middle = (share + t**2 / (2 * n)) / (1 + t**2 / n)
        half = t * math.sqrt(share * (1 - share) / n + t**2 / (4 * n**2)) / (1 + t**2 / n)
        return replace(found, low=low + reach * (middle - half), high=low + reach * (middle + half))
    return replace(found, low=max(low, found.low), high=min(high, found.high))
