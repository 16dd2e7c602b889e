"""TVD, KL and JSD of torch distributions: differentiable, and finite under masks and exact zeros.

`attnlib.stats` has the same measures for reporting, in NumPy, without the floor and with a check that both sides
sum to one, for which a training step has no time; a test compares the two.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

FLOOR = 1e-12
"""Smaller probabilities are raised to this inside a logarithm: where a sparse base is zero, KL is infinite."""


def tvd(p: Tensor, q: Tensor) -> Tensor:
    r""":math:`\frac12 \sum_c |p_c - q_c|` over the last dimension; |Δp| for two classes."""
    return (p - q).abs().sum(-1) / 2


def kl(p: Tensor, q: Tensor, floor: float = FLOOR) -> Tensor:
    r""":math:`\sum_i p_i (\ln p_i - \ln q_i)` over the last dimension, both floored inside the logarithms.

    Padding, zero on both sides, adds nothing to the value and nothing to the gradient.
    """
    return (p * (p.clamp_min(floor).log() - q.clamp_min(floor).log())).sum(-1)


def jsd(p: Tensor, q: Tensor, floor: float = FLOOR) -> Tensor:
    r""":math:`\frac12 KL(p \| m) + \frac12 KL(q \| m)` with :math:`m = \frac12 (p + q)`; at most ln 2."""
    middle = (p + q) / 2
    return (kl(p, middle, floor) + kl(q, middle, floor)) / 2


DIVERGENCES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "jsd": jsd,
    "kl_adv_base": kl,
    "kl_base_adv": lambda adversary, base: kl(base, adversary),
}
"""Attention of an adversary and of its base to their distance: the three that the papers write."""
