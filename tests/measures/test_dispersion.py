"""Influence on hidden states: entropies at their ends, and the full Jacobian against one worked out by autograd."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.data.types import Example
from attnlib.measures.dispersion import facets, full_jacobian, hidden_dispersion
from attnlib.training.fit import fit


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=40, n_dev=10, n_test=10)


def model(corpus, **options):
    return fit(corpus, ModelConfig(hidden_size=8, embedding_size=6, **options), TrainConfig(epochs=1))


def test_without_context_a_state_has_one_word(corpus) -> None:
    found = hidden_dispersion(model(corpus, encoder="mlp"), corpus.test[:3])
    assert len(found) == sum(len(e) for e in corpus.test[:3])
    np.testing.assert_allclose(found["value"], 0, atol=1e-9)
    np.testing.assert_allclose(found["own"], 1)


def test_with_context_influence_is_spread(corpus) -> None:
    found = hidden_dispersion(model(corpus), corpus.test[:3])
    assert found["value"].between(0.2, 1).all()
    assert (found["own"] < 1).all()
    np.testing.assert_allclose(found["even"] * found["length"], 1)


def test_one_token_has_neither_entropy_nor_share(corpus) -> None:
    found = hidden_dispersion(model(corpus), [Example(("wonderful",), 1)])
    assert found[["value", "own", "even"]].isna().all(axis=None)


def test_a_state_that_nothing_moves_has_no_share(corpus) -> None:
    config = ModelConfig(encoder="cnn", hidden_size=2, kernel_sizes=(1, 3), embedding_size=6)
    fitted = fit(corpus, config, TrainConfig(epochs=1))
    found = hidden_dispersion(fitted, corpus.test)
    alive = np.concatenate([(fitted.trace([e]).hidden[0] > 0).any(-1).numpy() for e in corpus.test])
    for column in ("value", "own", "even"):
        assert (found[column].notna() == alive).all(), column
    assert 0 < alive.sum() < len(alive)


@pytest.mark.parametrize("options", [{}, {"encoder": "transformer", "layers": 2, "attention": "dot"}])
def test_full_jacobian_is_autograds(corpus, options) -> None:
    fitted, example = model(corpus, boundaries=True, **options), corpus.test[0]
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode([example]))
    embedded = fitted.model.embed(batch).detach()
    whole = torch.autograd.functional.jacobian(lambda x: fitted.model.reader.encode(x, batch.mask)[0], embedded)
    norms = whole[:, :, 0].square().sum((1, 3)).sqrt()[batch.content[0]][:, batch.content[0]].numpy()
    expected = norms / norms.sum(1, keepdims=True)
    np.testing.assert_allclose(full_jacobian(fitted, example), expected, rtol=1e-4)


def test_both_ways_agree_where_one_component_is_alive(corpus) -> None:
    """The norm of one positive number is that number; where ReLU silenced both there is nothing to spread."""
    config = ModelConfig(encoder="cnn", hidden_size=2, kernel_sizes=(1, 3), embedding_size=6)
    fitted = fit(corpus, config, TrainConfig(epochs=1))
    found = facets(fitted, corpus.test)
    alive = np.concatenate([(fitted.trace([e]).hidden[0] > 0).sum(-1).numpy() for e in corpus.test])
    assert {0, 1, 2} == set(alive)
    np.testing.assert_allclose(found["distance"][alive == 1], 0, atol=1e-6)
    assert (found["distance"][alive == 2] > 1e-6).any()
    assert found["of_norm"][alive == 0].isna().all()
    assert found["tau"][alive == 0].isna().all()
