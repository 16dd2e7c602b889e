"""Decoders: a context vector, and in QA and NLI a query vector, to logits."""

from __future__ import annotations

from torch import Tensor, nn


class JoinDecoder(nn.Module):
    r"""Context and query to logits (Jain & Wallace 2019): :math:`z = W \tanh(W_p c + W_q q + b_p) + b`.

    Not linear in c, so that closed forms stop at the context. The inner width is half of the context's.
    """

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


def build_decoder(width: int, n_classes: int, query_width: int | None = None) -> nn.Module:
    """z = W c + b, or with a query the joint decoder."""
    if query_width is None:
        return nn.Linear(width, n_classes)
    return JoinDecoder(width, query_width, n_classes)
