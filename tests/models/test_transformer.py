"""The transformer against torch's own."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models.encoders import build_encoder

D, H = 5, 6


def random_text(lengths=(7, 3, 1, 5)) -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths).unsqueeze(1)
    return torch.randn(len(lengths), max(lengths), D, dtype=torch.float64), mask


@pytest.mark.parametrize(("norm", "activation"), [("pre", "gelu"), ("post", "relu")])
def test_transformer_against_torch(norm, activation):
    embedded, mask = random_text()
    torch.manual_seed(1)
    config = ModelConfig(encoder="transformer", hidden_size=8, heads=2, layers=2, transformer_norm=norm)
    encoder = build_encoder(config, D).double()
    stock = torch.nn.TransformerEncoder(
        torch.nn.TransformerEncoderLayer(8, 2, 8, 0.0, activation, batch_first=True, norm_first=norm == "pre"),
        2,
        norm=torch.nn.LayerNorm(8) if norm == "pre" else None,
        enable_nested_tensor=False,
    ).double()
    for ours, theirs in zip(encoder.layers, stock.layers, strict=True):
        theirs.self_attn.in_proj_weight.data = ours.inputs.weight.data
        theirs.self_attn.in_proj_bias.data = ours.inputs.bias.data
        theirs.self_attn.out_proj.load_state_dict(ours.output.state_dict())
        theirs.norm1.load_state_dict(ours.attention_norm.state_dict())
        theirs.norm2.load_state_dict(ours.feed_norm.state_dict())
        theirs.linear1.load_state_dict(ours.feed[0].state_dict())
        theirs.linear2.load_state_dict(ours.feed[2].state_dict())
    if norm == "pre":
        stock.norm.load_state_dict(encoder.norm.state_dict())
    angles = [[t / 10000 ** (k / 4) for k in range(4)] for t in range(embedded.shape[1])]
    place = torch.tensor([[math.sin(a) for a in row] + [math.cos(a) for a in row] for row in angles])
    inputs = encoder.input(embedded) + encoder.position_scale * place.double()
    expected = stock(inputs, src_key_padding_mask=~mask)
    torch.testing.assert_close(encoder(embedded, mask)[mask], expected[mask], rtol=0, atol=1e-7)
