"""Encoders: embeddings e_i to hidden states h_i.

Every encoder maps `embedded` (B, T, D) and `mask` (B, T) to (B, T, width). Padded positions come out zero and never
influence real ones. `summary(hidden, mask)` (B, width) turns an encoded query into one vector.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.models.projections import softmax
from attnlib.utils.registry import Registry

ENCODERS: Registry[Callable[[ModelConfig, int], nn.Module]] = Registry("encoder")
"""Encoders over word vectors; bert, which brings its own, is in `attnlib.models.bert`."""
POSITION_SCALE = 0.1
"""Initial size of positions next to words: word vectors are about this small, and order matters less than words."""


def blank(hidden: Tensor, mask: Tensor) -> Tensor:
    """hidden (B, T, H) with zeros where mask (B, T) is False, whatever was there (NaN and infinity too)."""
    return hidden.masked_fill(~mask.unsqueeze(-1), 0.0)


class Averaged:
    """An encoder whose `summary` of a text, as a query, is the mean of its states."""

    def summary(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(B, width): mean over real positions, zero where there is none."""
        return blank(hidden, mask).sum(1) / mask.sum(1, keepdim=True).clamp_min(1).to(hidden.dtype)


@ENCODERS.register("none")
class NoEncoder(Averaged, nn.Module):
    """h_i = e_i (`noenc` of Serrano & Smith 2019)."""

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        self.width = input_size

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        return blank(embedded, mask)


@ENCODERS.register("mlp")
class MLP(Averaged, nn.Module):
    """h_i = tanh(W e_i + b), each word on its own (`average` of Jain & Wallace 2019). Further `layers` stack."""

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        self.width = config.hidden_size
        sizes = [input_size] + [self.width] * config.layers
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in pairwise(sizes))

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        hidden = embedded
        for layer in self.layers:
            hidden = layer(hidden).tanh()
        return blank(hidden, mask)


@ENCODERS.register("cnn")
class CNN(nn.Module):
    """Convolutions of several widths side by side, then ReLU (Jain & Wallace 2019). Further `layers` stack.

    `kernel_sizes` share `hidden_size` evenly: 128 // 4 = 32 channels each for (1, 3, 5, 7).
    """

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        self.width = config.width
        channels = config.hidden_size // len(config.kernel_sizes)
        sizes = [input_size] + [self.width] * (config.layers - 1)
        self.layers = nn.ModuleList(
            nn.ModuleList(nn.Conv1d(size, channels, k, padding=k // 2) for k in config.kernel_sizes)
            for size in sizes
        )

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        padding = ~mask.unsqueeze(1)
        hidden = embedded.transpose(1, 2).masked_fill(padding, 0.0)
        for convolutions in self.layers:
            hidden = torch.cat([conv(hidden) for conv in convolutions], 1).relu().masked_fill(padding, 0.0)
        return hidden.transpose(1, 2)

    def summary(self, hidden: Tensor, mask: Tensor) -> Tensor:
        # ReLU outputs are never negative, so the zeros of padding cannot win the maximum.
        return blank(hidden, mask).amax(1)


def reversal(mask: Tensor) -> Tensor:
    """(B, T) index that turns around the real positions, which come first in a row; its own inverse."""
    position = torch.arange(mask.shape[1], device=mask.device)
    last = mask.sum(1, keepdim=True) - 1
    return torch.where(position <= last, last - position, position)


def turned(values: Tensor, turn: Tensor) -> Tensor:
    """values (B, T, D) with the positions of each row in the order of `turn` (B, T)."""
    # Copying whole rows of the flattened batch is four times faster on a CPU than gather.
    rows = torch.arange(values.shape[0], device=values.device).unsqueeze(1) * values.shape[1] + turn
    return values.flatten(0, 1).index_select(0, rows.flatten()).view(values.shape)


@ENCODERS.register("lstm")
@ENCODERS.register("gru")
class Recurrent(nn.Module):
    """Layers of an LSTM or GRU, in one or two directions; real positions come first in a row.

    A bidirectional `nn.LSTM` over a padded batch starts its backward direction in the padding. Here `forwards[l]`
    reads layer l from the left and `backwards[l]` its real positions from the right; both start at the text.
    """

    def __init__(self, config: ModelConfig, input_size: int) -> None:
        super().__init__()
        cell = nn.GRU if config.encoder == "gru" else nn.LSTM
        self.width = config.hidden_size
        size = self.width // 2 if config.bidirectional else self.width
        sizes = [input_size] + [self.width] * (config.layers - 1)
        self.forwards = nn.ModuleList(cell(n, size, batch_first=True) for n in sizes)
        self.backwards = nn.ModuleList(cell(n, size, batch_first=True) for n in sizes if config.bidirectional)

    def forward(self, embedded: Tensor, mask: Tensor) -> Tensor:
        hidden = embedded
        if not self.backwards:
            for layer in self.forwards:
                hidden = layer(hidden)[0]
            return blank(hidden, mask)
        turn = reversal(mask)
        for left, right in zip(self.forwards, self.backwards, strict=True):
            hidden = torch.cat([left(hidden)[0], turned(right(turned(hidden, turn))[0], turn)], -1)
        return blank(hidden, mask)

    def summary(self, hidden: Tensor, mask: Tensor) -> Tensor:
        """(B, width): the last state of either direction, the query vector of Jain & Wallace."""
        last = (mask.sum(1) - 1).clamp_min(0).reshape(-1, 1, 1).expand(-1, 1, hidden.shape[-1])
        final = hidden.gather(1, last).squeeze(1)
        if not self.backwards:
            return final
        half = self.width // 2
        return torch.cat([final[:, :half], hidden[:, 0, half:]], -1)


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

    The feed-forward network is as wide as the rest: Meister et al. set all hidden dimensions to 128.
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


@ENCODERS.register("transformer")
class Transformer(Averaged, nn.Module):
    """`layers` of self-attention with `heads`, over words and positions (Meister et al. 2021: 2, 1, 128 wide).

    Embeddings of another width than `hidden_size` are projected first. Positions are sinusoids, so any length can
    be read; their scale is learned, from POSITION_SCALE on (`transformer_norm` pre), or one (post).
    """

    self_attentive = True

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
        """What the first layer reads: words of its width (B, T, width), plus positions."""
        hidden = self.input(embedded)
        return hidden + self.position_scale * positions(hidden.shape[1], self.width, hidden)

    def self_attention(self, embedded: Tensor, mask: Tensor) -> list[Tensor]:
        """Weights (B, heads, T, T) of every layer."""
        hidden, found = self.placed(embedded), []
        for layer in self.layers:
            found.append(layer.attend(hidden, mask)[0])
            hidden = layer(hidden, mask)
        return found
