"""Input erasure for any model: variants of a text as extra rows of a batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnlib.engine.attention import empty_logits
from attnlib.engine.operators import Operator
from attnlib.engine.orders import inverse
from attnlib.models.trace import Trace

if TYPE_CHECKING:
    from attnlib.data.batching import Batch

POSITIONS = 16_384
"""Positions (rows times length) of one forward pass: memory stays flat however long the texts are."""
FIRST_BLOCK = 4


class Rows:
    """Answers of a model to variants of the texts of a batch.

    Subclasses compute the same numbers in fewer steps. A variant is named by the text it comes from and the
    (content) positions removed from it.
    """

    whole = False
    """Whether all prefixes cost no more than the first: then flips are read off one table."""

    def __init__(self, model: nn.Module, batch: Batch, trace: Trace, operator: Operator) -> None:
        self.model = model
        self.batch = batch
        self.trace = trace
        self.operator = operator
        self.lengths = batch.content.sum(1)
        self.classes = trace.logits.shape[-1]

    @property
    def device(self) -> torch.device:
        return self.batch.ids.device

    def block(self, texts: Tensor, start: int) -> int:
        """How many removals to try at once on texts that have not flipped after `start`: as many as before, and 4.

        Blocks that double waste at most as many steps as a text needed.
        """
        return start + FIRST_BLOCK

    def empty(self) -> Tensor:
        """(B, C) logits with nothing left."""
        return empty_logits(self.trace)

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        """Logits of `texts` (R,) after removing the first start + 1, …, stop positions of their `order` (B, T).

        Returns (R, stop - start, C) float64. Entries beyond a text's length repeat that of its whole length.
        """
        steps = torch.arange(start + 1, stop + 1, device=self.device)
        # Beyond its length a text has nothing more to lose: those entries are not run again.
        real = steps.unsqueeze(0) <= self.lengths[texts].unsqueeze(1)
        row, column = real.nonzero(as_tuple=True)
        rank = inverse(order[texts])
        logits = self.variants(texts[row], lambda piece: rank[row[piece]] < steps[column[piece]].unsqueeze(1))
        out = logits.new_zeros(len(texts), len(steps), self.classes)
        out[row, column] = logits
        last = (self.lengths[texts] - start - 1).clamp(0, len(steps) - 1)
        beyond = out[torch.arange(len(texts), device=self.device), last].unsqueeze(1)
        return torch.where(real.unsqueeze(-1), out, beyond)

    def singles(self) -> Tensor:
        """Logits after removing position i alone: (B, T, C) float64; the whole text's where i is no content."""
        text, position = self.batch.content.nonzero(as_tuple=True)
        line = torch.arange(self.batch.ids.shape[1], device=self.device)
        logits = self.variants(text, lambda piece: line == position[piece].unsqueeze(1))
        out = self.trace.logits.double().unsqueeze(1).repeat(1, len(line), 1)
        out[text, position] = logits
        return out

    def variants(self, texts: Tensor, removed) -> Tensor:
        """Logits (V, C) float64 of V variants; `removed(piece)` gives the removed positions (v, T) of a slice."""
        pieces = [self.trace.logits.new_zeros(0, self.classes).double()]
        for piece in self._pieces(len(texts)):
            gone = removed(piece) & self.batch.content[texts[piece]]
            pieces.append(self.answers(texts[piece], gone))
        return torch.cat(pieces)

    def answers(self, texts: Tensor, removed: Tensor) -> Tensor:
        """Logits (v, C) float64 of the texts without the `removed` (v, T) positions, in one forward pass."""
        out = self.empty()[texts]
        left = torch.ones(len(texts), dtype=torch.bool, device=self.device)
        if not self.operator.stays:
            left = (self.batch.content[texts] & ~removed).any(1)
        if left.any():
            out[left] = self.run(texts[left], removed[left]).double()
        return out

    def run(self, texts: Tensor, removed: Tensor) -> Tensor:
        """Logits (v, C) of variants that have something left."""
        return self.model(self.operator(self.batch.select(texts), removed)).logits

    def _pieces(self, n: int) -> Iterator[slice]:
        step = max(1, POSITIONS // self.batch.ids.shape[1])
        for start in range(0, n, step):
            yield slice(start, start + step)


class Shared(Rows):
    """Base of erasers whose variants share work: many variants of many texts at a time.

    at_once  variants of one text whose numbers fit into memory together
    """

    at_once: int

    def texts_at_once(self, variants: int) -> int:
        """Texts that fit together with this many variants each."""
        raise NotImplementedError

    def nested(self, texts: Tensor, rank: Tensor, start: int, stop: int) -> Tensor:
        """Logits (R, K, C) of the variants that lost the first start + 1, …, stop of a ranking.

        rank (R, T): when each position goes, counted from 1; positions that never go hold a larger number.
        """
        raise NotImplementedError

    def separate(self, texts: Tensor, places: Tensor, real: Tensor) -> Tensor:
        """Logits (R, K, C) of the variants that lost one of the `places` (K,) each, where `real` (R, K)."""
        raise NotImplementedError

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        rank = (inverse(order) + 1).masked_fill(~self.batch.content, order.shape[1] + stop + 1)
        blocks = []
        for low in range(start, stop, self.at_once):
            high = min(stop, low + self.at_once)
            some = texts.split(self.texts_at_once(high - low))
            blocks.append(torch.cat([self.nested(part, rank[part], low, high) for part in some]))
        return torch.cat(blocks, 1)

    def singles(self) -> Tensor:
        texts, length = self.batch.ids.shape
        out = self.trace.logits.double().unsqueeze(1).repeat(1, length, 1)
        for some in torch.arange(texts, device=self.device).split(self.texts_at_once(length)):
            for places in torch.arange(self.longest(some), device=self.device).split(self.at_once):
                real = self.batch.content[some][:, places]
                row, column = real.nonzero(as_tuple=True)
                out[some[row], places[column]] = self.separate(some, places, real)[row, column]
        return out

    def longest(self, texts: Tensor) -> int:
        """Positions of the longest of the texts."""
        return max(1, int(self.batch.lengths[texts].max()))
