"""Encoders against a loop written out."""

from __future__ import annotations

import torch

from attnlib.config import ModelConfig
from attnlib.models.encoders import build_encoder

D, H = 5, 6


def random_text(lengths=(7, 3, 1, 5)) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), D, dtype=torch.float64), mask


def test_cnn_against_a_loop():
    embedded, mask = random_text()
    torch.manual_seed(1)
    encoder = build_encoder(ModelConfig(encoder="cnn", hidden_size=6, kernel_sizes=(1, 3, 5)), D).double()
    hidden = encoder(embedded.masked_fill(~mask.unsqueeze(-1), 50.0), mask)
    for row, n in enumerate(mask.sum(1).tolist()):
        for t in range(n):
            out = []
            for k, conv in zip((1, 3, 5), encoder.layers[0], strict=True):
                total = conv.bias.clone()
                for j in range(k):
                    place = t + j - k // 2
                    if 0 <= place < n:
                        total = total + conv.weight[:, :, j] @ embedded[row, place]
                out.append(total.relu())
            torch.testing.assert_close(hidden[row, t], torch.cat(out))
    assert (hidden[~mask] == 0).all()
