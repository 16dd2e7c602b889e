"""Attention: one score per position, from h_i and, in QA and NLI, from a query vector."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.utils.registry import Registry

ATTENTIONS: Registry[type[nn.Module]] = Registry("attention")


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
