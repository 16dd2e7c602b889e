"""Attention scores by hand."""

from __future__ import annotations

import math

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.data import load_corpus
from attnlib.data.batching import WordVectoriser
from attnlib.models import build_model
from attnlib.models.attention import build_attention

D, H = 5, 6


@pytest.mark.parametrize("asked", [False, True])
@pytest.mark.parametrize("name", ["additive", "dot", "deep"])
def test_attention_scores_by_hand(name, asked):
    torch.manual_seed(0)
    hidden, query = torch.randn(2, 3, H, dtype=torch.float64), torch.randn(2, 4, dtype=torch.float64)
    config = ModelConfig(attention=name, attention_size=5, attention_layers=2)
    attention = build_attention(config, H, 4 if asked else None).double()
    scores = attention(hidden, query if asked else None)
    for b in range(2):
        for t in range(3):
            h = hidden[b, t]
            if name == "dot":
                q = attention.query(query[b]) if asked else attention.query
                expected = sum(x * y for x, y in zip(h, q, strict=True)) / math.sqrt(H)
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


def test_unscaled_dot_is_larger_by_the_root_of_the_width():
    hidden = torch.randn(2, 3, H)
    torch.manual_seed(0)
    scaled = build_attention(ModelConfig(attention="dot"), H)
    torch.manual_seed(0)
    unscaled = build_attention(ModelConfig(attention="dot", dot_scaled=False), H)
    torch.testing.assert_close(unscaled(hidden), scaled(hidden) * math.sqrt(H))


def uniformity(trace) -> float:
    """Mean of H(alpha) / ln T."""
    entropy = -torch.xlogy(trace.alpha, trace.alpha).sum(1)
    length = trace.mask.sum(1)
    return (entropy / length.clamp_min(2).log())[length > 1].mean().item()


@pytest.mark.parametrize("encoder", ["mlp", "lstm"])
def test_dot_attention_stays_uniform_unless_its_query_starts_large(encoder):
    """Tutek & Šnajder 2020, App. C: with the default initialisation, training leaves dot attention uniform."""
    corpus = load_corpus("planted")
    vectoriser = WordVectoriser(corpus.vocabulary, corpus.preprocessing)
    train = vectoriser.encode(corpus.train[:512])
    test = vectoriser.batch(train[:64])
    found = {}
    for init in ("normal", "kaiming"):
        torch.manual_seed(0)
        config = ModelConfig(encoder=encoder, attention="dot", dot_init=init, hidden_size=128)
        model = build_model(config, len(corpus.vocabulary), 2)
        optimiser = torch.optim.Adam(model.parameters(), lr=1e-3)
        untrained = uniformity(model(test))
        for epoch in range(4):
            for batch in vectoriser.batches(train, 32, shuffle_seed=epoch):
                loss = torch.nn.functional.cross_entropy(model(batch).logits, batch.labels)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
        found[init] = untrained, uniformity(model(test))
    for before, after in [found["kaiming"]]:
        assert before > 0.999
        assert after > 0.999
    for small, large in zip(found["kaiming"], found["normal"], strict=True):
        assert 1 - large > 20 * (1 - small)
    assert found["normal"][1] < found["normal"][0]
