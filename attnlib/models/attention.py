"""Attention: one score per position, from h_i and, in QA and NLI, from a query vector; and its scaling, TaSc.

TaSc multiplies alpha by s (B, T), from one learned number per word type (Chrysostomou & Aletras 2021, section 4):
`ids` (B, T) and `embedded` (B, T, D) to s. u and U start in U(-1/sqrt(|V|), 1/sqrt(|V|)).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.utils.registry import Registry

ATTENTIONS: Registry[type[nn.Module]] = Registry("attention")
SCALINGS: Registry[type[Scaling]] = Registry("scaling")


def spread(query: Tensor, like: Tensor) -> Tensor:
    """One vector per text (B, N), over every position of `like` (B, ..., N)."""
    return query.reshape(query.shape[0], *[1] * (like.dim() - 2), -1)


@ATTENTIONS.register("additive")
class Additive(nn.Module):
    r"""Bahdanau attention as in Jain & Wallace 2019 (`Tanh` of Chrysostomou & Aletras 2021).

    .. math:: a_i = v^\top \tanh(W_1 h_i + b + W_2 q)

    hidden (B, T, H), query (B, Q) or None -> (B, T). Inner width `attention_size`, by default H / 2.
    """

    def __init__(self, config: ModelConfig, width: int, query_width: int | None = None, layers: int = 1) -> None:
        super().__init__()
        inner = config.attention_size or max(1, width // 2)
        self.key = nn.Linear(width, inner)
        self.query = None if query_width is None else nn.Linear(query_width, inner, bias=False)
        self.layers = nn.ModuleList(nn.Linear(inner, inner) for _ in range(layers - 1))
        self.out = nn.Linear(inner, 1, bias=False)

    def forward(self, hidden: Tensor, query: Tensor | None = None) -> Tensor:
        return self.finish(self.key(hidden), query)

    def finish(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        """Scores from W_1 h_i + b (B, ..., A): erasure shares these sums between variants of a text."""
        return self.out(self.joined(keys, query).tanh()).squeeze(-1)

    def joined(self, keys: Tensor, query: Tensor | None) -> Tensor:
        """keys (B, ..., A) + W q, the query (B, Q) spread over every position of its text."""
        return keys if self.query is None else keys + spread(self.query(query), keys)


@ATTENTIONS.register("dot")
class Dot(nn.Module):
    r"""Dot attention: :math:`a_i = h_i^\top q / \sqrt{H}` (`dot_scaled`; unscaled in Wen et al. 2022, eq. 5).

    hidden (B, T, H), query (B, Q) or None -> (B, T). With a query, q = W_q query. Without, q is a parameter, drawn
    from N(0, 1) as Tutek & Šnajder 2020, App. C, recommend, or from U(-1/sqrt(H), 1/sqrt(H)) (`kaiming`: torch's
    default, and that of Chrysostomou & Aletras 2021), under which attention stays near uniform for long.
    """

    def __init__(self, config: ModelConfig, width: int, query_width: int | None = None) -> None:
        super().__init__()
        root = math.sqrt(width)
        self.scale = 1 / root if config.dot_scaled else 1.0
        if query_width is not None:
            self.query = nn.Linear(query_width, width, bias=False)
            return
        self.query = nn.Parameter(torch.empty(width))
        if config.dot_init == "normal":
            nn.init.normal_(self.query)
        else:
            nn.init.uniform_(self.query, -1 / root, 1 / root)

    def forward(self, hidden: Tensor, query: Tensor | None = None) -> Tensor:
        if isinstance(self.query, nn.Parameter):
            return hidden @ self.query * self.scale
        return (hidden * spread(self.query(query), hidden)).sum(-1) * self.scale


@ATTENTIONS.register("deep")
class Deep(Additive):
    r"""Attention by a ReLU network of `attention_layers` hidden layers (Wen et al. 2022).

    .. math:: z^1 = \mathrm{relu}(W_1 h_i + b_1 + W_q q), \quad z^l = \mathrm{relu}(W_l z^{l-1} + b_l), \quad
        a_i = v^\top z^s

    The paper leaves s open; two by default.
    """

    def __init__(self, config: ModelConfig, width: int, query_width: int | None = None) -> None:
        super().__init__(config, width, query_width, config.attention_layers)

    def finish(self, keys: Tensor, query: Tensor | None = None) -> Tensor:
        inner = self.joined(keys, query).relu()
        for layer in self.layers:
            inner = layer(inner).relu()
        return self.out(inner).squeeze(-1)


class Scaling(nn.Module):
    """What the three variants share: a table of `columns` numbers per word, and the pooling of footnote 4."""

    def __init__(self, config: ModelConfig, n_ids: int, columns: int) -> None:
        super().__init__()
        self.pool = config.scaling_pool
        self.table = nn.Embedding(n_ids, columns)
        nn.init.uniform_(self.table.weight, -1 / math.sqrt(n_ids), 1 / math.sqrt(n_ids))

    def pooled(self, values: Tensor) -> Tensor:
        """(..., K) -> (...): sum (the paper), mean or max."""
        if self.pool == "sum":
            return values.sum(-1)
        return values.mean(-1) if self.pool == "mean" else values.amax(-1)

    @torch.no_grad()
    def word_scores(self, vectors: Tensor) -> Tensor:
        """(|V|,): s of every word type, given the embedding matrix (|V|, D)."""
        return self(torch.arange(self.table.num_embeddings, device=vectors.device), vectors)


@SCALINGS.register("lin")
class Lin(Scaling):
    r""":math:`s_i = \sum_d u_{x_i} e_{i,d}` (eq. 6, section 4.1): |V| parameters. Pool `direct`: s_i = u."""

    def __init__(self, config: ModelConfig, n_ids: int, embedding_size: int) -> None:
        super().__init__(config, n_ids, 1)

    def forward(self, ids: Tensor, embedded: Tensor) -> Tensor:
        factor = self.table(ids)
        return factor.squeeze(-1) if self.pool == "direct" else self.pooled(factor * embedded)


@SCALINGS.register("feat")
class Feat(Scaling):
    r""":math:`s_i = \sum_d U_{x_i,d} e_{i,d}`: a factor for every feature of every word (section 4.2), |V| D
    parameters."""

    def __init__(self, config: ModelConfig, n_ids: int, embedding_size: int) -> None:
        super().__init__(config, n_ids, embedding_size)

    def forward(self, ids: Tensor, embedded: Tensor) -> Tensor:
        return self.pooled(self.table(ids) * embedded)


@SCALINGS.register("conv")
class Conv(Scaling):
    r""":math:`s_i = \sum_n [\mathrm{conv}_{1 \times 1}(u_{x_i} e_i)]_n` (section 4.3): |V| + n D + n parameters."""

    def __init__(self, config: ModelConfig, n_ids: int, embedding_size: int) -> None:
        super().__init__(config, n_ids, 1)
        self.channels = nn.Linear(embedding_size, config.scaling_channels)  # a 1×1 convolution is a linear map

    def forward(self, ids: Tensor, embedded: Tensor) -> Tensor:
        return self.pooled(self.channels(self.table(ids) * embedded))
