"""TaSc: task-scaling of attention by one learned number per word type (Chrysostomou & Aletras 2021, section 4).

Every module maps `ids` (B, T) and `embedded` (B, T, D) to s (B, T), which multiplies alpha. u and U start in
U(-1/sqrt(|V|), 1/sqrt(|V|)).
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.utils.registry import Registry

SCALINGS: Registry[type[Scaling]] = Registry("scaling")


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
        ids = torch.arange(self.table.num_embeddings, device=vectors.device)
        return self(ids, vectors)


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
    r""":math:`s_i = \sum_n [\mathrm{conv}_{1 \times 1}(u_{x_i} e_i)]_n` (section 4.3): |V| + n D + n parameters.

    A 1×1 convolution is one linear map at every position, so it is written as such.
    """

    def __init__(self, config: ModelConfig, n_ids: int, embedding_size: int) -> None:
        super().__init__(config, n_ids, 1)
        self.channels = nn.Linear(embedding_size, config.scaling_channels)

    def forward(self, ids: Tensor, embedded: Tensor) -> Tensor:
        return self.pooled(self.channels(self.table(ids) * embedded))
