r"""Divergences and entropies of distributions.

For reports, NumPy on the last axis, in nats. Distributions may hold exact zeros and must sum to one; a row of zeros
is none, and every measure of it NaN. For losses, `torch_kl`, `torch_jsd` and `torch_tvd`: differentiable, finite
under masks and exact zeros, unchecked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    from torch import Tensor

LN2 = float(np.log(2.0))
"""The largest Jensen-Shannon divergence, reached by disjoint supports."""
UNIT_SUM = 1e-3  # how far the sum of a distribution may be from one: rounding of long texts in single precision
FLOOR = 1e-12  # smaller probabilities are raised to this inside the logarithms of a loss


def jsd(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    r"""Jensen-Shannon divergence over the last axis, in nats: 0 for equal, ln 2 for disjoint distributions.

    .. math:: \tfrac12 KL(p \| m) + \tfrac12 KL(q \| m), \qquad m = \tfrac12 (p + q)

    >>> al.stats.jsd([[1.0, 0.0], [0.5, 0.5]], [[0.0, 1.0], [0.5, 0.5]]).round(3)
    array([0.693, 0.   ])
    """
    p, q = _pair(p, q)
    middle = (p + q) / 2
    value = (special.rel_entr(p, middle).sum(-1) + special.rel_entr(q, middle).sum(-1)) / 2
    return _where_defined(np.clip(value, 0.0, LN2), p, q)


def tvd(p: ArrayLike, q: ArrayLike) -> np.ndarray:
    r"""Total variation distance :math:`\tfrac12 \sum_c |p_c - q_c|` over the last axis, in [0, 1].

    Give both classes of a binary output: the value is then |Δp|, not half of it.

    >>> float(al.stats.tvd([0.75, 0.25], [0.5, 0.5]))
    0.25
    """
    p, q = _pair(p, q)
    return _where_defined(np.abs(p - q).sum(-1) / 2, p, q)


def normalized_entropy(p: ArrayLike, mask: ArrayLike | None = None) -> np.ndarray:
    r"""Entropy divided by its maximum, :math:`H(p) / \ln n` in [0, 1] (Meister et al. 2021, section 4).

    n counts the positions of the last axis, or those `mask` allows, where p must be one in all. One position leaves
    the ratio undefined: NaN.

    >>> al.stats.normalized_entropy([0.5, 0.5, 0.0, 0.0]).round(3), al.stats.normalized_entropy([0.25] * 4).round(3)
    (np.float64(0.5), np.float64(1.0))
    """
    p = np.asarray(p, dtype=float)
    if mask is None:
        n = np.full(p.shape[:-1], p.shape[-1] if p.ndim else 0)
    else:
        mask = np.asarray(mask, dtype=bool)
        p, n = np.where(mask, p, 0.0), mask.sum(-1)
    p = _distribution(p, "p")
    with np.errstate(divide="ignore", invalid="ignore"):
        value = special.entr(p).sum(-1) / np.log(n)
    return _where_defined(np.where(n > 1, np.clip(value, 0.0, 1.0), np.nan), p)


def torch_tvd(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\frac12 \sum_c |p_c - q_c|` over the last dimension; |Δp| for two classes."""
    return (p - q).abs().sum(-1) / 2


def torch_kl(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\sum_i p_i (\ln p_i - \ln q_i)` over the last dimension, both floored inside the logarithms."""
    return (p * (p.clamp_min(FLOOR).log() - q.clamp_min(FLOOR).log())).sum(-1)


def torch_jsd(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\frac12 KL(p \| m) + \frac12 KL(q \| m)` with :math:`m = \frac12 (p + q)`; at most ln 2."""
    middle = (p + q) / 2
    return (torch_kl(p, middle) + torch_kl(q, middle)) / 2


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "jsd": torch_jsd,
    "kl_adv_base": torch_kl,
}
"""Attention of an adversary and of its base to their distance."""


def _distribution(p: ArrayLike, name: str) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    if p.ndim == 0 or p.shape[-1] == 0 or not (p >= 0).all():
        raise DataError(f"{name} must hold probabilities over its last axis, none negative or missing.")
    total = np.atleast_1d(p.sum(-1))
    off = (total > 0) & ~(np.abs(total - 1) <= UNIT_SUM)
    if off.any():
        raise DataError(f"{name} sums to {total[off].flat[0]:.4g} over its last axis; a distribution sums to one.")
    return p


def _where_defined(value: ArrayLike, *distributions: np.ndarray) -> np.ndarray:
    """The value, NaN where one of the distributions is zero throughout."""
    there = np.all([p.sum(-1) > 0 for p in np.broadcast_arrays(*distributions)], axis=0)
    return np.where(there, value, np.nan)[()]


def _pair(p: ArrayLike, q: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    p, q = _distribution(p, "p"), _distribution(q, "q")
    if p.shape[-1] != q.shape[-1]:
        raise DataError(f"p has {p.shape[-1]} entries, q {q.shape[-1]}: they are not over the same outcomes.")
    return p, q
