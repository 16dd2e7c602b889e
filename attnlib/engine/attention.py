r"""Erasure of attention weights, in closed form (Serrano & Smith 2019, sections 4 and 5).

With a linear decoder, logits are :math:`b + \sum_i \alpha_i s_i v_i`. Zeroing the weights of a set R and
renormalising the others gives

.. math:: z_{-R} = b + \frac{\sum_{i \notin R} \alpha_i s_i v_i}{\sum_{i \notin R} \alpha_i}

so all prefixes of a ranking are one sort and two reverse cumulative sums, and all single removals two exclusive
cumulative sums. Both add the remaining terms instead of subtracting the removed ones, so nothing cancels when a
removed weight is close to one. Sums are in float64, and the weights of a softmax are worked out from its scores:
where a score lies far below the best, its float32 weight is zero, yet once the best is gone it decides. Where
float64 cannot hold a weight either, the softmax is taken again of the remaining scores.

For a sparse projection, renormalising is not what the model would do: without i, its threshold moves. Leaving a
state out (`rankings.scores`) and input erasure therefore `reproject`: the model's own projection of the remaining
scores (Meister et al. 2021). For softmax both agree. Erasure of weights renormalises: once the support is gone the
context is the zero vector, and the logits the decoder's answer to it. `emptied` marks these cases.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.engine.orders import inverse
from attnlib.models.trace import Trace

CELLS = 4_000_000
"""Numbers a temporary may hold before the work is cut into chunks."""
VANISHED = 1e-290
"""Weights below this are too close to the end of float64 to be divided by."""


def prefix_logits(trace: Trace, order: Tensor, *, reproject: bool = False) -> Tensor:
    """Logits after removing the first k positions of a ranking, for every k at once.

    order (B, T): a permutation of positions, the ranked attended ones first. Returns (B, T + 1, C) float64; entry k
    has k positions removed, and entries from the text's length on have none left.
    """
    if _projected_again(trace, reproject):
        rank = inverse(order).unsqueeze(1)
        return _reprojected(trace, lambda steps: rank < steps, order.shape[1] + 1)
    return _renormalised(trace, lambda x: from_the_end(x.gather(-1, order.expand_as(x)), -1))


def single_logits(trace: Trace, *, reproject: bool = False) -> Tensor:
    """(B, T, C) float64: logits without position i alone, for every i at once; the whole text's where masked."""
    if _projected_again(trace, reproject):
        position = torch.arange(trace.mask.shape[1], device=trace.mask.device)
        return _reprojected(trace, lambda steps: position == steps, len(position))
    return _renormalised(trace, _others)


def emptied(trace: Trace, order: Tensor) -> Tensor:
    """(B, T + 1) bool: whether no weight is left once the first k positions of a ranking are removed."""
    return from_the_end(_attendable(trace).gather(1, order), -1) == 0


def emptied_by_one(trace: Trace) -> Tensor:
    """(B, T) bool: whether no weight is left once position i alone is removed."""
    return _others(_attendable(trace)) == 0


def _attendable(trace: Trace) -> Tensor:
    """(B, T) float64: positive where a position can have weight once others are removed."""
    return trace.mask.double() if trace.exponential else trace.alpha.double()


def weights(trace: Trace) -> Tensor:
    """(B, T) float64 weights that removal renormalises: of a softmax from its scores, of others as they are."""
    return trace.project(trace.scores.double(), trace.mask) if trace.exponential else trace.alpha.double()


def empty_logits(trace: Trace) -> Tensor:
    """(B, C) float64: the decoder's answer to the zero context vector, which represents an empty text."""
    return trace.decode(torch.zeros_like(trace.context)).double()


