"""Input erasure for transformers: variants without gaps, and the maps of the first layer computed once per text.

A removed word is not there for anyone (pad, delete), so a variant is run on the words it has left, next to variants
of about its length. What the first layer makes of a word before it looks at others is the same in every variant
with the word in its place: projection to the encoder's width, norm, queries, keys and values. Only `delete` moves
words to other places; then variants share the projection alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.engine.attention import CELLS
from attnlib.engine.rows import Rows
from attnlib.models.regularise import join

PASS = 3_072
"""Positions of one forward pass on a CPU: enough for the matrix products, few enough for the cache."""


class Gapless(Rows):
    """Variants as rows of a batch that holds what is left of them."""

    def __init__(self, model, batch, trace, operator) -> None:
        super().__init__(model, batch, trace, operator)
        encoder = model.encoder
        self.query = model.query_vector(batch)
        self.leaves = operator.token is None or operator.hides
        words, length = encoder.input(trace.embedded), batch.ids.shape[1]
        if not self.leaves:
            token = encoder.input(model.embedding(torch.tensor([[operator.token]], device=self.device)))
            words = torch.cat([words, token.expand(1, length, -1)])
        self.joint = None
        if operator.token is not None:
            words = encoder.placed(words)
            self.joint = encoder.layers[0].project(words).flatten(0, 1)
        # a row per word of the batch; then, where a token takes its place, one per place of the token
        self.words = words.flatten(0, 1)

    @property
    def positions(self) -> int:
        return PASS if self.device.type == "cpu" else 8 * PASS

    def block(self, texts: Tensor, start: int) -> int:
        """As many as fill a pass: nothing is gained by more."""
        return max(1, self.positions // int((self.lengths[texts] - start).clamp_min(1).sum()))

    def variants(self, texts: Tensor, removed) -> Tensor:
        out = self.trace.logits.new_zeros(len(texts), self.classes).double()
        step = max(1, CELLS // self.batch.ids.shape[1])
        for low in range(0, len(texts), step):
            some = texts[low : low + step]
            gone = removed(slice(low, low + step)) & self.batch.content[some]
            left = self.batch.mask[some] & ~gone if self.leaves else self.batch.mask[some]
            for rows in self._alike(left.sum(1)):
                out[low + rows] = self.answers(some[rows], gone[rows])
        return out

    def _alike(self, left: Tensor):
        """Indices of variants in groups of about the same number of words left (V,), a pass each."""
        order = left.argsort(descending=True, stable=True)
        sizes, start = left[order].clamp_min(1).tolist(), 0
        while start < len(sizes):
            stop = start + max(1, self.positions // sizes[start])
            yield order[start:stop]
            start = stop

    def run(self, texts: Tensor, removed: Tensor) -> Tensor:
        batch, model, length = self.batch, self.model, self.batch.ids.shape[1]
        kept, content, ids = batch.mask[texts], batch.content[texts], batch.ids[texts]
        if self.leaves:
            kept = kept & ~removed
        else:
            ids = ids.masked_fill(removed, self.operator.token)
        if not self.operator.stays:
            content = content & ~removed
        place = torch.argsort((~kept).to(torch.uint8), dim=1, stable=True)[:, : int(kept.sum(1).max())]
        row = texts.unsqueeze(1) * length + place
        if not self.leaves:
            row = torch.where(removed.gather(1, place), len(batch) * length + place, row)
        kept, content, ids = (x.gather(1, place) for x in (kept, content, ids))

        def rows(table: Tensor) -> Tensor:
            return table.index_select(0, row.flatten()).view(*row.shape, -1)

        hidden = rows(self.words)
        if self.joint is None:
            hidden = model.encoder.read(model.encoder.placed(hidden), kept)
        else:
            hidden = model.encoder.read(hidden, kept, rows(self.joint))
        embedded = model.embedding(ids)
        hidden = join(model.config.regulariser, hidden, embedded, kept)
        query = None if self.query is None else self.query[texts]
        reading = model.reader.attend(ids, embedded, hidden, content, query)
        return model.decoded(reading.context, query)["logits"]
