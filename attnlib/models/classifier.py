"""AttentionClassifier: a batch to a Trace, from the parts a ModelConfig names."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.errors import ConfigError
from attnlib.models.attention import build_attention
from attnlib.models.encoders import build_encoder
from attnlib.models.projections import Projection
from attnlib.models.regularise import corrupt, join, mlm_loss, tying_loss
from attnlib.models.scaling import build_scaling
from attnlib.models.trace import Trace

if TYPE_CHECKING:
    from attnlib.data.types import Batch

FIRST_WORD = 4
"""Ids below are PAD, UNK, SOS and EOS."""


class Reading(NamedTuple):
    """What a Reader makes of a sequence; shapes as in Trace."""

    hidden: Tensor
    scores: Tensor
    alpha: Tensor
    scale: Tensor | None
    context: Tensor


class Reader(nn.Module):
    r"""Encoder, attention, projection and scaling: a sequence to one vector.

    .. math:: c = \sum_i \alpha_i s_i h_i, \qquad \alpha = \mathrm{proj}(a), \qquad a_i = \mathrm{att}(h_i, q)
    """

    def __init__(
        self, config: ModelConfig, encoder: nn.Module, input_size: int, n_ids: int, query_width: int | None
    ) -> None:
        super().__init__()
        self.config = config
        self.encoder = encoder
        self.width = encoder.width + (input_size if config.regulariser == "concat" else 0)
        self.dropout = nn.Dropout(config.dropout)
        self.attention = build_attention(config, self.width, query_width)
        self.projection = Projection(config)
        self.scaling = build_scaling(config, n_ids, input_size)

    def encode(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, T, D), mask (B, T) -> h (B, T, width): encoder, then concat or residual."""
        return join(self.config.regulariser, self.encoder(embedded, mask), embedded, mask)

    def read(
        self, ids: Tensor | None, embedded: Tensor, mask: Tensor, content: Tensor, query: Tensor | None = None
    ) -> Reading:
        """ids (B, T), embedded (B, T, D), mask and content (B, T), query (B, Q)."""
        return self.attend(ids, embedded, self.dropout(self.encode(embedded, mask)), content, query)

    def attend(
        self, ids: Tensor | None, embedded: Tensor, hidden: Tensor, content: Tensor, query: Tensor | None = None
    ) -> Reading:
        """The second half of `read`, for hidden states that are known already."""
        scores = self.attention(hidden, query)
        alpha = self.projection(scores, content)
        scale = None
        if self.scaling is not None:
            scale = self.scaling(ids, embedded).masked_fill(~content, 0.0)
        weights = alpha if scale is None else alpha * scale
        context = (weights.unsqueeze(-2) @ hidden).squeeze(-2)
        return Reading(hidden, scores, alpha, scale, context)


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
        spread = self.query(query).reshape(query.shape[0], *[1] * (context.dim() - 2), -1)
        return self.out((self.context(context) + spread).tanh())


class Classifier(nn.Module):
    """What the flat and the hierarchical classifier share: word vectors, query, decoder, losses, parts."""

    config: ModelConfig
    embedding: nn.Embedding
    decoder: nn.Module
    query_encoder: nn.Module | None
    mask_id: int | None

    def embed(self, batch: Batch) -> Tensor:
        """(B, T, D) word vectors of a batch; the row of padding is zero."""
        return self.embedding(batch.ids)

    def query_vector(self, batch: Batch) -> Tensor | None:
        """(B, Q) summary of the encoded query, or None for a model without one."""
        if self.query_encoder is None:
            return None
        if batch.query is None or batch.query_mask is None:
            raise ConfigError(
                "This model reads a query, and the batch has none. Use a corpus with queries (babi, snli), or "
                "build the model with query=False."
            )
        hidden = self.query_encoder(self.embedding(batch.query), batch.query_mask)
        return self.query_encoder.summary(hidden, batch.query_mask)

    def finish(self, context: Tensor, query: Tensor | None) -> dict:
        """The fields of a Trace that the decoder decides."""
        if query is None:
            return {
                "logits": self.decoder(context),
                "decode": self.decoder,
                "weight": self.decoder.weight,
                "bias": self.decoder.bias,
            }
        return {
            "logits": self.decoder(context, query),
            "decode": lambda other: self.decoder(other, query),
        }

    def corrupted(self, batch: Batch):
        """The batch's ids with words hidden for mlm."""
        start, stop = self.random_words
        return corrupt(batch.ids, batch.content, self.config.mlm_probability, self.mask_id, (start, stop))

    @property
    def random_words(self) -> tuple[int, int]:
        """Range of ids that stand for words: what mlm draws replacements from."""
        n_ids = self.embedding.num_embeddings
        if self.config.encoder == "bert":
            return 0, n_ids
        return min(FIRST_WORD, n_ids - 1), n_ids - (self.mask_id == n_ids - 1)


