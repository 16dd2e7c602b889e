"""Input erasure for any model: variants of a text as rows of a batch, next to variants of about their length.

What "removed from the input" means.

pad     the word's id becomes PAD (the zero vector) in its place, and attention may not look there, nor at a
        sentence that has lost all its words. A recurrent or convolutional encoder steps over the place and reads
        a zero vector; one whose words look at each other (`self_attentive`: transformer, bert) leaves it out.
        This is what Chrysostomou & Aletras run.
delete  the word is taken out and the text closes up: what the papers' words say.
mask    the word becomes the mask token, which stays in the text and may be attended to.
unk     the same with the unknown word.

Removing everything with pad or delete leaves nothing to attend to: the context is the zero vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from attnlib.data.batching import Batch, Vectoriser
from attnlib.engine.attention import CELLS, empty_logits
from attnlib.engine.orders import inverse
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import Registry

POSITIONS = 16_384
"""Positions (rows times length) of one forward pass: memory stays flat however long the texts are."""
FIRST_BLOCK = 4


@dataclass(frozen=True)
class Operator:
    """What becomes of a removed word.

    token  the id that takes its place; None: the text closes up
    stays  whether attention may still look at that place
    hides  whether the place also leaves the encoder's mask
    """

    token: int | None
    stays: bool = False
    hides: bool = False

    def __call__(self, batch: Batch, removed: Tensor) -> Batch:
        """The batch without the `removed` (B, T) positions."""
        if self.token is None:
            return close_up(batch, removed)
        ids = batch.ids.masked_fill(removed, self.token)
        mask = batch.mask & ~removed if self.hides else batch.mask
        content = batch.content if self.stays else batch.content & ~removed
        return replace(batch, ids=ids, mask=mask, content=content)


OPERATORS: Registry[Callable[[nn.Module, Vectoriser], Operator]] = Registry("operator")
"""A model and the vectoriser that makes its ids, to the operator for them."""


@OPERATORS.register("pad")
def pad(model: nn.Module, vectoriser: Vectoriser) -> Operator:
    return Operator(vectoriser.pad_id, hides=self_attentive(model))


@OPERATORS.register("delete")
def delete(model: nn.Module, vectoriser: Vectoriser) -> Operator:
    return Operator(None)


@OPERATORS.register("mask")
def mask(model: nn.Module, vectoriser: Vectoriser) -> Operator:
    token = vectoriser.mask_id
    if token is None or token >= model.embedding.num_embeddings:
        raise ConfigError(
            "operator 'mask' needs a mask token, which bert and models trained with regulariser 'mlm' have; "
            "this model has none. Use 'unk', 'pad' or 'delete'."
        )
    return Operator(token, stays=True)


@OPERATORS.register("unk")
def unk(model: nn.Module, vectoriser: Vectoriser) -> Operator:
    return Operator(vectoriser.unk_id, stays=True)


def self_attentive(model: nn.Module) -> bool:
    """Whether words look at each other, so that a removed one must not be there: its encoder says so itself."""
    return any(getattr(module, "self_attentive", False) for module in model.modules())


def close_up(batch: Batch, removed: Tensor) -> Batch:
    """Take positions out and move the rest together, to the width of the longest text left (at least one)."""
    kept = batch.mask & ~removed
    order = torch.argsort((~kept).to(torch.uint8), dim=1, stable=True)
    width = max(1, int(kept.sum(1).max()))
    order = order[:, :width]
    stays = kept.gather(1, order)
    fields = {"mask": stays, "content": batch.content.gather(1, order) & stays}
    fields["ids"] = batch.ids.gather(1, order).masked_fill(~stays, 0)
    fields["words"] = batch.words.gather(1, order).masked_fill(~stays, -1)
    if batch.sentences is not None:
        # Sentences that vanished leave no gap in the numbers.
        number = batch.sentences.gather(1, order)
        begins = torch.zeros_like(number)
        begins[:, 1:] = number[:, 1:] != number[:, :-1]
        fields["sentences"] = begins.cumsum(1).masked_fill(~stays, 0)
    return replace(batch, **fields)


class Rows:
    """Answers of a model to variants: texts of a batch, each without some of its content positions."""

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

    def block(self, start: int) -> int:
        """How many removals to try at once on texts that have not flipped after `start`: as many again, and 4."""
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

    def variants(self, texts: Tensor, removed: Callable[[slice], Tensor]) -> Tensor:
        """Logits (V, C) float64 of V variants; `removed(piece)` gives the removed positions (v, T) of a slice."""
        out = self.trace.logits.new_zeros(len(texts), self.classes).double()
        step = max(1, CELLS // self.batch.ids.shape[1])
        for low in range(0, len(texts), step):
            some = texts[low : low + step]
            gone = removed(slice(low, low + step)) & self.batch.content[some]
            for rows in self.passes(some, gone):
                out[low + rows] = self.answers(some[rows], gone[rows])
        return out

    def passes(self, texts: Tensor, removed: Tensor) -> Iterator[Tensor]:
        """Indices of variants that share a forward pass: of about as many positions each, POSITIONS in all."""
        sizes = self.batch.mask[texts].sum(1)
        if self.operator.token is None:
            sizes = sizes - removed.sum(1)
        order = sizes.argsort(descending=True, stable=True)
        widths, start = sizes[order].clamp_min(1).tolist(), 0
        while start < len(widths):
            stop = start + max(1, POSITIONS // widths[start])
            yield order[start:stop]
            start = stop

    def answers(self, texts: Tensor, removed: Tensor) -> Tensor:
        """Logits (v, C) float64 of the texts without the `removed` (v, T) positions, in one forward pass."""
        out = self.empty()[texts]
        left = torch.ones(len(texts), dtype=torch.bool, device=self.device)
        if not self.operator.stays:
            left = (self.batch.content[texts] & ~removed).any(1)
        if left.any():
            texts, removed = texts[left], removed[left]
            width = int(self.batch.lengths[texts].max())
            batch = self.batch.select(texts).until(width)
            out[left] = self.model(self.operator(batch, removed[:, :width])).logits.double()
        return out
