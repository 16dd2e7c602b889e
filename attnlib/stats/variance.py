r"""The variance of an effect over trainings and texts, in closed form.

A study measures :math:`y_{cri}`: text *i* under training *r* of cell *c* (a dataset, an encoder and so on).
Trainings are **nested** in cells, texts **crossed** with both. An effect is a weighted sum of cell means

.. math:: \hat\theta = \sum_c w_c \bar y_c, \qquad \bar y_c = \frac1{R_c}\sum_r \bar y_{cr},

with weights :math:`1/C` for a mean over cells and :math:`\pm` for a contrast. Its variance has a closed form,

.. math:: V = \underbrace{\sum_c w_c^2 \frac{s_c^2}{R_c}}_{\text{trainings}}
            + \underbrace{\sum_d \frac{N_d}{N_d - 1} \sum_{i \in d} g_i^2}_{\text{texts}}
            - \underbrace{\sum_c w_c^2 \frac{e_c^2}{R_c N_c}}_{\text{counted twice}},

where :math:`s_c^2` is the variance of the training means of a cell, :math:`g_i = \sum_c w_c (\bar y_{c \cdot i} -
\bar y_c) / N_c` is what text *i* adds over all cells that read it, and :math:`e_c^2` is the residual mean square of
text × training, which the first two terms both contain. The quantile is that of t, with degrees of freedom from the
data (`_margin`).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from scipy import special

from attnlib.utils.errors import DataError

ROUNDING = 1e-12
"""A standard error below this part of the largest value is the rounding of equal values."""


@dataclass(frozen=True)
class Cell:
    """Values (trainings, texts) of a cell, the statistic of each training, and which texts they are."""

    weight: float
    values: np.ndarray
    points: np.ndarray
    texts: np.ndarray
    corpus: Hashable


def lean(
    frame: pd.DataFrame, names: Sequence[str], training: str | None = None, text: str | None = None
) -> pd.DataFrame:
    """What an interval reads of a frame, names as categories and texts as numbers: small integers to compare."""
    sample = [k for k in (training, text) if k is not None]
    if absent := [c for c in (*names, *sample, "value") if c not in frame]:
        raise DataError(f"The frame lacks the columns {absent}; it has {list(frame.columns)}.")
    named = list(dict.fromkeys([*names, *(["dataset"] if "dataset" in frame else [])]))
    kept = list(dict.fromkeys([*named, *sample, *(c for c in ("value", "point") if c in frame)]))
    found = frame[kept]
    made = {c: found[c].astype("category") for c in named if _spelled(found[c])}
    made |= {c: pd.factorize(found[c])[0] for c in sample if c not in named and _spelled(found[c])}
    return found.assign(**made) if made else found


def _spelled(column: pd.Series) -> bool:
    return isinstance(column.dtype, pd.StringDtype) or column.dtype == object


def identity(frame: pd.DataFrame, cells: Sequence[str], text: str | None) -> list[str]:
    """The columns of a cell, and the dataset, since texts of different datasets may share a name."""
    return [*cells, *(["dataset"] if text is not None and "dataset" in frame and "dataset" not in cells else [])]


def matrices(frame, cells, training, text, weights) -> list[Cell]:
    """The frame as one matrix per cell that counts; each dataset makes its own cell."""
    if training is None and text is None:
        raise DataError("An interval needs a sample: name the column of trainings, of texts, or of both.")
    frame = frame[frame["value"].notna()]
    keys = identity(frame, cells, text)
    groups = list(frame.groupby(keys, sort=False, dropna=False, observed=True)) if keys else [((), frame)]
    groups = [(key[: len(cells)], key[len(cells) :], part) for key, part in groups if len(part)]
    if weights is None:
        shares = [1 / len(groups) for _ in groups]
    else:
        parts = pd.Series([key for key, _, _ in groups], dtype=object).value_counts()
        shares = [weights.get(key, 0.0) / parts[key] for key, _, _ in groups]
    found = []
    for (key, rest, part), weight in zip(groups, shares, strict=True):
        if weight:
            corpus = rest or tuple(v for k, v in zip(cells, key, strict=True) if k == "dataset")
            found.append(_matrix(part, key, weight, training, text, corpus))
    return found


def _matrix(part, key, weight, training, text, corpus) -> Cell:
    rows = pd.factorize(part[training])[0] if training is not None else np.zeros(len(part), dtype=int)
    columns, names = pd.factorize(part[text]) if text is not None else (np.zeros(len(part), dtype=int), np.zeros(1))
    shape = rows.max() + 1, columns.max() + 1
    at = rows * shape[1] + columns
    if len(np.unique(at)) < len(at):
        raise DataError(
            f"Several values share a training and a text in the cell {key}; name what tells them apart in `cells`."
        )
    values = np.full(shape[0] * shape[1], np.nan)
    values[at] = part["value"].to_numpy(float)
    values = values.reshape(shape)
    points = np.nanmean(values, 1)
    if "point" in part:
        points[rows] = part["point"].to_numpy(float)
    return Cell(weight, values, points, np.asarray(names), corpus)


def estimated(parts: list[Cell], *, by_training: bool, by_text: bool, level: float) -> dict[str, Any]:
    """The fields of an `Effect`: the weighted sum of cell means, its interval, and the parts of its variance."""
    estimate = float(sum(cell.weight * cell.points.mean() for cell in parts))
    sizes = [cell.values.shape for cell in parts]
    counted = {
        "n": int(sum((~np.isnan(cell.values)).sum() for cell in parts)),
        "cells": len(parts),
        "trainings": sum(r for r, _ in sizes) if by_training else 0,
        "texts": _texts(parts) if by_text else 0,
    }
    lonely = by_training and sum(r > 1 for r, _ in sizes) < max(1, len(sizes) / 2)
    if lonely or (by_text and min(n for _, n in sizes) < 2):
        return {"estimate": estimate, **counted}
    texts = _text_terms(parts) if by_text else []
    trainings = _training_terms(parts) if by_training else []
    twice = _residual_variance(parts) if by_text and by_training else 0.0
    from_trainings, from_texts = sum(v for v, _ in trainings), sum(v for v, _ in texts)
    total = max(from_trainings + from_texts - twice, from_trainings, from_texts)
    variances = {"from_trainings": max(from_trainings - twice, 0.0), "from_texts": max(from_texts - twice, 0.0)}
    variances["from_both"] = twice
    largest = max(float(np.nanmax(np.abs(cell.values))) for cell in parts)
    if total <= (ROUNDING * largest) ** 2:  # equal values
        return {"estimate": estimate, "se": 0.0, **counted, **variances}
    se, freedom, reach = _margin([*_together(trainings), *texts], total, level)
    stretch = reach / (se * quantile((1 + level) / 2, freedom))
    p = two_sided(estimate / (se * stretch), freedom)
    bounds = {"low": estimate - reach, "high": estimate + reach}
    return {"estimate": estimate, **bounds, "se": se, "df": freedom, "p": p, **counted, **variances}


def _texts(parts: list[Cell]) -> int:
    """How many texts there are, each counted once, however many cells of its dataset read it."""
    read: dict[Hashable, list[np.ndarray]] = {}
    for cell in parts:
        read.setdefault(cell.corpus, []).append(cell.texts)
    return sum(len(pd.unique(np.concatenate(own))) for own in read.values())


def quantile(q: float, freedom: float) -> float:
    """Student's t distribution: below what number a share q of it lies."""
    return float(special.stdtrit(freedom, q))


