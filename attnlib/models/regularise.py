"""Tutek & Šnajder 2020: keep h_i close to its word.

concat and residual change what attention reads (`join`); tying and mlm add to the loss.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from attnlib.models.masking import blank


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
    logits = hidden[chosen] @ vectors.detach().T
    return F.cross_entropy(logits, ids[chosen], reduction="sum") / ids.shape[0]
