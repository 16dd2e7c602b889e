"""The model inside an HFClassifier, called as the kit calls models, and the self-attention of its layers.

transformers lets a model use an attention function of one's own, by name. Ours runs the model's own plain
attention, shows its weights to whoever watches, and forgets them. It changes nothing unless a watcher returns new
weights, and then the weights alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from inspect import signature
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.hf.words import PieceBatch, WordBatch
from attnlib.models.trace import Trace
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError

CELLS = 2**24
"""Attention weights (texts × heads × T × T) that exist at a time."""
NAME = "attnlib"


class LayerAttention(NamedTuple):
    """What one layer computes. weights (B, heads, T, T): queries × keys; value (B, heads, T, D); allowed: of the
    shape of weights, whether a query may look at a key; number: the layer, from 0."""

    weights: Tensor
    value: Tensor
    allowed: Tensor
    number: int


@dataclass
class Watch:
    """look: told of every layer in turn; what it returns, if anything, are new weights. calls: layers seen."""

    look: Callable[[LayerAttention], Tensor | None]
    calls: int = 0


_watching: ContextVar[Watch | None] = ContextVar("watch", default=None)


@contextmanager
def watching(network: nn.Module, watch: Watch) -> Iterator[Watch]:
    """Inside, every forward pass of a Hugging Face model goes through `watch`."""
    from transformers import AttentionInterface
    from transformers.masking_utils import AttentionMaskInterface, eager_mask

    AttentionInterface.register(NAME, attend)
    AttentionMaskInterface.register(NAME, eager_mask)
    before = network.config._attn_implementation
    network.set_attn_implementation(NAME)
    token = _watching.set(watch)
    try:
        yield watch
    finally:
        _watching.reset(token)
        network.set_attn_implementation(before)


def attend(module: nn.Module, query: Tensor, key: Tensor, value: Tensor, attention_mask: Tensor | None, **options):
    """The model's own plain attention; the weights are handed to the watcher, who keeps one number per piece."""
    plain = sys.modules[type(module).__module__].eager_attention_forward
    output, weights = plain(module, query, key, value, attention_mask, **options)
    watch = _watching.get()
    if watch is None:
        return output, None
    if value.shape[1] != weights.shape[1]:  # several queries share a value
        value = value.repeat_interleave(weights.shape[1] // value.shape[1], 1)
    allowed = torch.ones_like(weights, dtype=torch.bool)
    if attention_mask is not None:
        allowed &= attention_mask[..., : weights.shape[-1]] > torch.finfo(attention_mask.dtype).min / 2
    layer = LayerAttention(weights, value, allowed, watch.calls)
    watch.calls += 1
    if (new := watch.look(layer)) is not None:
        output = (new.to(value.dtype) @ value).transpose(1, 2).contiguous()
    return output, None


class NoClosedForm(ConfigError, AttributeError):
    """Something that only models with one pooling attention have."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"{name!r} belongs to models that attnlib trains, with one pooling attention; a Hugging Face classifier"
            " attends in every layer. Importances and all functions of erasure and faithfulness work for it."
        )


@dataclass(frozen=True)
class HFAnswers:
    """What a Hugging Face classifier answers to a batch: `Answers` of the contract, at the level of words."""

    mask: Tensor
    logits: Tensor
    network: Network
    batch: WordBatch | PieceBatch
    words: None = None
    linear: bool = False

    @cached_property
    def alpha(self) -> Tensor:
        """(B, W) `cls_last`: the last layer's attention of the position that the head reads; special tokens get
        the rest to one."""
        return per_word(cls_last(self.network, self.batch.pieces), self.batch)

    @property
    def token_alpha(self) -> Tensor:
        """The same; NaN where the attention of the model cannot be read."""
        return self.alpha if self.network.layers else self.logits.new_full(self.mask.shape, float("nan"))

    lengths, probabilities, prediction = Trace.lengths, Trace.probabilities, Trace.prediction

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(name) if name.startswith("__") else NoClosedForm(name)


class Network(nn.Module):
    """The model itself, called as the kit calls models: batch (and embeddings) in, answers out.

    order    logits in the order of the classes
    layers, heads   layers that attend, and their heads; 0 where the model does not use transformers' interface
    reads    `first` ([CLS]), `last` (a decoder) or `mean`: the positions of the last layer that the head reads
    """

    def __init__(self, network: nn.Module, order: Sequence[int]) -> None:
        super().__init__()
        self.network = network.eval()
        self.register_buffer("order", torch.tensor(list(order)), persistent=False)
        self.layers = self.heads = 0
        self.typed = "token_type_ids" in signature(network.forward).parameters
        self.reads = "first"

    def embed(self, batch: WordBatch | PieceBatch) -> Tensor:
        """(B, T, D) embeddings of the pieces, before positions are added."""
        return self.network.get_input_embeddings()(_pieces(batch).ids)

    def forward(self, batch: WordBatch | PieceBatch, embedded: Tensor | None = None) -> HFAnswers:
        pieces = _pieces(batch)
        width = int(pieces.mask.any(0).nonzero().max()) + 1
        inputs = {"input_ids": pieces.ids[:, :width], "attention_mask": pieces.mask[:, :width].long()}
        if pieces.types is not None and self.typed:
            inputs["token_type_ids"] = pieces.types[:, :width]
        # Ids go in with embeddings as well: positions, and which piece a decoder's head reads, come from them.
        place = self.network.get_input_embeddings()
        hook = place.register_forward_hook(lambda *_: None if embedded is None else embedded[:, :width])
        try:
            logits = self.network(**inputs).logits
        finally:
            hook.remove()
        return HFAnswers(batch.content, logits[:, self.order], self, batch)

    def rows(self, pieces: PieceBatch) -> Tensor:
        """(B, T) weights over the positions that the head reads, each text's sum one."""
        mask = pieces.mask.to(torch.get_default_dtype())
        if self.reads == "mean":
            return mask / mask.sum(1, keepdim=True)
        place = torch.arange(mask.shape[1], device=mask.device).expand_as(mask)
        last = place.masked_fill(~pieces.mask, -1).amax(1)
        chosen = last if self.reads == "last" else pieces.mask.int().argmax(1)
        return (place == chosen.unsqueeze(1)).to(mask.dtype)

    def slices(self, pieces: PieceBatch, kept: int = 1) -> Iterator[tuple[slice, PieceBatch]]:
        """The texts in slices of which `kept` layers' weights fit into memory, at least one text each."""
        if not self.layers:
            raise ConfigError(
                f"{type(self.network).__name__} does not use transformers' AttentionInterface: its attention can "
                "neither be read nor replaced. Gradients, omission and erasure from the input work for it."
            )
        step = max(1, CELLS // (kept * self.heads * pieces.ids.shape[1] ** 2))
        for start in range(0, len(pieces), step):
            part = slice(start, min(start + step, len(pieces)))
            yield part, pieces.select(torch.arange(len(pieces), device=pieces.ids.device)[part])

    def probe(self, batch: WordBatch) -> None:
        """Find out from one text how many layers and heads attend, and which positions the head reads."""
        seen = Watch(lambda layer: setattr(self, "heads", layer.weights.shape[1]))
        states: list[Tensor] = []
        base = self.network.base_model
        hook = base.register_forward_hook(lambda module, inputs, output: states.append(output[0]))
        try:
            with measuring(grad=True), watching(self.network, seen):
                embedded = self.embed(batch).detach().requires_grad_()
                (slope,) = torch.autograd.grad(self(batch, embedded).logits.abs().sum(), states[:1])
        finally:
            hook.remove()
        self.layers = seen.calls
        moved = slope[0].abs().amax(-1) > 0
        single = int(moved.sum()) == 1
        self.reads = "mean" if not single else "first" if moved[0] else "last"


def cls_last(network: Network, pieces: PieceBatch) -> Tensor:
    r""":math:`r \bar A_L`: what the [CLS] of an encoder, or the last token of a decoder, attends to in the end."""
    last = network.layers - 1
    return folded(network, pieces, lambda layer, _: layer.weights.mean(1) if layer.number == last else None)


def per_word(scores: Tensor, batch: WordBatch) -> Tensor:
    """(B, W) sums of (B, T) scores over the pieces of each word."""
    owners = batch.pieces.words[:, : scores.shape[1]]
    out = torch.zeros(batch.content.shape, dtype=scores.dtype, device=scores.device)
    return out.scatter_add(1, owners.clamp_min(0), scores.masked_fill(owners < 0, 0.0))


def read(rows: Tensor, table: Tensor) -> Tensor:
    """(B, T): rows (B, T) of tables (B, T, T)."""
    return (rows.to(table.dtype).unsqueeze(1) @ table).squeeze(1)


def folded(
    network: Network,
    pieces: PieceBatch,
    fold: Callable[[LayerAttention, Tensor | None], Tensor | None],
) -> Tensor:
    """(B, T): the table (B, T, T) that `fold(layer, table so far)` ends with, read where the head reads."""
    table: list[Tensor | None] = [None]

    def see(layer: LayerAttention) -> None:
        table[0] = fold(layer, table[0])

    out = torch.zeros(pieces.ids.shape, dtype=torch.get_default_dtype(), device=pieces.ids.device)
    for part, some in network.slices(pieces):
        width = int(some.mask.any(0).nonzero().max()) + 1
        table[0] = None
        with measuring(), watching(network.network, Watch(see)):
            network(some)
        out[part, :width] = read(network.rows(some)[:, :width], table[0]).to(out.dtype)
    return out


def _pieces(batch: WordBatch | PieceBatch) -> PieceBatch:
    return batch.pieces if isinstance(batch, WordBatch) else batch


def permuted(seed: int, rows: Collection[int], lengths: Collection[int]) -> Callable[[LayerAttention], Tensor]:
    """The weights of every head and query shuffled over the keys it may look at, by seed, row, length and layer."""

    def change(layer: LayerAttention) -> Tensor:
        new = layer.weights.clone()
        for b, (row, n) in enumerate(zip(rows, lengths, strict=True)):
            rng = np.random.default_rng([seed, row, layer.number])
            noise = torch.from_numpy(rng.random((new.shape[1], n, n), dtype=np.float32)).to(new.device)
            barred = ~layer.allowed[b, :, :n, :n]
            drawn = noise.masked_fill(barred, 2.0).argsort(-1)
            places = barred.to(torch.uint8).argsort(dim=-1, stable=True)
            weights = layer.weights[b, :, :n, :n]
            new[b, :, :n, :n] = torch.zeros_like(weights).scatter(-1, places, weights.gather(-1, drawn))
        return new

    return change