def two_sided(t: float, freedom: float) -> float:
    """The share of Student's t distribution at least as far from zero as t."""
    return float(2 * special.stdtr(freedom, -abs(t)))


def _margin(terms: list[tuple[float, float]], total: float, level: float) -> tuple[float, float, float]:
    """Standard error, Satterthwaite's degrees of freedom, and half the width of the interval.

    That is the mean of his margin, too narrow with two or three trainings (coverage 0.87 to 0.93), and of the root
    of the summed squares of each part's own, too wide (0.98).
    """
    tail = (1 + level) / 2
    freedom = max(1.0, total**2 / sum(v**2 / df for v, df in terms if v > 0))
    apart = sum(quantile(tail, df) ** 2 * v for v, df in terms) * min(1.0, total / sum(v for v, _ in terms))
    joint = quantile(tail, freedom) * math.sqrt(total)
    return math.sqrt(total), float(freedom), float(joint + math.sqrt(apart)) / 2


def _together(terms: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """The variances of the cells as one, with Welch's (1947) degrees of freedom."""
    own = [(v, df) for v, df in terms if df]
    if not sum(v for v, _ in own):
        return []
    freedom = sum(v for v, _ in own) ** 2 / sum(v**2 / (df + 2) for v, df in own) - 2
    freedom = float(np.clip(freedom, min(df for _, df in own), sum(df for _, df in own)))
    return [(sum(v for v, _ in terms), freedom)]


def _training_terms(parts: list[Cell]) -> list[tuple[float, float]]:
    """(w² s² / R, degrees of freedom) of every cell; one training has none of its own and borrows s²."""
    spreads = [float(cell.points.var(ddof=1)) for cell in parts if len(cell.points) > 1]
    lent = float(np.mean(spreads))
    found = []
    for cell in parts:
        r = len(cell.points)
        spread = float(cell.points.var(ddof=1)) if r > 1 else lent
        found.append((cell.weight**2 * spread / r, r - 1))
    return found


def _text_terms(parts: list[Cell]) -> list[tuple[float, float]]:
    """(sum of squares of what the texts of a dataset add, degrees of freedom), one pair per dataset."""
    added: dict[Hashable, list[tuple[np.ndarray, np.ndarray]]] = {}
    for cell in parts:
        y = cell.values  # a training may lack texts: each of its texts weighs one over its own number of them
        own = (y - np.nanmean(y, 1, keepdims=True)) / (~np.isnan(y)).sum(1, keepdims=True)
        g = cell.weight * np.nansum(own, 0) / len(y)
        added.setdefault(cell.corpus, []).append((cell.texts, g))
    found = []
    for own in added.values():
        texts, g = (np.concatenate(side) for side in zip(*own, strict=True))
        g = np.bincount(pd.factorize(texts)[0], g)
        found.append((float(len(g) / (len(g) - 1) * (g**2).sum()), len(g) - 1))
    return found


def _residual_variance(parts: list[Cell]) -> float:
    """The sum of w² e² / (R N): text × training, which is in both other terms."""
    found = 0.0
    for cell in parts:
        y = cell.values
        rest = y - np.nanmean(y, 1, keepdims=True) - np.nanmean(y, 0, keepdims=True) + np.nanmean(y)
        freedom = (y.shape[0] - 1) * (y.shape[1] - 1)
        found += cell.weight**2 * float(np.nansum(rest**2)) / freedom / y.size if freedom else 0.0
    return found
