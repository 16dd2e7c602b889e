r"""Erasure of attention weights, in closed form (Serrano & Smith 2019, sections 4 and 5).

With a linear decoder, logits are :math:`b + \sum_i \alpha_i s_i v_i`. Zeroing the weights of a set R and
renormalising the others gives

.. math:: z_{-R} = b + \frac{\sum_{i \notin R} \alpha_i s_i v_i}{\sum_{i \notin R} \alpha_i}

so all prefixes of a ranking are one sort and two reverse cumulative sums, and all single removals two exclusive
cumulative sums. Both add the remaining terms instead of subtracting the removed ones, hence nothing cancels when a
removed weight is close to one. Sums are in float64. Where no weight is left the context is the zero vector and the
logits are the decoder's answer to it (the bias of a linear one).

For a sparse projection, renormalising is not what the model would do: without i, its threshold moves. `reproject`
applies the model's own projection to the remaining scores (Meister et al. 2021; FIDELITY A13). For softmax both
agree.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.models.trace import Trace

CELLS = 4_000_000
"""Numbers a temporary may hold before the work is cut into chunks."""


def prefix_logits(trace: Trace, order: Tensor, *, reproject: bool = False) -> Tensor:
    """Logits after removing the first k positions of a ranking, for every k at once.

    order (B, T): a permutation of positions, the ranked attended ones first. Returns (B, T + 1, C) float64; entry k
    has k positions removed, and entries from the text's length on have none left.
    """
    if reproject:
        return _prefix_reprojected(trace, order)
    alpha = trace.alpha.double().gather(1, order)
    left = from_the_end(alpha)
    if trace.linear:
        part = trace.token_logits.double() * trace.weights.double().unsqueeze(-1)
        total = from_the_end(part.gather(1, order.unsqueeze(-1).expand_as(part)))
        return total / divisor(left).unsqueeze(-1) + trace.bias.double()
    part = trace.hidden.double() * trace.weights.double().unsqueeze(-1)
    total = from_the_end(part.gather(1, order.unsqueeze(-1).expand_as(part)))
    return decode(trace, total / divisor(left).unsqueeze(-1))


def single_logits(trace: Trace, *, reproject: bool = False) -> Tensor:
    """Logits after removing position i alone, for every i at once: (B, T, C) float64.

    Entries of positions that are not attended equal the logits of the whole text.
    """
    if reproject:
        return _single_reprojected(trace)
    left = _others(trace.alpha.double())
    if trace.linear:
        total = _others(trace.token_logits.double() * trace.weights.double().unsqueeze(-1))
        return total / divisor(left).unsqueeze(-1) + trace.bias.double()
    total = _others(trace.hidden.double() * trace.weights.double().unsqueeze(-1))
    return decode(trace, total / divisor(left).unsqueeze(-1))


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


def from_the_end(x: Tensor) -> Tensor:
    """(B, T, ...) -> (B, T + 1, ...): entry k sums positions k and later; the last is zero."""
    total = x.flip(1).cumsum(1).flip(1)
    return torch.cat([total, torch.zeros_like(x[:, :1])], 1)


def _others(x: Tensor) -> Tensor:
    """(B, T, ...): entry i sums all positions but i, by two exclusive cumulative sums."""
    zero = torch.zeros_like(x[:, :1])
    before = torch.cat([zero, x[:, :-1].cumsum(1)], 1)
    after = torch.cat([x[:, 1:].flip(1).cumsum(1).flip(1), zero], 1)
    return before + after


def divisor(left: Tensor) -> Tensor:
    """The remaining mass; one where none is left, since the sum it divides is zero there."""
    return torch.where(left > 0, left, 1.0)
