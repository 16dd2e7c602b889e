"""Agreement of attention with importance: by hand, with ties and without an order; entropies at their ends;
influence on hidden states, the full Jacobian against one worked out by autograd."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from scipy import stats as scipy_stats

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.engine.jacobian import full_jacobian
from attnlib.measures.agreement import (
    agreement,
    attention_agreement,
    dispersion,
    hidden_dispersion,
)
from attnlib.rankings.scores import importance
from attnlib.training.fit import fit


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=200, n_dev=40, n_test=20)


@pytest.fixture(scope="module")
def sparse(corpus):
    return fit(
        corpus, ModelConfig(hidden_size=16, projection="sparsemax"), TrainConfig(epochs=4, learning_rate=0.01)
    )


def test_tau_by_hand_with_ties() -> None:
    # Pairs: (1,2) agree, (1,3) agree, (2,3) tied in attention: 2 / sqrt(2 * 3)
    found = agreement(np.array([0.8, 0.1, 0.1]), np.array([3.0, 2.0, 1.0]))
    assert found["value"] == pytest.approx(2 / math.sqrt(6))
    assert found["tied"] == pytest.approx(1 / 3)
    assert found["status"] == "ordered"


@pytest.mark.parametrize(
    ("alpha", "values", "status"),
    [
        ([1.0], [1.0], "one token"),
        ([0.5, 0.5], [0.2, 0.8], "constant attention"),
        ([0.4, 0.6], [0.0, 0.0], "constant importance"),
    ],
)
def test_without_an_order_there_is_a_reason(alpha, values, status) -> None:
    found = agreement(np.array(alpha), np.array(values))
    assert math.isnan(found["value"])
    assert found["status"] == status


def test_entropy_runs_from_one_word_to_all() -> None:
    assert dispersion(np.array([0.0, 3.0, 0.0])) == 0
    assert dispersion(np.array([2.0, 2.0, 2.0, 2.0])) == pytest.approx(1)
    assert dispersion(np.array([1.0, 1.0, 0.0, 0.0])) == pytest.approx(0.5)
    assert math.isnan(dispersion(np.array([0.0, 0.0])))
    assert math.isnan(dispersion(np.array([1.0])))


def test_frames_hold_every_text_and_kind_and_agree_with_scipy(sparse, corpus) -> None:
    found, spread = attention_agreement(sparse, corpus.test)
    assert len(found) == 4 * len(corpus.test)
    assert spread["instance"].tolist() == [e.id for e in corpus.test]
    alpha = importance(sparse, corpus.test, "alpha")
    gradient = importance(sparse, corpus.test, "gradient_norm")
    mine = found[found["importance"] == "gradient_input"]["value"]
    theirs = [scipy_stats.kendalltau(a, g).statistic for a, g in zip(alpha, gradient, strict=True)]
    np.testing.assert_allclose(mine, theirs)
    assert spread["support"].tolist() == [(a > 0).sum() for a in alpha]


def test_outside_the_support_a_hidden_state_matters_to_nobody(sparse, corpus) -> None:
    """Its weight is zero and stays so without it: ties on both sides, not noise in the last digit."""
    found, spread = attention_agreement(sparse, corpus.test, ["gradient_hidden", "leave_one_out_hidden"])
    one = spread["support"].to_numpy() == 1
    values = found.set_index(["importance", "instance"])["value"].unstack(0)
    alone = values.loc[spread["instance"][one]]
    assert one.any()
    np.testing.assert_allclose(alone.dropna(), 1)
    assert values["leave_one_out_hidden"].mean() > 0.8


@pytest.fixture(scope="module")
def small():
    return load_corpus("planted", n_train=40, n_dev=10, n_test=10)


def model(small, **options):
    return fit(small, ModelConfig(hidden_size=8, embedding_size=6, **options), TrainConfig(epochs=1))


def test_without_context_a_state_has_one_word(small) -> None:
    found = hidden_dispersion(model(small, encoder="mlp"), small.test[:3])
    assert len(found) == sum(len(e) for e in small.test[:3])
    np.testing.assert_allclose(found["value"], 0, atol=1e-9)
    np.testing.assert_allclose(found["own"], 1)


def test_with_context_influence_is_spread(small) -> None:
    found = hidden_dispersion(model(small), small.test[:3])
    assert found["value"].between(0.2, 1).all()
    assert (found["own"] < 1).all()
    np.testing.assert_allclose(found["even"] * found["length"], 1)


@pytest.mark.parametrize("options", [{}, {"encoder": "transformer", "layers": 2, "attention": "dot"}])
def test_full_jacobian_is_autograds(small, options) -> None:
    fitted, example = model(small, boundaries=True, **options), small.test[0]
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode([example]))
    embedded = fitted.model.embed(batch).detach()
    whole = torch.autograd.functional.jacobian(lambda x: fitted.model.reader.encode(x, batch.mask)[0], embedded)
    norms = whole[:, :, 0].square().sum((1, 3)).sqrt()[batch.content[0]][:, batch.content[0]].numpy()
    expected = norms / norms.sum(1, keepdims=True)
    np.testing.assert_allclose(full_jacobian(fitted, example), expected, rtol=1e-4)
