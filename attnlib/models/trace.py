"""Trace: everything that a test may need from one forward pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import Tensor


@dataclass(frozen=True)
class Trace:
    r"""One forward pass over B texts of T positions.

    .. math:: c = \sum_i \alpha_i s_i h_i, \qquad z = W c + b = b + \sum_i \alpha_i s_i v_i, \qquad v_i = W h_i

    mask      (B, T) bool: attended positions (padding and special tokens are not)
    embedded  (B, T, D) e_i, what the encoder reads
    hidden    (B, T, H) h_i, what attention reads
    scores    (B, T) attention scores before the projection; finite everywhere, meaningless where masked
    alpha     (B, T) attention weights: on the simplex, exactly zero where masked
    scale     (B, T) s_i of TaSc, or None without scaling
    context   (B, H)
    logits    (B, C)
    decode    context (..., H) with the texts in the first dimension -> logits (..., C), for any context
    weight    (C, H) of a linear decoder, or None where the decoder also joins a query
    bias      (C,) likewise
    project   scores (..., T), mask (..., T) -> weights: the model's projection without noise
    exponential  whether alpha is a softmax of the scores: removing a position then only renormalises the others
    words     for a hierarchical model, the trace of its word level, texts' sentences as rows; else None.
              T then counts sentences. `words.mask` is (B * S, T_w), and its logits are the sentence vectors
    positions  for a hierarchical model, (B, T) of the batch: index of each position in the S * T_w places of
              its text, -1 for padding; else None

    >>> trace = fitted.trace(corpus.test[:2])
    >>> trace.alpha.sum(1).round(decimals=4).tolist()
    [1.0, 1.0]
    >>> logits = trace.bias + (trace.weights.unsqueeze(-1) * trace.token_logits).sum(1)
    >>> bool((logits - trace.logits).abs().max() < 1e-4)
    True
    """

    mask: Tensor
    embedded: Tensor
    hidden: Tensor
    scores: Tensor
    alpha: Tensor
    scale: Tensor | None
    context: Tensor
    logits: Tensor
    decode: Callable[[Tensor], Tensor]
    project: Callable[[Tensor, Tensor], Tensor]
    weight: Tensor | None = None
    bias: Tensor | None = None
    exponential: bool = False
    words: Trace | None = None
    positions: Tensor | None = None

    @property
    def linear(self) -> bool:
        """Whether logits are linear in the context, so that closed forms reach the logits."""
        return self.weight is not None

    @property
    def weights(self) -> Tensor:
        """(B, T) alpha_i s_i: what multiplies h_i."""
        return self.alpha if self.scale is None else self.alpha * self.scale

    @property
    def token_alpha(self) -> Tensor:
        """(B, T) of the batch: alpha of every word; in a hierarchical model that of its sentence times its own."""
        if self.words is None:
            return self.alpha
        places = self.alpha.unsqueeze(-1) * self.words.alpha.reshape(*self.alpha.shape, -1)
        found = places.flatten(1).gather(1, self.positions.clamp_min(0))
        return found.masked_fill(self.positions < 0, 0.0)

    @property
    def token_logits(self) -> Tensor:
        """(B, T, C) v_i = W h_i, for a linear decoder."""
        if self.weight is None:
            raise ValueError("token_logits need a linear decoder. Use trace.decode on contexts.")
        return self.hidden @ self.weight.T

    @property
    def probabilities(self) -> Tensor:
        """(B, C) softmax of the logits."""
        return self.logits.softmax(-1)

    @property
    def prediction(self) -> Tensor:
        """(B,) argmax of the logits."""
        return self.logits.argmax(-1)

    @property
    def lengths(self) -> Tensor:
        """(B,) attended positions."""
        return self.mask.sum(1)
