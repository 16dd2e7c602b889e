r"""Erasure of attention weights, in closed form (Serrano & Smith 2019, sections 4 and 5).

With a linear decoder, logits are :math:`b + \sum_i \alpha_i s_i v_i`. Zeroing the weights of a set R and
renormalising the others gives

.. math:: z_{-R} = b + \frac{\sum_{i \notin R} \alpha_i s_i v_i}{\sum_{i \notin R} \alpha_i}

so all prefixes of a ranking are one sort and two reverse cumulative sums, and all single removals two exclusive
cumulative sums. Both add the remaining terms instead of subtracting the removed ones, hence nothing cancels when a
removed weight is close to one. Sums are in float64, and the weights of a softmax are worked out from its scores:
where a score lies far below the best, its float32 weight is zero, yet once the best is gone it decides. Where
float64 cannot hold a weight either, the softmax is taken again of the remaining scores.

For a sparse projection, renormalising is not what the model would do: without i, its threshold moves. `reproject`
applies the model's own projection to the remaining scores (Meister et al. 2021). For softmax both agree. Without
it, positions outside the support have no weight to renormalise: once the support is gone the context is the zero
vector, and the logits are the decoder's answer to it (the bias of a linear one). `emptied` tells where this is so.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.models.trace import Trace

CELLS = 4_000_000
"""Numbers a temporary may hold before the work is cut into chunks."""
VANISHED = 1e-290
"""Weights below this are too close to the end of float64 to be divided by."""


def prefix_logits(trace: Trace, order: Tensor, *, reproject: bool | None = False) -> Tensor:
    """Logits after removing the first k positions of a ranking, for every k at once.

    order (B, T): a permutation of positions, the ranked attended ones first. Returns (B, T + 1, C) float64; entry k
    has k positions removed, and entries from the text's length on have none left.
    """
    alpha = weights(trace)
    if _projected_again(trace, alpha, reproject):
        return _prefix_reprojected(trace, order)
    left = from_the_end(alpha.gather(1, order), -1)
    if trace.linear:
        # Classes first: sums then run along memory, several times faster than with a handful of classes innermost.
        part = _class_first(trace) * _scaled(trace, alpha)
        total = from_the_end(part.gather(2, order.expand(len(part), -1, -1)), -1)
        return (total / divisor(left) + trace.bias.double().reshape(-1, 1, 1)).permute(1, 2, 0).contiguous()
    part = trace.hidden.double() * _scaled(trace, alpha).unsqueeze(-1)
    total = from_the_end(part.gather(1, order.unsqueeze(-1).expand_as(part)), 1)
    return decode(trace, total / divisor(left).unsqueeze(-1))


def single_logits(trace: Trace, *, reproject: bool | None = False) -> Tensor:
    """Logits after removing position i alone, for every i at once: (B, T, C) float64.

    Entries of positions that are not attended equal the logits of the whole text.
    """
    alpha = weights(trace)
    if _projected_again(trace, alpha, reproject):
        return _single_reprojected(trace)
    left = divisor(_others(alpha, -1))
    if trace.linear:
        total = _others(_class_first(trace) * _scaled(trace, alpha), -1)
        return (total / left + trace.bias.double().reshape(-1, 1, 1)).permute(1, 2, 0).contiguous()
    total = _others(trace.hidden.double() * _scaled(trace, alpha).unsqueeze(-1), 1)
    return decode(trace, total / left.unsqueeze(-1))


def emptied(trace: Trace, order: Tensor, *, reproject: bool | None = False) -> Tensor:
    """(B, T + 1) bool: whether nothing is left to attend once the first k positions of a ranking are removed.

    Without `reproject` that is so as soon as the support of a sparse projection is gone, whatever else remains.
    """
    return from_the_end(_attendable(trace, reproject).gather(1, order), -1) == 0


def emptied_by_one(trace: Trace, *, reproject: bool | None = False) -> Tensor:
    """(B, T) bool: whether nothing is left to attend once position i alone is removed."""
    return _others(_attendable(trace, reproject), -1) == 0


def _attendable(trace: Trace, reproject: bool) -> Tensor:
    """(B, T) float64: more than zero where a position can have weight once others are gone."""
    return trace.mask.double() if reproject or trace.exponential else trace.alpha.double()


def weights(trace: Trace) -> Tensor:
    """(B, T) float64 weights that removal renormalises: of a softmax from its scores, of others as they are."""
    return trace.project(trace.scores.double(), trace.mask) if trace.exponential else trace.alpha.double()


def empty_logits(trace: Trace) -> Tensor:
    """(B, C) float64: the decoder's answer to the zero context vector, which stands for nothing left."""
    return trace.decode(torch.zeros_like(trace.context)).double()


