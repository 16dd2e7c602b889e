"""Encoders: embeddings e_i to hidden states h_i.

Every encoder maps `embedded` (B, T, D) and `mask` (B, T) to (B, T, width). Padded positions come out zero and never
influence real ones, so a text's states do not depend on its batch. `summary(hidden, mask)` (B, width)
turns an encoded query into one vector.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn

from attnlib.config import ModelConfig
from attnlib.models.masking import Averaged, blank
from attnlib.models.recurrent import Recurrent
from attnlib.models.transformer import Transformer
from attnlib.utils.registry import Registry

ENCODERS: Registry[Callable[[ModelConfig, int], nn.Module]] = Registry("encoder")
"""Encoders over word vectors; bert, which brings its own, is in `attnlib.models.bert`."""


def build_encoder(config: ModelConfig, input_size: int) -> nn.Module:
    """The encoder a config names, for embeddings of width `input_size`."""
    return ENCODERS[config.encoder](config, input_size)


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
    """h_i = tanh(W e_i + b), each word on its own (`average` of Jain & Wallace 2019, `MLP` elsewhere).

    Further `layers` repeat it.
    """

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
    """Convolutions of several widths side by side, then ReLU (Jain & Wallace 2019).

    `kernel_sizes` share `hidden_size` evenly: 128 // 4 = 32 channels each for (1, 3, 5, 7). Embeddings of padding
    are zeroed first, so a text ends in zeros however far the batch is padded. Further `layers` stack.
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


ENCODERS.register("lstm")(Recurrent.from_config)
ENCODERS.register("gru")(Recurrent.from_config)
ENCODERS.register("transformer")(Transformer)
