"""Tutek & Šnajder 2020: keep h_i close to its word.

concat and residual change what attention reads (`join`); tying and mlm add to the loss.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from attnlib.models.encoders import blank

GUESSED_AT_ONCE = 2**18
"""Logits over the vocabulary that are held at once: a megabyte, which stays in the cache."""


def join(regulariser: str, hidden: Tensor, embedded: Tensor, mask: Tensor) -> Tensor:
    r"""concat: :math:`h_i = [\mathrm{enc}(e)_i; e_i]`; residual: :math:`h_i = e_i + \mathrm{enc}(e)_i` (eq. 2, 3).

    hidden (B, T, H), embedded (B, T, D), mask (B, T). Other regularisers leave h as it is.
    """
    if regulariser not in ("concat", "residual"):
        return hidden
    words = blank(embedded, mask)
    return torch.cat([hidden, words], -1) if regulariser == "concat" else hidden + words


def tying_loss(hidden: Tensor, embedded: Tensor, mask: Tensor, *, squared: bool = True) -> Tensor:
    r""":math:`\frac{1}{T} \sum_t \|h_t - e_t\|_2^2`, mean over all T real tokens of the batch (eq. 4).

    hidden, embedded (B, T, D), mask (B, T) -> (). `squared=False` takes the norm itself, as the authors' later
    code does.
    """
    # Masked before the norm: its gradient at a zero difference of two padded positions would be NaN otherwise.
    difference = (hidden - embedded)[mask]
    distance = difference.square().sum(-1) if squared else torch.linalg.vector_norm(difference, dim=-1)
    return distance.sum() / max(len(distance), 1)


class Corrupted(NamedTuple):
    """ids (B, T) with some words hidden, and `chosen` (B, T) bool: which ones must be guessed."""

    ids: Tensor
    chosen: Tensor


def corrupt(ids: Tensor, content: Tensor, probability: float, mask_id: int, words: tuple[int, int]) -> Corrupted:
    """Choose each content token with `probability`; of those 80 % become `mask_id`, 10 % a random word, 10 % stay.

    ids, content (B, T). `words` is the half-open range of ids to draw random words from. Randomness comes
    from torch's generator.
    """
    chosen = (torch.rand(ids.shape, device=ids.device) < probability) & content
    fate = torch.rand(ids.shape, device=ids.device)
    random = torch.randint(words[0], words[1], ids.shape, device=ids.device)
    changed = ids.masked_fill(chosen & (fate < 0.8), mask_id)
    return Corrupted(torch.where(chosen & (fate >= 0.9), random, changed), chosen)


def mlm_loss(hidden: Tensor, ids: Tensor, chosen: Tensor, vectors: Tensor) -> Tensor:
    r"""Cross-entropy of guessing the chosen words from their states, summed over a text, mean over texts.

    .. math:: p(w \mid h_t) = \mathrm{softmax}(E h_t)_w

    Section 3.1, around eq. 5. hidden (B, T, D) of the corrupted texts, ids (B, T) before corruption, chosen (B, T),
    vectors E (|V|, D), which the loss does not train -> ().
    """
    return _Guesses.apply(hidden[chosen], ids[chosen], vectors.detach()) / ids.shape[0]


class _Guesses(torch.autograd.Function):
    r"""Summed cross-entropy of E h_n (N, |V|) with words w_n, over the whole vocabulary.

    Its gradient is :math:`E^\top p_n - e_{w_n}`, so a few rows at a time give loss and gradient in one go, while
    their logits are still in the cache; none are kept for the backward pass.
    """

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
