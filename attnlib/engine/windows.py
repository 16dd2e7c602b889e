r"""Input erasure for one-layer convolutional encoders: only columns near a removed word are computed again.

A column reads the 2r + 1 words around it, so removing a word changes 2r + 1 columns at most, whatever the length of
the text. Each change makes a new version of a column; variant k attends to the newest version that k knows. Words
enter a column linearly before the ReLU: the contribution of every word at every distance is computed once, and a
version is a sum of 2r + 1 rows of that table.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

from attnlib.engine.attention import CELLS
from attnlib.engine.head import Head
from attnlib.engine.rows import Shared


class Windows(Shared):
    """Prefixes and single removals by versions of columns."""

    def __init__(self, model, batch, trace, operator) -> None:
        super().__init__(model, batch, trace, operator)
        self.head = Head(model, batch, trace, operator)
        convolutions = model.encoder.layers[0]
        self.radius = max(conv.kernel_size[0] for conv in convolutions) // 2
        self.bias = torch.cat([conv.bias for conv in convolutions])
        self.encoder_weight = self.head.weight[:, : len(self.bias)]
        self.table = self._contributions(convolutions)

    def _contributions(self, convolutions) -> Tensor:
        """(B, T + 2, 2r + 1, H): what a word adds to the column at each distance; then the token; then nothing."""
        size, pieces = 2 * self.radius + 1, []
        for conv in convolutions:
            margin = (size - conv.kernel_size[0]) // 2
            pieces.append(F.pad(conv.weight, (margin, margin)))
        weight = torch.cat(pieces)
        words = self.trace.embedded.masked_fill(~self.batch.mask.unsqueeze(-1), 0.0)
        token = words.new_zeros(1, words.shape[-1])
        if self.operator.token is not None:
            token = self.head.token_embedding
        words = torch.cat([words, token.expand(len(words), 1, -1), torch.zeros_like(words[:, :1])], 1)
        return (words @ weight.permute(1, 2, 0).flatten(1)).view(*words.shape[:2], size, -1)

    @property
    def at_once(self) -> int:
        return self.texts_at_once(1)

    def texts_at_once(self, variants: int) -> int:
        return max(1, CELLS // self._cells(variants))

    def nested(self, texts: Tensor, rank: Tensor, start: int, stop: int) -> Tensor:
        steps = torch.arange(start, stop + 1, device=self.device).reshape(1, -1, 1)
        here = rank.unsqueeze(1) == steps[:, 1:]
        place = torch.where(here.any(-1), here.to(torch.uint8).argmax(-1), rank.shape[1])
        return self._logits(texts, rank.unsqueeze(1) <= steps, place, nested=True)

    def separate(self, texts: Tensor, places: Tensor, real: Tensor) -> Tensor:
        length = self.batch.ids.shape[1]
        place = places.expand(len(texts), -1).masked_fill(~real, length)
        removed = torch.arange(length, device=self.device) == place.unsqueeze(-1)
        removed = torch.cat([torch.zeros_like(removed[:, :1]), removed], 1)
        return self._logits(texts, removed, place, nested=False)

    def _cells(self, variants: int) -> int:
        """Numbers that this many variants of one text hold at a time."""
        length, size = self.batch.ids.shape[1], 2 * self.radius + 1
        values = self.head.width - self.head.keys
        return variants * length * (2 + values) + (length + size * variants) * (len(self.bias) + self.head.width)

    def _logits(self, texts: Tensor, removed: Tensor, place: Tensor, nested: bool) -> Tensor:
        """Logits (R, K, C). removed (R, K + 1, T), of the trunk first; place (R, K): what variant k newly lost."""
        length = removed.shape[-1]
        mask = self.batch.mask[texts]
        neighbours = self._closed_up if self.operator.token is None else self._in_place
        base, columns, windows = neighbours(mask, removed, place)
        entries = torch.cat([base, windows.flatten(1, 2)], 1)
        features = self._features(texts, entries)
        centre = entries[..., self.radius]
        own = self.head.own(texts, length)
        if own is not None:
            words, token = own
            rows = torch.cat([words, (words[:, :1] * 0 if token is None else token.expand(len(words), 1, -1))], 1)
            rows = torch.cat([rows, torch.zeros_like(rows[:, :1])], 1)
            features = features + rows.gather(1, centre.unsqueeze(-1).expand(-1, -1, rows.shape[-1]))
        version = self._newest(columns, length, nested)
        scores = self.head.scores(texts, features).gather(1, version.flatten(1)).view(version.shape)
        values = features[..., self.head.keys :]
        start = torch.arange(len(texts), device=self.device).reshape(-1, 1, 1) * values.shape[1]
        values = values.flatten(0, 1).index_select(0, (start + version).flatten()).view(*version.shape, -1)
        return self.head.combine(texts, scores, values, removed[:, 1:])

    def _features(self, texts: Tensor, entries: Tensor) -> Tensor:
        """(R, N, F) of N windows (R, N, 2r + 1) of rows of the table."""
        size = entries.shape[-1]
        table = self.table[texts]
        text = torch.arange(len(texts), device=self.device).reshape(-1, 1, 1) * table.shape[1]
        index = (text + entries) * size + torch.arange(size, device=self.device)
        hidden = F.embedding_bag(index.flatten(0, 1), table.flatten(0, 2), mode="sum") + self.bias
        features = F.linear(hidden.relu_(), self.encoder_weight, self.head.bias)
        return features.view(*entries.shape[:2], -1)

    def _in_place(self, mask: Tensor, removed: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Windows where words were replaced: of all columns of the trunk (R, T, s), and of those variant k changes.

        Columns (R, K, s) are T where there is none. Entries: a position, T for the token, T + 1 for nothing.
        """
        length = mask.shape[1]
        reach = torch.arange(-self.radius, self.radius + 1, device=mask.device)
        columns = place.unsqueeze(-1) + reach
        inside = (columns >= 0) & (columns < length) & (place < length).unsqueeze(-1)
        windows = self._look(columns.unsqueeze(-1) + reach, mask, removed[:, 1:])
        trunk = torch.arange(length, device=mask.device).reshape(1, 1, -1, 1) + reach
        base = self._look(trunk.expand(len(mask), -1, -1, -1), mask, removed[:, :1]).squeeze(1)
        return base, columns.masked_fill(~inside, length), windows

    @staticmethod
    def _look(position: Tensor, mask: Tensor, removed: Tensor) -> Tensor:
        """Entries at positions (R, K, N, s), given what variant k lost (R, K, T)."""
        length = mask.shape[1]
        where = position.clamp(0, length - 1).flatten(2)
        gone = removed.gather(2, where).view(position.shape)
        real = mask.unsqueeze(1).expand_as(removed).gather(2, where).view(position.shape)
        real &= (position >= 0) & (position < length)
        entry = torch.where(gone, length, position.clamp(0, length - 1))
        return torch.where(real, entry, length + 1)

    def _closed_up(self, mask: Tensor, removed: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """As `_in_place`, where words were deleted and the text closed up."""
        length, r = mask.shape[1], self.radius
        left = mask.unsqueeze(1) & ~removed
        rank = left.cumsum(-1)
        line = torch.arange(length, device=mask.device)
        # The positions left, in order, with room for a whole window of nothing on either side.
        room = torch.full((*left.shape[:2], length + 4 * r + 2), length + 1, device=mask.device)
        slot = torch.where(left, rank - 1 + 2 * r, length + 4 * r + 1)
        room.scatter_(2, slot, line.expand_as(left).contiguous())
        room[..., -1] = length + 1
        reach = torch.arange(-r, r + 1, device=mask.device)
        trunk = (slot[:, 0].clamp_max(length + 3 * r).unsqueeze(-1) + reach).flatten(1)
        base = room[:, 0].gather(1, trunk).view(len(mask), length, -1)
        gap = rank[:, 1:].gather(2, place.clamp_max(length - 1).unsqueeze(-1)) + 2 * r
        around = gap + torch.arange(-r, r, device=mask.device)
        columns = room[:, 1:].gather(2, around)
        columns = torch.where((place < length).unsqueeze(-1), columns, length).clamp_max(length)
        windows = room[:, 1:].gather(2, (around.unsqueeze(-1) + reach).flatten(2))
        return base, columns, windows.view(*around.shape, -1)

    def _newest(self, columns: Tensor, length: int, nested: bool) -> Tensor:
        """(R, K, T): number of the version of a column that variant k sees: the trunk's, then one per change."""
        texts, variants, size = columns.shape
        number = length + torch.arange(variants * size, device=columns.device).view(variants, size)
        newest = torch.zeros(texts, variants, length + 1, dtype=torch.long, device=columns.device)
        newest.scatter_(2, columns, number.expand(texts, -1, -1).contiguous())
        newest = newest[..., :length]
        newest = newest.cummax(1).values if nested else newest
        return torch.maximum(newest, torch.arange(length, device=columns.device))
