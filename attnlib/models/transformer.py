"""A small Transformer encoder, exact under padding and plain enough for vmap."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.models.masking import Averaged, blank
from attnlib.models.projections import softmax

POSITION_SCALE = 0.1
"""Initial size of positions next to words: word vectors are about this small, and order matters less than words."""


def positions(length: int, width: int, like: Tensor) -> Tensor:
    r"""(length, width) sinusoids of Vaswani et al. 2017: sines of :math:`t / 10000^{2k/d}`, then their cosines."""
    half = (width + 1) // 2
    rate = torch.exp(-math.log(10000.0) * torch.arange(half, device=like.device, dtype=like.dtype) / half)
    angle = torch.arange(length, device=like.device, dtype=like.dtype).unsqueeze(1) * rate
    return torch.cat([angle.sin(), angle.cos()], -1)[:, :width]


class Layer(nn.Module):
    r"""Self-attention and a feed-forward network, each normalised first and added to its input.

    .. math:: x \leftarrow x + \mathrm{att}(\mathrm{norm}(x)), \quad x \leftarrow x + \mathrm{ff}(\mathrm{norm}(x))

    `post` normalises each sum instead, with ReLU in place of GELU (Vaswani et al. 2017, and torch's own layer),

    .. math:: x \leftarrow \mathrm{norm}(x + \mathrm{att}(x)), \quad x \leftarrow \mathrm{norm}(x + \mathrm{ff}(x)).

    The feed-forward network is as wide as the rest: Meister et al. set all hidden dimensions to 128. Written out
    rather than `nn.TransformerEncoderLayer`, whose fast path differs between modes, turns a row without
    tokens into NaN and refuses vmap.
    """

    def __init__(self, width: int, heads: int, post: bool = False) -> None:
        super().__init__()
        self.heads, self.post = heads, post
        self.attention_norm = nn.LayerNorm(width)
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, width), nn.ReLU() if post else nn.GELU(), nn.Linear(width, width)
        )

    def attend(self, hidden: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Self-attention weights (B, heads, T, T), and the values (B, heads, T, ·) that they mix."""
        batch, length, width = hidden.shape
        joint = self.inputs(hidden if self.post else self.attention_norm(hidden))
        joint = joint.view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = joint.permute(2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-1, -2) / math.sqrt(width // self.heads)
        return softmax(scores, mask[:, None, None, :].expand_as(scores)), value

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        weights, value = self.attend(hidden, mask)
        hidden = hidden + self.output((weights @ value).transpose(1, 2).reshape(hidden.shape))
        if self.post:
            hidden = self.attention_norm(hidden)
            return self.feed_norm(hidden + self.feed(hidden))
        return hidden + self.feed(self.feed_norm(hidden))


class Transformer(Averaged, nn.Module):
    """`layers` of self-attention with `heads`, over words and positions (Meister et al. 2021: 2, 1, 128 wide).

    embedded (B, T, D), mask (B, T) -> (B, T, hidden_size). Embeddings of another width than `hidden_size` are
    projected first. Positions are sinusoids, so any length can be read; their scale is learned, from POSITION_SCALE
    on (`transformer_norm` pre), or one (post).
    """

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        self.width = config.hidden_size
        self.input = nn.Identity() if input_size == self.width else nn.Linear(input_size, self.width)
        post = config.transformer_norm == "post"
        self.position_scale = 1.0 if post else nn.Parameter(torch.tensor(POSITION_SCALE))
        self.layers = nn.ModuleList(Layer(self.width, config.heads, post) for _ in range(config.layers))
        self.norm = nn.Identity() if post else nn.LayerNorm(self.width)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        hidden = self.placed(embedded)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return blank(self.norm(hidden), mask)

    def placed(self, embedded: Tensor) -> Tensor:
        """What the first layer reads: embeddings of the right width, plus positions."""
        hidden = self.input(embedded)
        return hidden + self.position_scale * positions(hidden.shape[1], self.width, hidden)

    def self_attention(self, embedded: Tensor, mask: Tensor) -> list[Tensor]:
        """Weights (B, heads, T, T) of every layer."""
        hidden, found = self.placed(embedded), []
        for layer in self.layers:
            found.append(layer.attend(hidden, mask)[0])
            hidden = layer(hidden, mask)
        return found
