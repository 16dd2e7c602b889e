"""Attention scores by hand."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models.attention import ATTENTIONS

D, H = 5, 6


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("name", ["additive", "dot", "deep"])
def test_attention_scores_by_hand(name, asked, scaled):
    torch.manual_seed(0)
    hidden, query = torch.randn(2, 3, H, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    config = ModelConfig(attention=name, attention_size=5, attention_layers=2, dot_scaled=scaled)
    attention = ATTENTIONS[name](config, H, 4 if asked else None).double()
    scores = attention(hidden, query if asked else None)
    for b in range(2):
        for t in range(3):
            h = hidden[b, t]
            if name == "dot":
                q = attention.query(query[b]) if asked else attention.query
                expected = sum(x * y for x, y in zip(h, q, strict=True)) / (math.sqrt(H) if scaled else 1)
            else:
                inner = attention.key.weight @ h + attention.key.bias
                if asked:
                    inner = inner + attention.query.weight @ query[b]
                if name == "additive":
                    inner = inner.tanh()
                else:
                    (layer,) = attention.layers
                    inner = (layer.weight @ inner.clamp_min(0) + layer.bias).clamp_min(0)
                expected = attention.out.weight[0] @ inner
            torch.testing.assert_close(scores[b, t], expected)
