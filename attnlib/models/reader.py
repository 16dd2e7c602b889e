"""Reader: a sequence of word (or sentence) vectors to one context vector."""

from __future__ import annotations

from typing import Any, NamedTuple

from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.models.attention import build_attention
from attnlib.models.projections import Projection
from attnlib.models.regularise import join
from attnlib.models.scaling import build_scaling
from attnlib.models.trace import Trace


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
        self.width = encoder.width + (input_size if config.regulariser == "concat" else 0)
        self.before, self.dropout = nn.Dropout(config.embedding_dropout), nn.Dropout(config.dropout)
        self.attention = build_attention(config, self.width, query_width)
        self.projection = Projection(config)
        self.scaling = build_scaling(config, n_ids, input_size)

    def encode(self, embedded: Tensor, mask: Tensor) -> Tensor:
        """embedded (B, T, D), mask (B, T) -> h (B, T, width): encoder, then concat or residual."""
        return join(self.config.regulariser, self.encoder(embedded, mask), embedded, mask)

    def read(
        self, ids: Tensor | None, embedded: Tensor, mask: Tensor, content: Tensor, query: Tensor | None = None
    ) -> Readout:
        """ids (B, T), embedded (B, T, D), mask and content (B, T), query (B, Q). Only a scaling needs ids."""
        return self.attend(ids, embedded, self.dropout(self.encode(self.before(embedded), mask)), content, query)

    def trace(self, reading: Readout, **fields: Any) -> Trace:
        """The Trace of what was read; `fields` are those that the sequence and the decoder decide."""
        projection = self.projection
        return Trace(project=projection.exact, exponential=projection.exponential, **reading._asdict(), **fields)

    def attend(
        self, ids: Tensor | None, embedded: Tensor, hidden: Tensor, content: Tensor, query: Tensor | None = None
    ) -> Readout:
        """The second half of `read`, for hidden states (B, T, width) that are known already."""
        scores = self.attention(hidden, query)
        alpha = self.projection(scores, content)
        scale = None
        if self.scaling is not None:
            scale = self.scaling(ids, embedded).masked_fill(~content, 0.0)
        weights = alpha if scale is None else alpha * scale
        context = (weights.unsqueeze(-2) @ hidden).squeeze(-2)
        return Readout(hidden, scores, alpha, scale, context)
