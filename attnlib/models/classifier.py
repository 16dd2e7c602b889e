"""AttentionClassifier: a batch to a Trace, from the parts a ModelConfig names; Reader: a sequence to a context."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.data.batching import Batch
from attnlib.models.attention import ATTENTIONS, SCALINGS, spread
from attnlib.models.bert import Bert
from attnlib.models.encoders import ENCODERS
from attnlib.models.projections import Projection
from attnlib.models.regularise import REGULARISERS
from attnlib.models.trace import Trace


class JoinDecoder(nn.Module):
    r"""Context and query to logits (Jain & Wallace 2019): :math:`z = W \tanh(W_p c + W_q q + b_p) + b`."""

    def __init__(self, width: int, query_width: int, n_classes: int) -> None:
        super().__init__()
        inner = max(1, width // 2)
        self.context = nn.Linear(width, inner)
        self.query = nn.Linear(query_width, inner, bias=False)
        self.out = nn.Linear(inner, n_classes)

    def forward(self, context: Tensor, query: Tensor) -> Tensor:
        """context (B, ..., H), query (B, Q) -> (B, ..., C)."""
        return self.out((self.context(context) + spread(self.query(query), context)).tanh())


class Readout(NamedTuple):
    """What a Reader makes of a sequence; shapes as in Trace."""

    hidden: Tensor
    scores: Tensor
    alpha: Tensor
    scale: Tensor | None
    context: Tensor


class Reader(nn.Module):
    r"""Encoder, attention, projection and scaling.

    .. math:: c = \sum_i \alpha_i s_i h_i, \qquad \alpha = \mathrm{proj}(a), \qquad a_i = \mathrm{att}(h_i, q)

    input_size   width of what the encoder reads
    n_ids        rows of the table of a scaling
    query_width  width of the query vector, or None without one
    """

    def __init__(
        self, config: ModelConfig, encoder: nn.Module, input_size: int, n_ids: int, query_width: int | None
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.regulariser = REGULARISERS[config.regulariser](config)
        self.width = self.regulariser.width(encoder.width, input_size)
        self.before, self.dropout = nn.Dropout(config.embedding_dropout), nn.Dropout(config.dropout)
        self.attention = ATTENTIONS[config.attention](config, self.width, query_width)
        self.projection = Projection(config)
        self.scaling = None
        if config.scaling != "none":
            self.scaling = SCALINGS[config.scaling](config, n_ids, input_size)

    def encode(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, T, D), mask (B, T) -> h (B, T, width): encoder, then concat or residual."""
        return self.regulariser.join(self.encoder(embedded, mask), embedded, mask)

    def read(self, ids: Tensor | None, embedded: Tensor, mask: Tensor, content: Tensor, query=None) -> Readout:
        """ids (B, T), embedded (B, T, D), mask and content (B, T), query (B, Q). Only a scaling needs ids."""
        return self.attend(ids, embedded, self.dropout(self.encode(self.before(embedded), mask)), content, query)

    def trace(self, reading: Readout, **fields: Any) -> Trace:
        """The Trace of what was read; `fields` are those that the sequence and the decoder decide."""
        projection = self.projection
        return Trace(project=projection.exact, exponential=projection.exponential, **reading._asdict(), **fields)

    def attend(self, ids: Tensor | None, embedded: Tensor, hidden: Tensor, content: Tensor, query=None) -> Readout:
        """The second half of `read`, for hidden states (B, T, width) that are known already."""
        scores = self.attention(hidden, query)
        alpha = self.projection(scores, content)
        scale = None if self.scaling is None else self.scaling(ids, embedded).masked_fill(~content, 0.0)
        weights = alpha if scale is None else alpha * scale
        context = (weights.unsqueeze(-2) @ hidden).squeeze(-2)
        return Readout(hidden, scores, alpha, scale, context)


