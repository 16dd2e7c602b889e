"""Hand-made ragged batches and a pairwise cover of the model space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from itertools import combinations, product
from typing import Any

import torch
from torch import Tensor

from attnlib.config import ModelConfig
from attnlib.data.batching import Batch
from attnlib.utils.errors import ConfigError

N_IDS = 30
WIDTH = 8
TINY: dict[str, Any] = {"embedding_size": WIDTH, "hidden_size": WIDTH, "kernel_sizes": (1, 3), "attention_size": 6}


def make_batch(lengths: Sequence[int] = (9, 1, 6, 4, 0, 7), *, boundaries: bool = True) -> Batch:
    """Random texts of so many words, with a start and an end token the encoder reads and attention does not.

    The label is whether word 4 stands in the text; every text has one to three sentences and a query.
    """
    generator = torch.Generator().manual_seed(0)
    extra = 2 if boundaries else 0
    width = max(1, max(lengths) + extra)
    ids, mask, content, words, sentences = (torch.zeros(len(lengths), width, dtype=torch.long) for _ in range(5))
    words -= 1
    labels = torch.zeros(len(lengths), dtype=torch.long)
    query, query_mask = torch.zeros(len(lengths), 5, dtype=torch.long), torch.zeros(len(lengths), 5)
    for row, n in enumerate(lengths):
        text = torch.randint(5, N_IDS - 1, (n,), generator=generator)
        labels[row] = row % 2
        if n and row % 2:
            text[n // 2] = 4
        start = extra // 2
        ids[row, start : start + n] = text
        if boundaries:
            ids[row, 0], ids[row, n + 1] = 2, 3
        mask[row, : n + extra] = 1
        content[row, start : start + n] = 1
        words[row, start : start + n] = torch.arange(n)
        cuts = torch.randint(0, 2, (n + extra,), generator=generator)
        cuts[:1] = 0
        sentences[row, : n + extra] = cuts.cumsum(0).clamp_max(2)
        q = 1 + row % 5
        query[row, :q] = torch.randint(4, N_IDS - 1, (q,), generator=generator)
        query_mask[row, :q] = 1
    rows = torch.arange(len(lengths))
    return Batch(
        ids, mask.bool(), content.bool(), words, rows, labels, query, query_mask.bool(), sentences=sentences
    )


def padded(batch: Batch, extra: int) -> Batch:
    """The same texts with more padding, filled with what a careless encoder would trip over."""

    def pad(values: Tensor | None, fill: float) -> Tensor | None:
        if values is None:
            return None
        return torch.nn.functional.pad(values, (0, extra), value=fill)

    return replace(
        batch,
        ids=pad(batch.ids, 0),
        mask=pad(batch.mask, False),
        content=pad(batch.content, False),
        words=pad(batch.words, -1),
        sentences=pad(batch.sentences, 0),
        query=pad(batch.query, 0),
        query_mask=pad(batch.query_mask, False),
    )


def alone(batch: Batch, row: int) -> Batch:
    """One text by itself, without padding (at least one position)."""
    one = batch.select(torch.tensor([row]))
    length, asked = max(1, int(one.mask.sum())), int(one.query_mask.sum())
    changes = {
        f.name: getattr(one, f.name)[:, : asked if f.name.startswith("query") else length]
        for f in fields(one)
        if getattr(one, f.name).dim() == 2
    }
    return replace(one, **changes)


SPACE: dict[str, tuple[Any, ...]] = {
    "encoder": ("none", "mlp", "cnn", "lstm", "gru", "transformer"),
    "attention": ("additive", "dot", "deep"),
    "projection": ("softmax", "sparsemax", "sparsegen", "entmax", "gumbel"),
    "scaling": ("none", "lin", "feat", "conv"),
    "regulariser": ("none", "concat", "residual", "tying", "mlm"),
    "hierarchical": (False, True),
    "query": (False, True),
}


def config_of(choice: Mapping[str, Any], **options: Any) -> ModelConfig:
    """A tiny model of this choice; `query` is no option of a config."""
    named = {k: v for k, v in choice.items() if k != "query"}
    return ModelConfig(**{**TINY, "sparsegen_lambda": 0.3, "entmax_alpha": 1.3, **named, **options})


def allowed(choice: Mapping[str, Any]) -> bool:
    try:
        config_of(choice)
    except ConfigError:
        return False
    return True


def pairwise_cover(space: Mapping[str, Sequence[Any]] = SPACE) -> Iterator[dict[str, Any]]:
    """Greedy: choices that hold every pair of values of two parts which any allowed choice holds."""
    names = list(space)
    choices = [dict(zip(names, values, strict=True)) for values in product(*space.values())]
    choices = [c for c in choices if allowed(c)]
    pairs = [{((a, c[a]), (b, c[b])) for a, b in combinations(names, 2)} for c in choices]
    missing = set().union(*pairs)
    while missing:
        best = max(range(len(choices)), key=lambda i: len(pairs[i] & missing))
        missing -= pairs[best]
        yield choices[best]
