"""Which eraser is the cheapest exact one for a model; those of encoders without context and of short windows."""

from __future__ import annotations

from functools import singledispatch

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnlib.data.batching import Batch
from attnlib.engine import attention
from attnlib.engine.attention import CELLS, decode
from attnlib.engine.orders import inverse
from attnlib.engine.rows import OPERATORS, Operator, Rows
from attnlib.models.attention import Additive, Conv, Deep, Dot, Feat, Lin
from attnlib.models.classifier import AttentionClassifier, JoinDecoder, Reader
from attnlib.models.encoders import CNN, MLP, Layer, NoEncoder, Recurrent, Transformer
from attnlib.models.projections import Projection
from attnlib.models.regularise import Concat, MaskedWords, Regulariser, Residual, Tying
from attnlib.models.trace import Trace
from attnlib.training.fitted import Fitted

OURS = {AttentionClassifier, Reader, Projection, JoinDecoder, Additive, Deep, Dot, Lin, Feat, Conv}
OURS |= {NoEncoder, MLP, CNN, Recurrent, Transformer, Layer, Regulariser, Concat, Residual, Tying, MaskedWords}
TORCHS = {nn.Embedding, nn.Linear, nn.Conv1d, nn.LSTM, nn.GRU, nn.LayerNorm, nn.ReLU, nn.GELU}
TORCHS |= {nn.Dropout, nn.Identity, nn.Sequential, nn.ModuleList}


@singledispatch
def input_eraser(fitted: Fitted, batch: Batch, trace: Trace, operator: str, *, generic: bool = False) -> Rows:
    """The eraser of a batch at the input level; `generic` runs every variant, whatever the model."""
    made = OPERATORS[operator](fitted.model, fitted.vectoriser)
    kind = Rows if generic else cheapest(fitted.model, made)
    return kind(fitted.model, batch, trace, made)


def cheapest(model: nn.Module, operator: Operator) -> type[Rows]:
    """The class of eraser for a model. Only where a word moves few states is anything saved."""
    if operator.stays or not plain(model):
        return Rows
    encoder = model.encoder
    if type(encoder) in (NoEncoder, MLP):
        return Pointwise
    short = type(encoder) is CNN and len(encoder.layers) == 1 and operator.token == 0
    return Windows if short and not isinstance(model.reader.regulariser, Concat | Residual) else Rows


class Pointwise(Rows):
    """Encoders that read each word alone (none, mlp): what is left is the projection of the remaining scores."""

    whole = True

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        logits = attention.prefix_logits(self.trace, order, reproject=not self.trace.exponential)
        step = torch.arange(start + 1, stop + 1, device=order.device).clamp_max(logits.shape[1] - 1)
        step = torch.minimum(step.unsqueeze(0), self.lengths[texts].unsqueeze(1))
        return logits[texts].gather(1, step.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))

    def singles(self) -> Tensor:
        return attention.single_logits(self.trace, reproject=not self.trace.exponential)


