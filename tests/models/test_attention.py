"""Attention scores by hand; TaSc against its equations and parameter counts."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models.attention import ATTENTIONS, SCALINGS

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


V, D, N = 23, 6, 15
COUNTS = {"lin": V, "feat": V * D, "conv": V + N * D + N}


def scaling_of(kind: str, pool: str = "sum"):
    torch.manual_seed(0)
    return SCALINGS[kind](ModelConfig(scaling=kind, scaling_pool=pool, scaling_channels=N), V, D).double()


@pytest.fixture
def text() -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(0, V, (4, 7), generator=generator)
    return ids, torch.randn(4, 7, D, dtype=torch.float64, generator=generator)


@pytest.mark.parametrize(("kind", "count"), COUNTS.items())
def test_parameter_counts_of_appendix_b(kind, count):
    assert sum(p.numel() for p in scaling_of(kind).parameters()) == count


def test_lin_and_feat_by_hand(text):
    ids, embedded = text
    lin, feat = scaling_of("lin"), scaling_of("feat")
    s_lin, s_feat = lin(ids, embedded), feat(ids, embedded)
    for b in range(4):
        for t in range(7):
            word, e = ids[b, t], embedded[b, t]
            assert s_lin[b, t].item() == pytest.approx(
                sum(lin.table.weight[word, 0].item() * x for x in e.tolist())
            )
            assert s_feat[b, t].item() == pytest.approx((feat.table.weight[word] @ e).item())


def test_conv_is_a_convolution_and_equals_its_collapsed_form(text):
    ids, embedded = text
    scaling = scaling_of("conv")
    scores = scaling(ids, embedded)
    u = scaling.table(ids)
    convolved = torch.nn.functional.conv1d(
        (u * embedded).transpose(1, 2), scaling.channels.weight.unsqueeze(-1), scaling.channels.bias
    )
    torch.testing.assert_close(scores, convolved.sum(1))
    w, b = scaling.channels.weight.sum(0), scaling.channels.bias.sum()
    torch.testing.assert_close(scores, u.squeeze(-1) * (embedded @ w) + b)
