"""Tutek & Šnajder 2020: concat and residual change what attention reads; tying and mlm add to the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from attnlib.config import ModelConfig
from attnlib.models.encoders import blank
from attnlib.utils.registry import Registry

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.models.classifier import Classifier
    from attnlib.models.trace import Trace

REGULARISERS: Registry[type[Regulariser]] = Registry("regulariser")
FIRST_WORD = 4
"""Ids below are PAD, UNK, SOS and EOS."""
GUESSED_AT_ONCE = 2**18
"""Logits over the vocabulary held at once: a megabyte, which stays in the cache."""


@REGULARISERS.register("none")
class Regulariser(nn.Module):
    """Changes nothing; the others replace one method or another. `config` is that of the model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config

    def width(self, hidden: int, embedded: int) -> int:
        """Width of what attention reads, from those of h and e."""
        return hidden

    def join(self, hidden: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        """What attention reads: hidden (B, T, H), embedded (B, T, D), mask (B, T) -> (B, T, width)."""
        return hidden

    def losses(self, model: Classifier, trace: Trace, batch: Batch) -> dict[str, Tensor]:
        """What training adds to the loss, by name."""
        return {}


@REGULARISERS.register("concat")
class Concat(Regulariser):
    r""":math:`h_i = [\mathrm{enc}(e)_i; e_i]` (eq. 2)."""

    def width(self, hidden: int, embedded: int) -> int:
        return hidden + embedded

    def join(self, hidden: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        return torch.cat([hidden, blank(embedded, mask)], -1)


@REGULARISERS.register("residual")
class Residual(Regulariser):
    r""":math:`h_i = e_i + \mathrm{enc}(e)_i` (eq. 3)."""

    def join(self, hidden: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
        return hidden + blank(embedded, mask)


@REGULARISERS.register("tying")
class Tying(Regulariser):
    """`tying_loss` times `tying_delta`."""

    def losses(self, model: Classifier, trace: Trace, batch: Batch) -> dict[str, Tensor]:
        hidden, embedded = model.words(trace)
        loss = tying_loss(hidden, embedded, batch.content, squared=self.config.tying_squared)
        return {"tying": self.config.tying_delta * loss}


@REGULARISERS.register("mlm")
class MaskedWords(Regulariser):
    """`mlm_loss` of the text with some words hidden (`corrupt`), times `mlm_eta`."""

    def losses(self, model: Classifier, trace: Trace, batch: Batch) -> dict[str, Tensor]:
        words, mask_id = (0, model.embedding.num_embeddings), model.mask_id
        if self.config.encoder != "bert":
            stop = words[1] - (mask_id == words[1] - 1)
            words = min(FIRST_WORD, stop - 1), stop
        ids, chosen = corrupt(batch.ids, batch.content, self.config.mlm_probability, mask_id, words)
        hidden = model.encoded(model.embedding(ids), batch)
        return {"mlm": self.config.mlm_eta * mlm_loss(hidden, batch.ids, chosen, model.embedding.weight)}


def tying_loss(hidden: Tensor, embedded: Tensor, mask: Tensor, *, squared: bool = True) -> Tensor:
    r""":math:`\frac{1}{T} \sum_t \|h_t - e_t\|_2^2` over all T real tokens of the batch (eq. 4); unsquared as in
    the authors' later code."""
    # Masked before the norm: its gradient at a zero difference of two padded positions would be NaN otherwise.
    difference = (hidden - embedded)[mask]
    distance = difference.square().sum(-1) if squared else torch.linalg.vector_norm(difference, dim=-1)
    return distance.sum() / max(len(distance), 1)


def corrupt(
    ids: Tensor, content: Tensor, probability: float, mask_id: int, words: tuple[int, int]
) -> tuple[Tensor, Tensor]:
    """Choose each content token with `probability`; of those 80 % become `mask_id`, 10 % a random word, 10 % stay.

    ids, content (B, T) -> ids with some words hidden, and (B, T) bool: which ones must be guessed. `words` is the
    half-open range of ids to draw random words from.
    """
    chosen = (torch.rand(ids.shape, device=ids.device) < probability) & content
    fate = torch.rand(ids.shape, device=ids.device)
    random = torch.randint(words[0], words[1], ids.shape, device=ids.device)
    changed = ids.masked_fill(chosen & (fate < 0.8), mask_id)
    return torch.where(chosen & (fate >= 0.9), random, changed), chosen


def mlm_loss(hidden: Tensor, ids: Tensor, chosen: Tensor, vectors: Tensor) -> Tensor:
    r"""Cross-entropy of guessing the chosen words from their states, summed over a text, mean over texts.

    .. math:: p(w \mid h_t) = \mathrm{softmax}(E h_t)_w

    Section 3.1. hidden (B, T, D) of the corrupted texts, ids (B, T) before corruption, vectors E (|V|, D), which
    the loss does not train.
    """
    return _Guesses.apply(hidden[chosen], ids[chosen], vectors.detach()) / ids.shape[0]


class _Guesses(torch.autograd.Function):
    r"""Summed cross-entropy of E h_n (N, |V|) with words w_n, and its gradient :math:`E^\top p_n - e_{w_n}`: a few
    rows at a time give both, while their logits are still in the cache."""

    @staticmethod
    @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
    def forward(ctx, hidden: Tensor, words: Tensor, vectors: Tensor) -> Tensor:
        loss, gradient = hidden.new_zeros(()), torch.empty_like(hidden)
        step = max(1, GUESSED_AT_ONCE // len(vectors))
        for rows, wanted, out in zip(hidden.split(step), words.split(step), gradient.split(step), strict=True):
            logits = rows @ vectors.T
            right = logits.gather(1, wanted.unsqueeze(1))
            top = logits.amax(1, keepdim=True)
            total = logits.sub_(top).exp_().sum(1, keepdim=True)
            loss += (total.log() + top - right).sum()
            torch.mm(logits, vectors, out=out).div_(total).sub_(vectors[wanted])
        ctx.save_for_backward(gradient)
        return loss

    @staticmethod
    @once_differentiable
    @torch.amp.custom_bwd(device_type="cuda")
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None, None]:
        return gradient * ctx.saved_tensors[0], None, None