class Windows(Rows):
    """Removal by `pad` for one-layer convolutional encoders: only columns near a removed word are computed again.

    A column reads the 2r + 1 words around it, so removing a word changes 2r + 1 of them. Each change makes a new
    version of a column; variant k attends to the newest version that k knows. Words enter a column linearly
    before the ReLU: the contribution of every word at every distance is computed once, and a version is a sum of
    2r + 1 rows of that table. A padded word contributes nothing: its embedding is zero.

    What attention and decoder do first is linear in h_i: keys W_1 h_i, token logits W h_i. Both are worked out once
    for every version of a column: `features` F h + f, the `keys` first (where the decoder is not linear, the state
    itself follows them).
    """

    def __init__(self, model: nn.Module, batch: Batch, trace: Trace, operator: Operator) -> None:
        super().__init__(model, batch, trace, operator)
        convolutions = model.encoder.layers[0]
        self.radius = max(conv.kernel_size[0] for conv in convolutions) // 2
        self.bias = torch.cat([conv.bias for conv in convolutions])
        self.table = self._contributions(convolutions)
        self.attention, self.query = model.attention, model.query_vector(batch)
        values = trace.weight if trace.linear else torch.eye(len(self.bias)).to(trace.hidden)
        if isinstance(self.attention, Dot):  # its keys are the states, or with its own query the scores
            keys = values.new_zeros(0, len(self.bias))
            if self.query is None:
                keys = (self.attention.query * self.attention.scale).unsqueeze(0)
            offset = keys.new_zeros(len(keys))
        else:
            keys, offset = self.attention.key.weight, self.attention.key.bias
        self.keys = len(keys)
        self.features = torch.cat([keys, values]), torch.cat([offset, offset.new_zeros(len(values))])

    def _contributions(self, convolutions: nn.ModuleList) -> Tensor:
        """(B, T + 1, 2r + 1, H): what a word adds to the column at each distance; then nothing."""
        size, pieces = 2 * self.radius + 1, []
        for conv in convolutions:
            margin = (size - conv.kernel_size[0]) // 2
            pieces.append(F.pad(conv.weight, (margin, margin)))
        weight = torch.cat(pieces)
        words = self.trace.embedded.masked_fill(~self.batch.mask.unsqueeze(-1), 0.0)
        words = torch.cat([words, torch.zeros_like(words[:, :1])], 1)
        return (words @ weight.permute(1, 2, 0).flatten(1)).view(*words.shape[:2], size, -1)

    def at_once(self, variants: int) -> int:
        """Texts whose numbers fit into memory together with this many variants each."""
        length, size, features = self.batch.ids.shape[1], 2 * self.radius + 1, len(self.features[0])
        values = variants * length * (2 + features - self.keys)
        return max(1, CELLS // (values + (length + size * variants) * (len(self.bias) + features)))

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        # when each position goes, counted from 1; those that are no content never do
        rank = (inverse(order) + 1).masked_fill(~self.batch.content, order.shape[1] + stop + 1)[texts].unsqueeze(1)
        blocks = []
        for block in torch.arange(start + 1, stop + 1, device=self.device).split(self.at_once(1)):
            parts = []
            for some in torch.arange(len(texts), device=self.device).split(self.at_once(len(block))):
                steps = torch.cat([block[:1] - 1, block]).reshape(1, -1, 1)
                here = rank[some] == steps[:, 1:]
                place = torch.where(here.any(-1), here.to(torch.uint8).argmax(-1), order.shape[1])
                parts.append(self._logits(texts[some], rank[some] <= steps, place, nested=True))
            blocks.append(torch.cat(parts))
        return torch.cat(blocks, 1)

    def singles(self) -> Tensor:
        texts, length = self.batch.ids.shape
        line = torch.arange(length, device=self.device)
        out = self.trace.logits.double().unsqueeze(1).repeat(1, length, 1)
        for some in torch.arange(texts, device=self.device).split(self.at_once(length)):
            for places in line.split(self.at_once(1)):
                real = self.batch.content[some][:, places]
                place = places.expand(len(some), -1).masked_fill(~real, length)
                removed = line == torch.cat([torch.full_like(place[:, :1], length), place], 1).unsqueeze(-1)
                row, column = real.nonzero(as_tuple=True)
                out[some[row], places[column]] = self._logits(some, removed, place, nested=False)[row, column]
        return out

    def _logits(self, texts: Tensor, removed: Tensor, place: Tensor, nested: bool) -> Tensor:
        """Logits (R, K, C). removed (R, K + 1, T), of the trunk first; place (R, K): what variant k newly lost."""
        base, columns, windows = self._neighbours(self.batch.mask[texts], removed, place)
        features = self._features(texts, torch.cat([base, windows.flatten(1, 2)], 1))
        version = self._newest(columns, removed.shape[-1], nested)
        scores = self._scores(texts, features).gather(1, version.flatten(1)).view(version.shape)
        values = features[..., self.keys :]
        start = torch.arange(len(texts), device=self.device).reshape(-1, 1, 1) * values.shape[1]
        values = values.flatten(0, 1).index_select(0, (start + version).flatten()).view(*version.shape, -1)
        return self._combined(texts, scores, values, removed[:, 1:])

    def _features(self, texts: Tensor, entries: Tensor) -> Tensor:
        """(R, N, F) of N windows (R, N, 2r + 1) of rows of the table."""
        size = entries.shape[-1]
        table = self.table[texts]
        text = torch.arange(len(texts), device=self.device).reshape(-1, 1, 1) * table.shape[1]
        index = (text + entries) * size + torch.arange(size, device=self.device)
        hidden = F.embedding_bag(index.flatten(0, 1), table.flatten(0, 2), mode="sum") + self.bias
        return F.linear(hidden.relu_(), *self.features).view(*entries.shape[:2], -1)

    def _scores(self, texts: Tensor, features: Tensor) -> Tensor:
        """Attention scores (R, N) of features (R, N, F)."""
        query = None if self.query is None else self.query[texts]
        if not isinstance(self.attention, Dot):
            return self.attention.finish(features[..., : self.keys], query)
        return features[..., 0] if self.query is None else self.attention(features, query)

    def _combined(self, texts: Tensor, scores: Tensor, values: Tensor, removed: Tensor) -> Tensor:
        """Logits (R, K, C) float64 of scores (R, K, T) and values (R, K, T, ·): token logits or states."""
        alpha = self.trace.project(scores, self.batch.content[texts].unsqueeze(1) & ~removed)
        if self.trace.scale is not None:
            alpha = alpha * self.trace.scale[texts].unsqueeze(1)
        total = (alpha.unsqueeze(-2) @ values).squeeze(-2)
        if self.trace.linear:
            return total.double() + self.trace.bias.double()
        # The decoder knows its texts by their place in the batch, so the others are decoded along as zeros.
        context = total.new_zeros(len(self.batch), *total.shape[1:])
        context[texts] = total
        return decode(self.trace, context)[texts]

    def _neighbours(self, mask: Tensor, removed: Tensor, place: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Windows: of all columns of the trunk (R, T, s); the columns (R, K, s) that variant k changes, and theirs.

        Columns are T where there is none. Entries of a window: a position, or T for nothing.
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
        real &= (position >= 0) & (position < length) & ~gone
        return torch.where(real, position, length)

    def _newest(self, columns: Tensor, length: int, nested: bool) -> Tensor:
        """(R, K, T): number of the version of a column that variant k sees: the trunk's, then one per change."""
        texts, variants, size = columns.shape
        number = length + torch.arange(variants * size, device=columns.device).view(variants, size)
        newest = torch.zeros(texts, variants, length + 1, dtype=torch.long, device=columns.device)
        newest.scatter_(2, columns, number.expand(texts, -1, -1).contiguous())
        newest = newest[..., :length]
        newest = newest.cummax(1).values if nested else newest
        return torch.maximum(newest, torch.arange(length, device=columns.device))


def plain(model: nn.Module) -> bool:
    """Whether a flat model is made of modules that shortcuts know, since these take it apart: each exactly of a
    known class, without a hook or a `forward` of its own. What somebody else wrote is run as it is."""
    return isinstance(model, AttentionClassifier) and all(map(_known, model.modules()))


def _known(module: nn.Module) -> bool:
    changed = module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    return type(module) in OURS | TORCHS and not changed
