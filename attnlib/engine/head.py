r"""From the hidden states of many variants to their logits, sharing what is linear.

Attention begins and the decoder ends with a linear map of h_i: keys :math:`W_1 h_i`, token logits
:math:`v_i = W h_i`. A hidden state is made of parts (a forward state, a backward state, the word itself), and
variants of a text have most parts in common. So features :math:`F h = \sum_p F_p h^{(p)}`, with F the two maps
stacked, are computed once for every distinct part and summed for each variant.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnlib.data.batching import Batch
from attnlib.engine.attention import decode
from attnlib.engine.operators import Operator
from attnlib.models.attention import Additive, Dot
from attnlib.models.trace import Trace


class Head:
    """Attention, projection, scaling and decoder of a flat model, for variants of the texts of a batch.

    weight  (F, H), bias (F,): the features of a hidden state: keys, then token logits (or, where the decoder is not
            linear, the state itself)
    """

    def __init__(self, model: nn.Module, batch: Batch, trace: Trace, operator: Operator) -> None:
        self.attention, self.trace, self.operator = model.attention, trace, operator
        self.content = batch.content
        self.query = model.query_vector(batch)
        width = model.reader.width
        like = trace.hidden
        values = trace.weight if trace.linear else torch.eye(width, dtype=like.dtype, device=like.device)
        keys = like.new_zeros(0, width)
        offset = like.new_zeros(0)
        if not isinstance(self.attention, Dot):
            keys, offset = self.attention.key.weight, self.attention.key.bias
        elif self.query is None:
            keys, offset = (self.attention.query * self.attention.scale).unsqueeze(0), like.new_zeros(1)
        self.keys = len(keys)
        self.weight = torch.cat([keys, values])
        self.bias = torch.cat([offset, offset.new_zeros(len(values))])
        self.scale = trace.scale
        self.token = None
        if operator.token is not None:
            self.token = torch.tensor([operator.token], device=like.device)
            self.token_embedding = model.embedding(self.token)
        if self.scale is not None and operator.stays:
            self.token_scale = model.scaling(self.token, self.token_embedding)

        regulariser = model.config.regulariser
        self.words = self.token_word = None
        if regulariser in ("concat", "residual"):
            part = self.weight[:, model.encoder.width :] if regulariser == "concat" else self.weight
            self.words = trace.embedded @ part.T
            self.token_word = self.token_embedding @ part.T if operator.stays else None

    def own(self, texts: Tensor, width: int) -> tuple[Tensor, Tensor | None] | None:
        """What concat and residual add to the features: (R, width, F) of words, (1, F) of the replacement token."""
        return None if self.words is None else (self.words[texts, :width], self.token_word)

    @property
    def width(self) -> int:
        return len(self.weight)

    def logits(self, texts: Tensor, features: Tensor, removed: Tensor) -> Tensor:
        """Logits (R, K, C) float64 of K variants of each of R texts.

        features (R, K, T, F): weight @ h + bias; removed (R, K, T) bool.
        """
        return self.combine(texts, self.scores(texts, features), features[..., self.keys :], removed)

    def scores(self, texts: Tensor, features: Tensor) -> Tensor:
        """Attention scores (R, ...) of features (R, ..., F), whose keys are overwritten."""
        query = None if self.query is None else self.query[texts]
        if type(self.attention) is Additive:
            # tanh x = 1 - 2 σ(-2x): a tanh costs six times as much on a CPU
            squashed = self.attention.joined(features[..., : self.keys], query).mul_(-2).sigmoid_()
            weight = self.attention.out.weight[0]
            return weight.sum() - 2 * (squashed @ weight)
        if not isinstance(self.attention, Dot):
            return self.attention.finish(features[..., : self.keys], query)
        if self.query is None:
            return features[..., 0]
        return self.attention(features, query)

    def combine(self, texts: Tensor, scores: Tensor, values: Tensor, removed: Tensor) -> Tensor:
        """Logits (R, K, C) float64 of scores (R, K, T) and values (R, K, T, ·): token logits or states.

        Where nothing is left the weights, and so the context, are zero.
        """
        width = scores.shape[-1]
        kept = self.content[texts, :width].unsqueeze(1).expand(removed.shape)
        if not self.operator.stays:
            kept = kept & ~removed
        alpha = self.trace.project(scores, kept)
        if self.scale is not None:
            scale = self.scale[texts, :width].unsqueeze(1)
            alpha = alpha * (torch.where(removed, self.token_scale, scale) if self.operator.stays else scale)
        total = (alpha.unsqueeze(-2) @ values).squeeze(-2)
        if self.trace.linear:
            return total.double() + self.trace.bias.double()
        # The decoder knows its texts by their place in the batch, so the others are decoded along as zeros.
        context = total.new_zeros(len(self.content), *total.shape[1:])
        context[texts] = total
        return decode(self.trace, context)[texts]
