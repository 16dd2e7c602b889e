"""What "removed from the input" means.

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

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnlib.utils.errors import ConfigError
from attnlib.utils.registry import Registry

if TYPE_CHECKING:
    from attnlib.data.batching import Batch, Vectoriser


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
