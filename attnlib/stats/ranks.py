"""Orders of scores, and how well two orders agree."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnlib.utils.errors import DataError


def kendall_tau(x: ArrayLike, y: ArrayLike) -> float:
    """Kendall's tau-b (ties corrected), by SciPy. NaN where either side is constant or shorter than two.

    >>> al.stats.kendall_tau([0.1, 0.2, 0.7], [1, 2, 3]), al.stats.kendall_tau([0.1, 0.2, 0.7], [3, 2, 1])
    (1.0, -1.0)
    """
    x, y = _vectors(x, y)
    if len(x) < 2 or (x == x[0]).all() or (y == y[0]).all():
        return float("nan")
    from scipy.stats import kendalltau  # here, since it takes half a second to import

    return float(kendalltau(x, y).statistic)


def weighted_kendall(x: ArrayLike, y: ArrayLike, weights: ArrayLike) -> float:
    r"""Shieh's weighted tau with product weights (Wen et al. 2022, section 3.2).

    .. math:: \tau_w = \frac{\sum_{i<j} w_i w_j\,\mathrm{sgn}(x_i - x_j)\,\mathrm{sgn}(y_i - y_j)}
                            {\sum_{i<j} w_i w_j}

    Ties count zero in the numerator and fully in the denominator; NaN where no pair has weight. The weights of
    `scipy.stats.weightedtau` are others: additive and hyperbolic in the rank.

    >>> al.stats.weighted_kendall([3, 2, 1], [3, 1, 2], weights=[2, 1, 1])
    0.6
    """
    x, y = _vectors(x, y)
    w = np.asarray(weights, dtype=float)
    if w.shape != x.shape or not np.isfinite(w).all() or (w < 0).any():
        raise DataError(f"weighted_kendall needs one finite weight for each of {len(x)} values, none negative.")
    upper = np.triu_indices(len(x), 1)
    pair = np.outer(w, w)[upper]
    if not pair.sum() > 0:
        return float("nan")
    agree = (np.sign(x[:, None] - x) * np.sign(y[:, None] - y))[upper]
    return float((pair * agree).sum() / pair.sum())


def descending(scores: ArrayLike) -> np.ndarray:
    """Positions from the highest score to the lowest; equal scores keep the order of the text.

    >>> al.stats.descending([0.2, 0.5, 0.2, 0.1]).tolist()
    [1, 0, 2, 3]
    """
    return np.argsort(-np.asarray(scores, dtype=float), kind="stable")


def _vectors(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    if x.ndim != 1 or x.shape != y.shape:
        raise DataError(f"A rank correlation needs two sequences of one length; got {x.shape} and {y.shape}.")
    if np.isnan(x).any() or np.isnan(y).any():
        raise DataError("A rank correlation cannot rank NaN; drop those pairs first and say how many.")
    return x, y