def decode(trace: Trace, context: Tensor) -> Tensor:
    """Logits of contexts (B, K, H), in float64; cut into pieces along K where the contexts are many."""
    step = max(1, CELLS // max(1, context.shape[0] * context.shape[-1]))
    dtype = trace.context.dtype
    if trace.linear:
        return context.double() @ trace.weight.double().T + trace.bias.double()
    return torch.cat([trace.decode(piece.to(dtype)).double() for piece in context.split(step, 1)], 1)


def attend(trace: Trace, kept: Tensor) -> Tensor:
    """Logits with the projection applied again to the scores of `kept` positions.

    kept (B, K, T) bool: K sets of remaining positions a text. Returns (B, K, C) float64.
    """
    scores = trace.scores.double().unsqueeze(1).expand(kept.shape)
    alpha = trace.project(scores, kept).double()
    if trace.scale is not None:
        alpha = alpha * trace.scale.double().unsqueeze(1)
    if trace.linear:
        return alpha @ trace.token_logits.double() + trace.bias.double()
    return decode(trace, alpha @ trace.hidden.double())


def _projected_again(trace: Trace, alpha: Tensor, reproject: bool) -> bool:
    """Whether the projection is applied to what remains. For a softmax only where sums of weights would not do."""
    if trace.exponential:
        return bool((alpha[trace.mask] < VANISHED).any())
    return reproject


def _scaled(trace: Trace, alpha: Tensor) -> Tensor:
    return alpha if trace.scale is None else alpha * trace.scale.double()


def _prefix_reprojected(trace: Trace, order: Tensor) -> Tensor:
    batch, width = order.shape
    rank = torch.empty_like(order).scatter_(1, order, torch.arange(width, device=order.device).expand_as(order))
    step = max(1, CELLS // (batch * width))
    pieces = []
    for steps in torch.arange(width + 1, device=order.device).split(step):
        kept = trace.mask.unsqueeze(1) & (rank.unsqueeze(1) >= steps.reshape(1, -1, 1))
        pieces.append(attend(trace, kept))
    return torch.cat(pieces, 1)


def _single_reprojected(trace: Trace) -> Tensor:
    batch, width = trace.mask.shape
    position = torch.arange(width, device=trace.mask.device)
    step = max(1, CELLS // (batch * width))
    pieces = []
    for removed in position.split(step):
        kept = trace.mask.unsqueeze(1) & (position.reshape(1, 1, -1) != removed.reshape(1, -1, 1))
        pieces.append(attend(trace, kept))
    return torch.cat(pieces, 1)


def _class_first(trace: Trace) -> Tensor:
    """(C, B, T) float64: token logits v_i = W h_i."""
    hidden = trace.hidden
    return (trace.weight @ hidden.reshape(-1, hidden.shape[-1]).T).view(-1, *hidden.shape[:2]).double()


def from_the_end(x: Tensor, dim: int) -> Tensor:
    """Along `dim`, T -> T + 1: entry k sums positions k and later; the last is zero."""
    total = x.flip(dim).cumsum(dim).flip(dim)
    return torch.cat([total, torch.zeros_like(x.narrow(dim, 0, 1))], dim)


def _others(x: Tensor, dim: int) -> Tensor:
    """Along `dim`: entry i sums all positions but i, by two exclusive cumulative sums."""
    length = x.shape[dim]
    zero = torch.zeros_like(x.narrow(dim, 0, 1))
    before = torch.cat([zero, x.narrow(dim, 0, length - 1).cumsum(dim)], dim)
    after = torch.cat([x.narrow(dim, 1, length - 1).flip(dim).cumsum(dim).flip(dim), zero], dim)
    return before + after


def divisor(left: Tensor) -> Tensor:
    """The remaining mass; one where none is left, since the sum it divides is zero there."""
    return torch.where(left > 0, left, 1.0)
