"""Hidden states of a frozen encoder: read once, looked up in every epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    from attnlib.data.batching import Batch, Encoded
    from attnlib.training.fitted import Fitted

MOST_BYTES = 2**30
"""States that take more memory are computed again in every step."""


class States:
    """h of every position of some texts, for an encoder that training does not change.

    `of(batch)` gives (B, T, H), zero at padding, for batches of these texts (by `batch.rows`).
    """

    def __init__(self, fitted: Fitted, encoded: Sequence[Encoded]) -> None:
        model, lengths = fitted.model, np.array([len(e) for e in encoded])
        self.starts = torch.from_numpy(np.concatenate([[0], lengths.cumsum()])).to(fitted.device)
        weight = next(model.attention.parameters())
        self.flat = weight.new_zeros(int(lengths.sum()) + 1, model.reader.width)  # the last row is that of padding
        with fitted.evaluating():
            for batch in fitted.vectoriser.batches(encoded, 256):
                batch = batch.to(fitted.device)
                hidden = model.reader.encode(model.embed(batch), batch.mask)
                self.flat[self._places(batch)[batch.mask]] = hidden[batch.mask]

    def of(self, batch: Batch) -> Tensor:
        """(B, T, H) the states of a batch."""
        return self.flat[self._places(batch)]

    def _places(self, batch: Batch) -> Tensor:
        line = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        return (self.starts[batch.rows].unsqueeze(1) + line).masked_fill(~batch.mask, len(self.flat) - 1)


def states(fitted: Fitted, encoded: Sequence[Encoded]) -> States | None:
    """The states of these texts, where training leaves them alone and they fit into memory; else None.

    They are constant where embedding and encoder are frozen and nothing before attention draws at random. bert
    has dropout inside; a hierarchical model has two encoders, of which the second reads what attention chose.
    """
    config, model = fitted.model_config, fitted.model
    if config.hierarchical or config.encoder == "bert" or config.embedding_dropout:
        return None
    parts = model.parts()
    if any(p.requires_grad for part in ("embedding", "encoder") for p in parts[part].parameters()):
        return None
    size = sum(map(len, encoded)) * model.reader.width * next(model.parameters()).element_size()
    return States(fitted, encoded) if encoded and size <= MOST_BYTES else None
