r"""Divergences and entropies of distributions.

For reports, NumPy on the last axis; torch tensors are accepted where they convert. Logarithms are natural
(nats). Distributions may hold exact zeros, as padding and sparse projections do, and must sum to one; a row of
zeros is no distribution, and every measure of it is NaN.

For losses, `torch_kl`, `torch_jsd` and `torch_tvd`: differentiable, finite under masks and exact zeros, unchecked.
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
UNIT_SUM = 1e-3
"""How far the sum of a distribution may be from one: the rounding of long texts in single precision, not more."""
FLOOR = 1e-12
"""Smaller probabilities are raised to this inside the logarithms of a loss, where a zero base is infinitely far."""


def kl(p: ArrayLike, q: ArrayLike, *, floor: float = 0.0) -> np.ndarray:
    r"""Kullback-Leibler divergence :math:`\sum_i p_i \ln(p_i / q_i)` over the last axis, in nats.

    Positions where both are zero (padding) add nothing. Where q is zero and p is not, the divergence is infinite;
    `floor` lifts q to at least that value where p is positive (1e-12 for sparse bases).

    >>> al.stats.kl([0.5, 0.5], [0.25, 0.75]).round(3)
    np.float64(0.144)
    """
    p, q = _pair(p, q)
    if floor:
        q = np.where(p > 0, np.maximum(q, floor), q)
    return _where_defined(special.rel_entr(p, q).sum(-1), p, q)


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


def entropy(p: ArrayLike) -> np.ndarray:
    r"""Shannon entropy :math:`-\sum_i p_i \ln p_i` over the last axis, in nats.

    >>> float(al.stats.entropy([0.5, 0.5, 0.0])) == al.stats.LN2
    True
    """
    p = _distribution(p, "p")
    return _where_defined(special.entr(p).sum(-1), p)


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
        if mask.shape != p.shape:
            raise DataError(
                f"normalized_entropy: the mask is {mask.shape}, p is {p.shape}. Give one mark a position."
            )
        p, n = np.where(mask, p, 0.0), mask.sum(-1)
    p = _distribution(p, "p")
    with np.errstate(divide="ignore", invalid="ignore"):
        value = special.entr(p).sum(-1) / np.log(n)
    return _where_defined(np.where(n > 1, np.clip(value, 0.0, 1.0), np.nan), p)


def torch_tvd(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\frac12 \sum_c |p_c - q_c|` over the last dimension; |Δp| for two classes."""
    return (p - q).abs().sum(-1) / 2


def torch_kl(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\sum_i p_i (\ln p_i - \ln q_i)` over the last dimension, both floored inside the logarithms.

    Padding, zero on both sides, adds nothing to the value and nothing to the gradient.
    """
    return (p * (p.clamp_min(FLOOR).log() - q.clamp_min(FLOOR).log())).sum(-1)


def torch_jsd(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\frac12 KL(p \| m) + \frac12 KL(q \| m)` with :math:`m = \frac12 (p + q)`; at most ln 2."""
    middle = (p + q) / 2
    return (torch_kl(p, middle) + torch_kl(q, middle)) / 2


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "jsd": torch_jsd,
    "kl_adv_base": torch_kl,
    "kl_base_adv": lambda adversary, base: torch_kl(base, adversary),
}
"""Attention of an adversary and of its base to their distance: the three that the papers write."""


def _distribution(p: ArrayLike, name: str) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise DataError(f"{name} must hold at least one probability; got shape {p.shape}.")
    if not (p >= 0).all():
        raise DataError(f"{name} holds a negative or missing probability; give distributions over the last axis.")
    total = np.atleast_1d(p.sum(-1))
    off = (total > 0) & ~(np.abs(total - 1) <= UNIT_SUM)
    if off.any():
        raise DataError(
            f"{name} sums to {total[off].flat[0]:.4g} over its last axis; a distribution sums to one. Divide "
            "scores by their sum first, and give all classes of an output."
        )
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
