"""Self-attention inside a transformer, seen and replaced where it is computed.

transformers lets a model use an attention function of one's own, by name. Ours runs the model's own plain
attention, shows its weights to whoever watches, and forgets them: a watcher keeps one number per piece, so memory
never grows with texts × T². It changes nothing unless a `change` is asked for, and then the weights alone.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

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
    """see: told of every layer in turn; change: new weights of a layer, or None to leave it; calls: layers seen."""

    see: Callable[[LayerAttention], None] | None = None
    change: Callable[[LayerAttention], Tensor | None] | None = None
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
    """The model's own plain attention; the weights are handed to the watcher and not returned."""
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
    if watch.see is not None:
        watch.see(layer)
    new = None if watch.change is None else watch.change(layer)
    if new is not None:
        output = (new.to(value.dtype) @ value).transpose(1, 2).contiguous()
    return output, None


def permuted(seed: int, rows: Collection[int], lengths: Collection[int]) -> Callable[[LayerAttention], Tensor]:
    """The weights of every head and query shuffled over the keys it may look at.

    A text's draws depend on the seed, its number in `rows`, its length and the layer alone.
    """

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