class Classifier(nn.Module):
    """What the flat and the hierarchical classifier share: word vectors, query, decoder, losses.

    n_ids    rows of the lookup table: the vocabulary, and for mlm on words one more, the mask token
    vectors  (n_ids, D) initial word vectors, without a row for the mask token, or None for random ones, N(0, 1)
    query    whether texts come with a query: a second encoder of the same kind reads it, attention sees its
             summary, and the decoder joins it with the context. (bert reads both texts with the same weights.)
    mask_id  id of the mask token of mlm; None: the last row

    A subclass makes its readers (`_build` -> width of the context) and names them from words up (`_readers`);
    `words(trace)` are h (B, T, H) and e (B, T, D) of every word, `encoded(embedded, batch)` (B, T, H) the encoder's
    output for other embeddings of the same positions.
    """

    def __init__(
        self,
        config: ModelConfig,
        n_ids: int,
        n_classes: int,
        vectors: np.ndarray | None = None,
        query: bool = False,
        *,
        mask_id: int | None = None,
    ) -> None:
        super().__init__()
        self.config = config
        self.query_encoder: nn.Module | None = None
        if config.encoder == "bert":
            encoder, self.embedding = Bert.from_config(config)
            n_ids = self.embedding.num_embeddings
        else:
            self.embedding = nn.Embedding(n_ids, config.embedding_size, padding_idx=0)
            if vectors is not None:
                with torch.no_grad():
                    weight = self.embedding.weight
                    weight[: len(vectors)] = torch.as_tensor(vectors, dtype=weight.dtype)
                    weight[0] = 0.0
            encoder = ENCODERS[config.encoder](config, self.embedding.embedding_dim)
            if query:
                self.query_encoder = ENCODERS[config.encoder](config, self.embedding.embedding_dim)
        self.mask_id = n_ids - 1 if mask_id is None else mask_id
        self.query_width = encoder.width if query else None
        width = self._build(encoder, n_ids)
        self.decoder = JoinDecoder(width, self.query_width, n_classes) if query else nn.Linear(width, n_classes)
        self.logit_dropout = nn.Dropout(config.logit_dropout)

    def embed(self, batch: Batch) -> Tensor:
        """(B, T, D) word vectors of a batch."""
        return self.embedding(batch.ids)

    def query_vector(self, batch: Batch) -> Tensor | None:
        """(B, Q) summary of the encoded query, or None for a model without one."""
        if self.query_width is None:
            return None
        encoder = self._readers()[0].encoder if self.query_encoder is None else self.query_encoder
        hidden = encoder(self.embedding(batch.query), batch.query_mask)
        return encoder.summary(hidden, batch.query_mask)

    def decoded(self, context: Tensor, query: Tensor | None) -> dict[str, Any]:
        """The fields of a Trace that the decoder decides."""
        decoder = self.decoder
        decode = decoder if query is None else lambda other: decoder(other, query)
        linear = {"weight": decoder.weight, "bias": decoder.bias} if query is None else {}
        return {"logits": self.logit_dropout(decode(context)), "decode": decode, **linear}

    def regularisation(self, trace: Trace, batch: Batch) -> dict[str, Tensor]:
        """Losses of the regulariser, by name; empty in eval mode."""
        return self._readers()[0].regulariser.losses(self, trace, batch) if self.training else {}

    @property
    def scaling(self) -> nn.Module | None:
        return self._readers()[0].scaling

    def parts(self) -> dict[str, nn.Module]:
        """Every parameter, in exactly one of `attnlib.config.PARTS`; an absent part is an empty module."""
        readers = self._readers()
        encoders = [*(reader.encoder for reader in readers), self.query_encoder]
        attentions = nn.ModuleList(reader.attention for reader in readers)
        return {
            "embedding": self.embedding,
            "encoder": nn.ModuleList(e for e in encoders if e is not None),
            "attention": attentions if len(readers) > 1 else attentions[0],
            "scaling": nn.ModuleList() if self.scaling is None else self.scaling,
            "decoder": self.decoder,
        }


class AttentionClassifier(Classifier):
    r"""One point of the model space: :math:`z = W \sum_i \alpha_i s_i h_i + b`. FLAN of Serrano & Smith."""

    def _build(self, encoder: nn.Module, n_ids: int) -> int:
        self.reader = Reader(self.config, encoder, self.embedding.embedding_dim, n_ids, self.query_width)
        return self.reader.width

    encoder = property(lambda self: self.reader.encoder)
    attention = property(lambda self: self.reader.attention)

    def forward(self, batch: Batch, embedded: Tensor | None = None, hidden: Tensor | None = None) -> Trace:
        """One pass. `embedded` (B, T, D) replaces the lookup, for gradients with respect to it; `hidden` (B, T, H)
        replaces the encoder's states, where they are known already."""
        embedded = self.embed(batch) if embedded is None else embedded
        query = self.query_vector(batch)
        reader = self.reader
        if hidden is None:
            hidden = reader.encode(reader.before(embedded), batch.mask)
        reading = reader.attend(batch.ids, embedded, reader.dropout(hidden), batch.content, query)
        decided = self.decoded(reading.context, query)
        return reader.trace(reading, mask=batch.content, embedded=embedded, **decided)

    def _readers(self) -> Sequence[Reader]:
        return (self.reader,)

    def words(self, trace: Trace) -> tuple[Tensor, Tensor]:
        return trace.hidden, trace.embedded

    def encoded(self, embedded: Tensor, batch: Batch) -> Tensor:
        return self.encoder(embedded, batch.mask)
