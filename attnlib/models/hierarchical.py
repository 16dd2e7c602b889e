"""HierarchicalClassifier: the same parts twice, words within sentences and sentences within the text (HAN)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from attnlib.data.batching import Batch
from attnlib.models.classifier import Classifier, Reader, Readout
from attnlib.models.encoders import ENCODERS
from attnlib.models.trace import Trace


@dataclass(frozen=True)
class Layout:
    """Where the positions of B texts go when every sentence becomes a row: S sentences of W words per text.

    positions  (B, T) index into the S * W places of the text, -1 for padding
    source     (B, S * W) the inverse: index into T, -1 where there is no word
    """

    positions: Tensor
    source: Tensor
    sentences: int

    def rows(self, values: Tensor) -> Tensor:
        """(B, T, ...) -> (B * S, W, ...); places without a word hold zero."""
        return _take(values, self.source).reshape(len(values) * self.sentences, -1, *values.shape[2:])


def unstacked(values: Tensor, positions: Tensor) -> Tensor:
    """(B * S, W, ...) -> (B, T, ...), the inverse of `Layout.rows`; padding holds zero."""
    return _take(values.reshape(len(positions), -1, *values.shape[2:]), positions)


def _take(values: Tensor, index: Tensor) -> Tensor:
    """values (B, N, ...) at index (B, M) -> (B, M, ...), zero where the index is -1."""
    start = torch.arange(len(values), device=values.device).unsqueeze(1) * values.shape[1]
    taken = values.flatten(0, 1).index_select(0, (start + index.clamp_min(0)).flatten())
    taken = taken.reshape(*index.shape, *values.shape[2:])
    empty = (index < 0).reshape(*index.shape, *[1] * (values.dim() - 2))
    return taken.masked_fill(empty, 0)


def like_lengths(mask: Tensor) -> list[tuple[Tensor, int]]:
    """The rows of mask (N, W) that hold a word, grouped by length (up to 16 words, 32, 64 and so on), so that one
    long sentence does not make all others as long: indices of rows, and their width."""
    lengths = (mask * torch.arange(1, mask.shape[1] + 1, device=mask.device)).amax(1)
    longest, found, low = int(lengths.max()), [], 0
    for width in [*(16 << step for step in range(16) if 16 << step < longest), longest]:
        rows = ((lengths > low) & (lengths <= width)).nonzero().squeeze(1)
        if len(rows):
            found.append((rows, width))
        low = width
    return found or [(torch.zeros(1, dtype=torch.long, device=mask.device), 1)]


def _gathered(parts: Sequence[Tensor | None], groups: list, shape: Sequence[int]) -> Tensor | None:
    """The results of all groups together: rows, or rows and places, of `shape`; zero where there was no group."""
    if parts[0] is None:
        return None
    if len(shape) == 2:
        parts = [functional.pad(p, (0, 0) * (p.dim() - 2) + (0, shape[1] - p.shape[1])) for p in parts]
    order = torch.cat([index for index, _ in groups])
    where = torch.full((shape[0],), len(order), device=order.device)
    where[order] = torch.arange(len(order), device=order.device)
    empty = parts[0].new_zeros(1, *parts[0].shape[1:])
    return torch.cat([*parts, empty]).index_select(0, where)


def layout(mask: Tensor, sentences: Tensor) -> Layout:
    """How texts fall into sentences, of contiguous words. Words that the mask hides leave gaps in theirs."""
    texts, length = mask.shape
    place = torch.arange(length, device=mask.device).expand(texts, -1)
    number = sentences.masked_fill(~mask, -1)
    new = torch.ones_like(mask)
    new[:, 1:] = sentences[:, 1:] != sentences[:, :-1]
    rank = place - place.masked_fill(~new, 0).cummax(1).values
    count = max(1, int(number.max()) + 1)
    width = max(1, int(rank.masked_fill(~mask, 0).max()) + 1)
    positions = (number * width + rank).masked_fill(~mask, -1)
    source = torch.full((texts, count * width), -1, device=mask.device)
    text = torch.arange(texts, device=mask.device).unsqueeze(1).expand(-1, length)
    source[text[mask], positions[mask]] = place[mask]
    return Layout(positions, source, count)


class HierarchicalClassifier(Classifier):
    r"""HAN (Yang et al. 2016; Serrano & Smith 2019): attention over words makes sentence vectors, attention over
    sentences the context.

    .. math:: c_s = \sum_w \alpha_{sw} h_{sw}, \quad h_s = \mathrm{enc}_2(c)_s, \quad z = W \sum_s \alpha_s h_s + b

    Encoder, attention and projection of the config work at both levels, each with its own parameters; scaling
    and regulariser are about words and work at the word level only. A query is seen by both attentions.
    """

    def _build(self, encoder: nn.Module, n_ids: int) -> int:
        config = self.config
        self.word = Reader(config, encoder, self.embedding.embedding_dim, n_ids, self.query_width)
        upper = config.replace(
            scaling="none", scaling_pool="sum", regulariser="none", embedding_dropout=config.sentence_dropout
        )
        second = ENCODERS[upper.encoder](upper, self.word.width)
        self.sentence = Reader(upper, second, self.word.width, 0, self.query_width)
        return self.sentence.width

    def forward(self, batch: Batch, embedded: Tensor | None = None) -> Trace:
        """One pass. `embedded` (B, T, D) replaces the lookup. The Trace is that of the sentence level."""
        embedded = self.embed(batch) if embedded is None else embedded
        query = self.query_vector(batch)
        plan = layout(batch.mask, batch.sentences)
        words = self._word_level(plan, batch, embedded, query)
        content = words.mask.any(1).view(len(batch.ids), plan.sentences)
        vectors = words.context.view(*content.shape, -1)
        # A sentence with nothing to attend to (all its words removed, perhaps) is read, as zeros, but not attended.
        exists = (plan.source >= 0).view(*content.shape, -1).any(-1)
        reading = self.sentence.read(None, vectors, exists, content, query)
        decided = self.decoded(reading.context, query) | {"words": words, "positions": plan.positions}
        return self.sentence.trace(reading, mask=content, embedded=vectors, **decided)

    def _word_level(self, plan: Layout, batch: Batch, embedded: Tensor, query: Tensor | None) -> Trace:
        mask, content = plan.rows(batch.mask), plan.rows(batch.content)
        ids, rows = plan.rows(batch.ids), plan.rows(embedded)
        if query is not None:
            query = query.repeat_interleave(plan.sentences, 0)
        groups = like_lengths(mask)
        readings = [
            self.word.read(*(t[g, :width] for t in (ids, rows, mask, content)), None if query is None else query[g])
            for g, width in groups
        ]
        reading = Readout(
            *(_gathered(parts, groups, mask.shape) for parts in list(zip(*readings, strict=True))[:-1]),
            context=_gathered([r.context for r in readings], groups, mask.shape[:1]),
        )
        said = {"logits": reading.context, "decode": nn.Identity()}
        return self.word.trace(reading, mask=content, embedded=rows, **said)

    def _readers(self) -> Sequence[Reader]:
        return self.word, self.sentence

    def words(self, trace: Trace) -> tuple[Tensor, Tensor]:
        words, positions = trace.words, trace.positions
        return unstacked(words.hidden, positions), unstacked(words.embedded, positions)

    def encoded(self, embedded: Tensor, batch: Batch) -> Tensor:
        plan = layout(batch.mask, batch.sentences)
        rows, mask = plan.rows(embedded), plan.rows(batch.mask)
        groups = like_lengths(mask)
        hidden = [self.word.encoder(rows[g, :width], mask[g, :width]) for g, width in groups]
        return unstacked(_gathered(hidden, groups, mask.shape), plan.positions)