def build_embedding(config: ModelConfig, n_ids: int, vectors: np.ndarray | None) -> nn.Embedding:
    """Lookup table (n_ids, D), from N(0, 1) or from `vectors`; the row of padding is zero.

    `vectors` may lack the last row, that of the mask token of mlm, which no file of word vectors has.
    """
    size = config.embedding_size
    embedding = nn.Embedding(n_ids, size, padding_idx=0)
    if vectors is not None:
        rows = {n_ids, n_ids - 1} if config.regulariser == "mlm" else {n_ids}
        if vectors.ndim != 2 or vectors.shape[1] != size or vectors.shape[0] not in rows:
            raise ConfigError(
                f"vectors have shape {tuple(vectors.shape)}; this model needs ({n_ids}, {size}): one row an id, "
                f"as wide as embedding_size. Make them for this vocabulary, or set embedding_size."
            )
        with torch.no_grad():
            embedding.weight[: len(vectors)] = torch.as_tensor(vectors, dtype=embedding.weight.dtype)
            embedding.weight[0] = 0.0
    return embedding


class AttentionClassifier(Reader, Classifier):
    r"""One point of the model space: :math:`z = W \sum_i \alpha_i s_i h_i + b`.

    n_ids    rows of the lookup table: the vocabulary, and for mlm one more, the mask token
    vectors  (n_ids, D) initial word vectors, or None for random ones
    query    whether texts come with a query: a second encoder of the same kind reads it, attention sees its
             summary, and the decoder joins it with the context
    mask_id  id of the mask token of mlm; None: the last row
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
        embedding = build_embedding(config, n_ids, vectors)
        encoder = build_encoder(config, embedding.embedding_dim)
        query_width = encoder.width if query else None
        super().__init__(config, encoder, embedding.embedding_dim, n_ids, query_width)
        self.embedding = embedding
        self.query_encoder = build_encoder(config, embedding.embedding_dim) if query else None
        self.mask_id = n_ids - 1 if mask_id is None and config.regulariser == "mlm" else mask_id
        if query_width is None:
            self.decoder = nn.Linear(self.width, n_classes)
        else:
            self.decoder = JoinDecoder(self.width, query_width, n_classes)

    def forward(self, batch: Batch, embedded: Tensor | None = None) -> Trace:
        """One pass. `embedded` (B, T, D) stands in for the lookup, for gradients with respect to it."""
        embedded = self.embed(batch) if embedded is None else embedded
        query = self.query_vector(batch)
        reading = self.read(batch.ids, embedded, batch.mask, batch.content, query)
        return Trace(
            mask=batch.content,
            embedded=embedded,
            project=self.projection.exact,
            **reading._asdict(),
            **self.finish(reading.context, query),
        )

    def regularisation(self, trace: Trace, batch: Batch) -> dict[str, Tensor]:
        """Weighted losses of tying or mlm, by name; empty in eval mode and for other regularisers."""
        config = self.config
        if not self.training:
            return {}
        if config.regulariser == "tying":
            loss = tying_loss(trace.hidden, trace.embedded, trace.mask, squared=config.tying_squared)
            return {"tying": config.tying_delta * loss}
        if config.regulariser == "mlm":
            ids, chosen = self.corrupted(batch)
            hidden = self.encoder(self.embedding(ids), batch.mask)
            return {"mlm": config.mlm_eta * mlm_loss(hidden, batch.ids, chosen, self.embedding.weight)}
        return {}

    def parts(self) -> dict[str, nn.Module]:
        """Every parameter, in exactly one of `attnlib.config.PARTS`; an absent part is an empty module."""
        encoders = [e for e in (self.encoder, self.query_encoder) if e is not None]
        return {
            "embedding": self.embedding,
            "encoder": nn.ModuleList(encoders),
            "attention": self.attention,
            "scaling": nn.ModuleList() if self.scaling is None else self.scaling,
            "decoder": self.decoder,
        }
