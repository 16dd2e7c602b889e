"""Replaced attention, against the definition and against chance; what single tokens say alone."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from attnlib import stats
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures.perturbation import (
    permuted,
    token_probabilities,
    token_table,
    uniform,
    with_attention,
)
from attnlib.training.fit import fit
from tests.conformance import zoo


@pytest.fixture
def parts():
    generator = torch.Generator().manual_seed(1)
    mask = torch.tensor([[True, True, True, False], [True, True, True, True], [False, True, False, False]])
    alpha = torch.randn(3, 4, generator=generator, dtype=torch.float64).masked_fill(~mask, -torch.inf).softmax(-1)
    return alpha, mask


@pytest.mark.parametrize("name", ["lstm", "lstm-lin-dot", "query-lstm", "query-gru-sparse"])
def test_own_attention_gives_own_logits_and_uniform_the_mean_state(name) -> None:
    trace = zoo.fitted(name).trace(zoo.texts(zoo.fitted(name), 4))
    found = with_attention(trace, torch.stack([trace.alpha, uniform(trace.mask)], 1))
    assert torch.allclose(found[:, 0], trace.logits)
    states = trace.hidden if trace.scale is None else trace.hidden * trace.scale.unsqueeze(-1)
    means = torch.stack([own[mask].mean(0) for own, mask in zip(states, trace.mask, strict=True)])
    assert torch.allclose(found[:, 1], trace.decode(means), atol=1e-6)
    assert uniform(torch.zeros(1, 3, dtype=torch.bool)).tolist() == [[0, 0, 0]]


def test_permuted_weights_are_the_same_weights_elsewhere(parts) -> None:
    alpha, mask = parts
    moved = permuted(alpha, mask, 50, seed=0)
    assert torch.allclose(moved.sort(-1).values, alpha.sort(-1).values.unsqueeze(1).expand_as(moved))
    assert (moved.masked_select(~mask.unsqueeze(1)) == 0).all()
    assert (moved[2, :, 1] == 1).all(), "one attended position has nowhere to go"


def test_every_permutation_is_equally_likely() -> None:
    alpha = torch.tensor([[0.5, 0.3, 0.2]])
    moved = permuted(alpha, torch.ones(1, 3, dtype=torch.bool), 12_000, seed=3)[0]
    counts = [int((moved == alpha[0, list(p)]).all(-1).sum()) for p in permutations(range(3))]
    assert sum(counts) == 12_000
    assert np.allclose(counts, 2000, atol=200)


def test_draws_depend_on_the_text_alone(parts) -> None:
    alpha, mask = parts
    whole = permuted(alpha, mask, 5, seed=7)
    wider = torch.nn.functional.pad(alpha, (0, 3)), torch.nn.functional.pad(mask, (0, 3))
    alone = permuted(wider[0][1:2], wider[1][1:2], 5, seed=7, rows=[1])
    assert torch.equal(alone[0, :, :4], whole[1])
    assert not torch.equal(permuted(alpha, mask, 5, seed=8), whole)


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=60, n_dev=20, n_test=30)


def model(corpus, **options):
    return fit(corpus, ModelConfig(hidden_size=16, embedding_size=8, **options), TrainConfig(epochs=1), seed=0)


@pytest.mark.parametrize("options", [{}, {"scaling": "lin"}, {"regulariser": "concat"}], ids=str)
def test_all_attention_on_one_token_gives_its_probability(corpus, options) -> None:
    trace = model(corpus, **options).trace(corpus.test[:5])
    found = token_probabilities(trace)
    for b, t in ((0, 0), (1, 3), (4, 2)):
        context = trace.hidden[b, t] * (1.0 if trace.scale is None else trace.scale[b, t])
        assert torch.allclose(found[b, t], (trace.weight @ context + trace.bias).softmax(-1), atol=1e-6)


def test_a_table_agrees_with_single_texts_in_any_batch(corpus) -> None:
    fitted = model(corpus)
    table = token_table(fitted, corpus.test)
    few = token_table(fitted, corpus.test, batch_size=3)
    assert table["id"].tolist() == [e.id for e in corpus.test]
    for name in ("token_probability", "entropy"):
        np.testing.assert_allclose(table[name], few[name], atol=1e-6)
    trace = fitted.trace([corpus.test[7]])
    chosen = int(trace.prediction)
    alone = token_probabilities(trace)[0, :, chosen].detach()
    assert table["token_probability"][7] == pytest.approx(float(alone.mean()), abs=1e-6)
    assert table["entropy"][7] == pytest.approx(float(stats.normalized_entropy(trace.alpha[0].detach())), abs=1e-6)
