"""Orders of removal, from scores, with a named error for every score that cannot rank; and first flips along them.

A decision can flip and flip back as more is removed, so bisection would find some flip but not the first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnlib.data.checks import floats
from attnlib.utils.errors import DataError, said

if TYPE_CHECKING:
    from attnlib.engine.rows import Rows


def descending(scores: Tensor, units: Tensor) -> Tensor:
    """(B, T) positions from the highest score to the lowest, no units last; equal ones in the text's order."""
    first = torch.argsort(scores.double(), dim=1, descending=True, stable=True)
    idle = (~units).gather(1, first)
    second = torch.argsort(idle.to(torch.uint8), dim=1, stable=True)
    return first.gather(1, second)


def inverse(order: Tensor) -> Tensor:
    """(B, T) rank of every position, counted from zero."""
    position = torch.arange(order.shape[1], device=order.device).expand_as(order)
    return torch.empty_like(order).scatter_(1, order, position)


def problem(scores: np.ndarray, length: int) -> str:
    """Why `scores` cannot rank a text of `length` units; empty where they can."""
    if scores.ndim != 1:
        return f"scores of shape {scores.shape}; one number per token is needed"
    if len(scores) != length:
        kind = "an empty ranking" if len(scores) == 0 else f"{len(scores)} scores"
        return f"{kind} for {length} tokens"
    if np.isnan(scores).any():
        return f"NaN at token {int(np.flatnonzero(np.isnan(scores))[0])}"
    return ""


def checked(ranking: Sequence, ids: Sequence[str]) -> list[np.ndarray]:
    """The ranking as one float array per text; a ranking for another number of texts is refused."""
    if isinstance(ranking, Mapping) or not isinstance(ranking, Iterable):
        todo = " Give the scores it returns, or register it as a method and give its name." * callable(ranking)
        raise DataError(
            f"A ranking is the name of a method or one array of scores per text; got {said(ranking):.60}.{todo}"
        )
    arrays = [floats(scores, f"text {i} (from 0)") for i, scores in enumerate(ranking)]
    if len(arrays) != len(ids):
        raise DataError(
            f"The ranking has {len(arrays)} arrays for {len(ids)} texts. Give one per text, with a score per token."
        )
    return arrays


def padded(arrays: Sequence[np.ndarray], units: Tensor, rows: Sequence[int]) -> Tensor:
    """Scores (B, T) at the unit positions of a batch of these texts; arrays that cannot rank are named."""
    for array, n, row in zip(arrays, units.sum(1).tolist(), rows, strict=True):
        if why := problem(array, n):
            raise DataError(f"The ranking of text {row} (from 0) does not fit: {why}. Give one number per unit.")
    scores = torch.zeros(units.shape, dtype=torch.float64, device=units.device)
    scores[units] = torch.as_tensor(np.concatenate(arrays)).to(units.device)
    return scores


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
        stop = min(start + eraser.block(start), int(lengths[active].max()))
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


def table(eraser: Rows, order: Tensor) -> Tensor:
    """(B, T + 1, C) float64: logits with k = 0, 1, …, T positions removed."""
    texts = torch.arange(order.shape[0], device=order.device)
    whole = eraser.trace.logits.double().unsqueeze(1)
    longest = max(1, int(eraser.lengths.max()))
    logits = torch.cat([whole, eraser.prefixes(texts, order, 0, longest)], 1)
    rest = logits[:, -1:].expand(-1, order.shape[1] - longest, -1)
    return torch.cat([logits, rest], 1)
