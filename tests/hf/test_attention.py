"""Attention inside the model: seen without being changed, replaced exactly, never kept."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlib.hf import network
from attnlib.hf.network import Watch, watching
from attnlib.measures.perturbation import swap_attention, uniform

from .conftest import TEXTS


def pieces_of(model, texts):
    return model.vectoriser.batch(model.examples(texts)).pieces


def eager(model, texts):
    model.model.network.set_attn_implementation("eager")
    with torch.no_grad():
        return model.model(pieces_of(model, texts)).logits


def test_watching_changes_no_bit(model):
    before = model.model.network.config._attn_implementation
    seen = []
    with torch.no_grad(), watching(model.model.network, Watch(lambda layer: seen.append(layer.weights.sum(-1)))):
        watched = model.model(pieces_of(model, TEXTS)).logits
    assert model.model.network.config._attn_implementation == before
    assert torch.equal(watched, eager(model, TEXTS))
    assert len(seen) == 3 == model.model.layers
    assert all(torch.allclose(row, torch.ones_like(row), atol=1e-5) for row in seen)


def layers_of(model, change, texts=TEXTS):
    """(weights, allowed, new) of the first layer under a change."""
    held = []

    def keep(layer):
        new = change(layer)
        held.append((layer.weights.clone(), layer.allowed.clone(), new.clone()))
        return new

    with torch.no_grad(), watching(model.model.network, Watch(keep)):
        model.model(pieces_of(model, texts))
    return held[0]


def test_uniform_and_permuted_weights_stay_where_a_query_may_look(model):
    pieces = pieces_of(model, TEXTS)
    real = pieces.mask
    weights, allowed, flat = layers_of(model, lambda layer: uniform(layer.allowed))
    shuffle = network.permuted(0, range(len(TEXTS)), real.sum(1).tolist())
    _, _, shuffled = layers_of(model, shuffle)
    rows = real[:, None, :].expand(weights.shape[:3])
    assert torch.allclose(flat.sum(-1)[rows], torch.ones(1))
    assert (flat[~allowed] == 0).all()
    counts = allowed.sum(-1, keepdim=True).expand_as(flat)
    assert torch.allclose(flat[allowed], 1 / counts[allowed])
    own, other = weights[rows], shuffled[rows]
    assert torch.equal(own.sort(-1).values, other.sort(-1).values)
    assert not torch.equal(own, other)
    assert (shuffled[~allowed & rows.unsqueeze(-1)] == 0).all()


@pytest.mark.parametrize("swap", ["uniform", "permuted", "zeroed"])
def test_swaps_do_not_depend_on_the_batch(model, swap):
    together = swap_attention(model, TEXTS, swap, seed=3)
    alone = swap_attention(model, TEXTS, swap, seed=3, batch_size=1)
    assert np.abs(together - alone).max() < 1e-5
    assert np.abs(together - model.logits(TEXTS)).max() > 1e-3
    again = swap_attention(model, TEXTS, swap, seed=4)
    assert np.array_equal(again, together) == (swap != "permuted")