def decode(trace: Trace, context: Tensor) -> Tensor:
    """Logits of contexts (B, K, H), in float64; cut into pieces along K where the contexts are many."""
    step = max(1, CELLS // max(1, context.shape[0] * context.shape[-1]))
    dtype = trace.context.dtype
    if trace.linear:
        return context.double() @ trace.weight.double().T + trace.bias.double()
    return torch.cat([trace.decode(piece.to(dtype)).double() for piece in context.split(step, 1)], 1)


def attend(trace: Trace, kept: Tensor) -> Tensor:
    """Logits (B, K, C) float64, the projection applied again to the scores of `kept` (B, K, T) positions."""
    scores = trace.scores.double().unsqueeze(1).expand(kept.shape)
    alpha = trace.project(scores, kept).double()
    if trace.scale is not None:
        alpha = alpha * trace.scale.double().unsqueeze(1)
    if trace.linear:
        return alpha @ trace.token_logits.double() + trace.bias.double()
    return decode(trace, alpha @ trace.hidden.double())


def without(trace: Trace, text: int, gone: Tensor) -> Tensor:
    """Logits (N, C) float64 of one text without sets of positions (N, T), as in `prefix_logits`."""
    if trace.exponential:
        kept = trace.mask[text] & ~gone
        alpha = trace.project(trace.scores[text].double().expand(kept.shape), kept)
    else:
        alpha = trace.alpha[text].double().masked_fill(gone, 0.0)
        alpha = alpha / divisor(alpha.sum(1, keepdim=True))
    scaled = alpha if trace.scale is None else alpha * trace.scale[text].double()
    context = trace.context.double().new_zeros(len(trace.alpha), len(gone), trace.hidden.shape[-1])
    context[text] = scaled @ trace.hidden[text].double()
    return decode(trace, context)[text]


def _projected_again(trace: Trace, reproject: bool) -> bool:
    """Whether the projection is applied to what remains. For a softmax only where sums of weights would not do."""
    if trace.exponential:
        return bool((weights(trace)[trace.mask] < VANISHED).any())
    return reproject


def _renormalised(trace: Trace, remaining: Callable[[Tensor], Tensor]) -> Tensor:
    """Logits (B, K, C), the sums that `remaining` takes over (..., B, T) -> (..., B, K) divided by their weight."""
    alpha = weights(trace)
    scaled = alpha if trace.scale is None else alpha * trace.scale.double()
    values = (trace.token_logits if trace.linear else trace.hidden).permute(2, 0, 1)
    # Classes first: sums then run along memory, several times faster than with a handful of classes innermost.
    values = values.to(torch.float64, memory_format=torch.contiguous_format)
    total = remaining(values * scaled) / divisor(remaining(alpha))
    if trace.linear:
        return (total + trace.bias.double().reshape(-1, 1, 1)).permute(1, 2, 0).contiguous()
    return decode(trace, total.permute(1, 2, 0))


def _reprojected(trace: Trace, gone: Callable[[Tensor], Tensor], variants: int) -> Tensor:
    """Logits (B, K, C) of K variants, the projection applied again; `gone` maps numbers (k, 1) to (·, k, T)."""
    step = max(1, CELLS // trace.mask.numel())
    numbers = torch.arange(variants, device=trace.mask.device).unsqueeze(1)
    return torch.cat([attend(trace, trace.mask.unsqueeze(1) & ~gone(some)) for some in numbers.split(step)], 1)


def from_the_end(x: Tensor, dim: int) -> Tensor:
    """Along `dim`, T -> T + 1: entry k sums positions k and later; the last is zero."""
    total = x.flip(dim).cumsum(dim).flip(dim)
    return torch.cat([total, torch.zeros_like(x.narrow(dim, 0, 1))], dim)


def _others(x: Tensor) -> Tensor:
    """(..., T): entry i sums all positions but i, by two exclusive cumulative sums."""
    zero = torch.zeros_like(x[..., :1])
    before = torch.cat([zero, x[..., :-1].cumsum(-1)], -1)
    after = torch.cat([x[..., 1:].flip(-1).cumsum(-1).flip(-1), zero], -1)
    return before + after


def divisor(left: Tensor) -> Tensor:
    """The remaining mass; one where none is left, since the sum it divides is zero there."""
    return torch.where(left > 0, left, 1.0)
