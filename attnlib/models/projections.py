"""Projections: attention scores to weights on the simplex.

Every function takes `scores` (..., T) and a bool `mask` (..., T) or None, and returns (..., T): non-negative,
exactly zero where masked, summing to one over the rest. A row with nothing to attend is all zero, never NaN.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import Registry

PROJECTIONS: Registry[Callable[..., Tensor]] = Registry("projection")


@PROJECTIONS.register("softmax")
def softmax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r""":math:`\alpha_i = \exp a_i / \sum_k \exp a_k` over unmasked positions."""
    if mask is None:
        return scores.softmax(-1)
    # A finite floor: with -inf a row without tokens would be NaN, forward and backward.
    floor = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, floor).softmax(-1).masked_fill(~mask, 0.0)


@PROJECTIONS.register("sparsemax")
def sparsemax(scores: Tensor, mask: Tensor | None = None) -> Tensor:
    r"""Euclidean projection onto the simplex (Martins & Astudillo 2016).

    .. math:: \arg\min_{p \in \Delta} \|p - a\|^2, \qquad p_i = [a_i - \tau]_+

    The threshold is :math:`\tau = (\sum_{i \in S} a_i - 1) / |S|` over the support S. Plain tensor operations,
    so that it differentiates twice and runs under vmap.
    """
    shifted = _below_top(scores, mask, reach=1.0)
    ordered = shifted.detach().sort(-1, descending=True).values
    rank = torch.arange(1, ordered.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    size = (1 + rank * ordered > ordered.cumsum(-1)).sum(-1, keepdim=True)
    support = shifted.detach() >= ordered.gather(-1, size - 1)
    tau = (torch.where(support, shifted, 0.0).sum(-1, keepdim=True) - 1) / support.sum(-1, keepdim=True)
    return _masked((shifted - tau).clamp_min(0.0), mask)


@PROJECTIONS.register("sparsegen")
def sparsegen(scores: Tensor, mask: Tensor | None = None, lam: float = 0.0) -> Tensor:
    r"""Sparsegen-lin projection onto the simplex (Laha et al. 2018; Meister et al. 2021, eq. 3).

    .. math:: \arg\min_{p \in \Delta} \|p - a\|^2 - \lambda \|p\|^2 = \mathrm{sparsemax}(a / (1 - \lambda))

    lam < 1: zero is sparsemax, towards one a one-hot vector, towards minus infinity the uniform distribution.
    """
    if not lam < 1:
        raise ConfigError(f"sparsegen needs lam < 1 (its problem has no single solution beyond); got {lam}.")
    return sparsemax(scores / (1 - lam), mask)


@PROJECTIONS.register("entmax")
def entmax(scores: Tensor, mask: Tensor | None = None, alpha: float = 1.5) -> Tensor:
    r"""alpha-entmax (Peters et al. 2019): :math:`\arg\max_{p \in \Delta} p^\top a + H^T_\alpha(p)`.

    .. math:: p_i = [(\alpha - 1) a_i - \tau]_+^{1 / (\alpha - 1)}

    alpha = 1 is softmax, alpha = 2 sparsemax; 1.5 has an exact algorithm, the rest is found by bisection.
    """
    from entmax import entmax15, entmax_bisect

    if alpha < 1:
        raise ConfigError(f"entmax needs alpha >= 1; got {alpha}. One is softmax, two is sparsemax.")
    if alpha == 1:
        return softmax(scores, mask)
    if alpha == 2:
        return sparsemax(scores, mask)
    shifted = _below_top(scores, mask, reach=1 / (alpha - 1))
    if alpha == 1.5:
        return _masked(entmax15(shifted, dim=-1), mask)
    return _masked(entmax_bisect(shifted, alpha=alpha, dim=-1), mask)


@PROJECTIONS.register("gumbel")
def gumbel(scores: Tensor, mask: Tensor | None = None, tau: float = 0.8, noise: bool = False) -> Tensor:
    r"""Gumbel-softmax (Jang et al. 2017; Wen et al. 2022): :math:`\mathrm{softmax}((a + g) / \tau)`.

    g is standard Gumbel noise from torch's generator, or zero without `noise`.
    """
    if noise:
        scores = scores - torch.empty_like(scores).exponential_().log()
    return softmax(scores / tau, mask)


def _below_top(scores: Tensor, mask: Tensor | None, reach: float) -> Tensor:
    """Scores relative to the row's best, cut off where a sparse projection gives zero: huge ones stay exact."""
    floor = torch.finfo(scores.dtype).min
    known = scores if mask is None else scores.masked_fill(~mask, floor)
    shifted = (known - known.detach().amax(-1, keepdim=True)).clamp_min(-2 * reach)
    return shifted if mask is None else shifted.masked_fill(~mask, -2 * reach)


def _masked(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights.masked_fill(~mask, 0.0)


class Projection(nn.Module):
    """The projection of a config, with its options; noise (gumbel alone) follows `gumbel_noise` and the mode."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.name = config.projection
        self.noise = config.gumbel_noise if self.name == "gumbel" else "never"
        self.options: dict[str, float] = {
            "sparsegen": {"lam": config.sparsegen_lambda},
            "entmax": {"alpha": config.entmax_alpha},
            "gumbel": {"tau": config.gumbel_tau},
        }.get(self.name, {})

    def forward(self, scores: Tensor, mask: Tensor) -> Tensor:
        if scores.dtype in (torch.float16, torch.bfloat16):
            scores = scores.float()  # mixed precision: three digits are too few for weights that sum to one
        if self.noise == "always" or (self.noise == "train" and self.training):
            return gumbel(scores, mask, noise=True, **self.options)
        return self.exact(scores, mask)

    @property
    def exponential(self) -> bool:
        """Whether the weights are a softmax of the scores: then removing a position renormalises the others."""
        return PROJECTIONS[self.name] in (softmax, gumbel) and self.noise != "always"

    def exact(self, scores: Tensor, mask: Tensor | None = None) -> Tensor:
        """The projection without noise, whatever the mode: what erasure re-projects with."""
        return PROJECTIONS[self.name](scores, mask, **self.options)
