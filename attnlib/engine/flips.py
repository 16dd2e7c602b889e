"""First flips: in growing blocks, each text leaving at its first flip.

A decision can flip and flip back as more is removed, so bisection would find some flip but not the first.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor

from attnlib.engine.orders import inverse
from attnlib.engine.rows import Rows


class Flips(NamedTuple):
    """removed (B,): positions removed at the first flip, 0 where it never comes; after (B,): the class then."""

    removed: Tensor
    after: Tensor


def from_table(logits: Tensor, prediction: Tensor, lengths: Tensor) -> Flips:
    """First flips read off logits (B, T + 1, C) with k = 0, 1, … positions removed."""
    step = torch.arange(logits.shape[1], device=logits.device)
    answers = logits.argmax(-1)
    changed = (answers != prediction.unsqueeze(1)) & (step >= 1) & (step <= lengths.unsqueeze(1))
    never = logits.shape[1]
    first = torch.where(changed, step, never).amin(1)
    first = torch.where(first < never, first, 0)
    after = torch.where(first > 0, answers.gather(1, first.unsqueeze(1)).squeeze(1), prediction)
    return Flips(first, after)


def first_flips(eraser: Rows, order: Tensor, prediction: Tensor, most: int | None = None) -> Flips:
    """First flips of every text of the eraser's batch along `order` (B, T), among the first `most` removals."""
    lengths = eraser.lengths if most is None else eraser.lengths.clamp_max(most)
    if eraser.whole:
        return from_table(table(eraser, order), prediction, lengths)
    removed, after = torch.zeros_like(lengths), prediction.clone()
    active = (lengths > 0).nonzero().squeeze(1)
    start = 0
    while len(active):
        stop = min(start + eraser.block(active, start), int(lengths[active].max()))
        logits = eraser.prefixes(active, order, start, stop)
        answers = logits.argmax(-1)
        real = torch.arange(start + 1, stop + 1, device=order.device) <= lengths[active].unsqueeze(1)
        changed = (answers != prediction[active].unsqueeze(1)) & real
        hit = changed.any(1)
        first = changed.to(torch.uint8).argmax(1)
        removed[active[hit]] = start + 1 + first[hit]
        after[active[hit]] = answers.gather(1, first.unsqueeze(1)).squeeze(1)[hit]
        active = active[~hit & (lengths[active] > stop)]
        start = stop
    return Flips(removed, after)


def coarse_flips(eraser: Rows, order: Tensor, prediction: Tensor, counts: Tensor) -> Flips:
    """First flips among some removals alone: `counts` (B, S), rising, units gone at each step.

    One pass per step over the texts that have not flipped, so that a text costs S passes at most, however long.
    """
    removed, after = torch.zeros_like(eraser.lengths), prediction.clone()
    rank, active = inverse(order), (eraser.lengths > 0).nonzero().squeeze(1)
    for count in counts.T:
        gone = partial(_gone, rank[active], count[active])
        answers = eraser.variants(active, gone).argmax(-1)
        hit = answers != prediction[active]
        removed[active[hit]], after[active[hit]] = count[active[hit]], answers[hit]
        active = active[~hit]
    return Flips(removed, after)


def _gone(rank: Tensor, count: Tensor, piece: slice) -> Tensor:
    return rank[piece] < count[piece].unsqueeze(1)


def table(eraser: Rows, order: Tensor) -> Tensor:
    """(B, T + 1, C) float64: logits with k = 0, 1, …, T positions removed."""
    texts = torch.arange(order.shape[0], device=order.device)
    whole = eraser.trace.logits.double().unsqueeze(1)
    longest = max(1, int(eraser.lengths.max()))
    logits = torch.cat([whole, eraser.prefixes(texts, order, 0, longest)], 1)
    rest = logits[:, -1:].expand(-1, order.shape[1] - longest, -1)
    return torch.cat([logits, rest], 1)
