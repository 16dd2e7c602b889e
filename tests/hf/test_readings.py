"""Readings of the attention inside, against slow definitions on the weights that transformers returns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnlib as al
from attnlib.hf import network
from attnlib.hf.network import Watch, watching
from attnlib.measures.perturbation import swap_attention, uniform
from attnlib.rankings.scores import METHODS, readings
from attnlib.utils.errors import ConfigError

from .conftest import TEXTS

INSIDE = ("cls_last", "rollout", "value_norm", "attention_grad")


def alone(model, text):
    """One text as transformers itself reads it: inputs, the unit of each piece, and the row that the head reads."""
    encoded = model.vectoriser.encode_one(model.examples(text)[0])
    inputs = dict(model.vectoriser.tokenizer(text, return_tensors="pt"))
    row = 0 if model.model.reads == "first" else len(encoded.owners) - 1
    return inputs, encoded.owners, row


def to_words(scores, owners):
    return np.array([scores[owners == unit].sum() for unit in range(owners.max() + 1)])


def weights_of(model, inputs, grad=False):
    model.model.network.set_attn_implementation("eager")
    with torch.set_grad_enabled(grad):
        out = model.model.network(**inputs, output_attentions=True)
    return out.logits[0], list(out.attentions)


@pytest.mark.parametrize("text", TEXTS[:3])
def test_cls_last_and_rollout_are_read_off_the_weights(model, text):
    inputs, owners, row = alone(model, text)
    _, layers = weights_of(model, inputs)
    means = [a[0].mean(0).double() for a in layers]
    last = means[-1][row].numpy()
    flow = torch.eye(len(owners), dtype=torch.float64)
    for mean in means:
        flow = (mean + torch.eye(len(owners))) / 2 @ flow
    for name, expected in (("cls_last", last), ("rollout", flow[row].numpy()), ("alpha", last)):
        (scores,) = al.importance(model, [text], name)
        np.testing.assert_allclose(scores, to_words(expected, owners), atol=1e-6)
        # what is missing to one, the special tokens have swallowed
        assert 1 - scores.sum() == pytest.approx(expected[owners < 0].sum(), abs=1e-5)


def test_attention_times_gradient_is_chefers(model):
    for text in TEXTS[:3]:
        inputs, owners, row = alone(model, text)
        logits, layers = weights_of(model, inputs, grad=True)
        slopes = torch.autograd.grad(logits.max(), layers)
        relevance = torch.eye(len(owners), dtype=torch.float64)
        for weights, slope in zip(layers, slopes, strict=True):
            mean = (weights * slope)[0].double().clamp_min(0).mean(0)
            relevance = relevance + mean @ relevance
        expected = (relevance - torch.eye(len(owners)))[row].detach().numpy()
        (scores,) = al.importance(model, [text], "attention_grad")
        np.testing.assert_allclose(scores, to_words(expected, owners), atol=1e-5)


def test_value_norm_of_bert(folders):
    model = al.load_model(folders("bert"), device="cpu")
    inputs, owners, row = alone(model, TEXTS[0])
    network = model.model.network
    states = network(**inputs, output_hidden_states=True).hidden_states
    _, layers = weights_of(model, inputs)
    value = network.bert.encoder.layer[-1].attention.self.value(states[-2])[0]  # (T, heads · width)
    parts = []
    for j in range(len(owners)):
        heads = value[j].view(4, -1)
        parts.append(torch.cat([layers[-1][0, h, row, j] * heads[h] for h in range(4)]).norm().item())
    expected = np.array(parts) / sum(parts)
    (scores,) = al.importance(model, [TEXTS[0]], "value_norm")
    np.testing.assert_allclose(scores, to_words(expected, owners), atol=1e-6)


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_integrated_gradients_sum_to_the_change_of_the_logit(folders, kind):
    model = al.load_model(folders(kind), device="cpu")
    (scores,) = al.importance(model, [TEXTS[0]], "integrated_gradients", steps=300)
    batch = model.vectoriser.batch(model.examples(TEXTS[0]))
    embedded = model.model.embed(batch).detach()
    start = embedded.masked_fill(batch.pieces.content.unsqueeze(-1), 0.0)
    with torch.no_grad():
        whole, before = model.model(batch).logits[0], model.model(batch, start).logits[0]
    assert scores.sum() == pytest.approx(float(whole.max() - before[whole.argmax()]), abs=0.02)


@pytest.mark.parametrize("name", [*INSIDE, "gradient_norm", "input_x_grad", "omission", "leave_one_out"])
def test_readings_do_not_depend_on_batch_or_padding(model, name):
    together = al.importance(model, TEXTS, name)
    for text, scores in zip(TEXTS, together, strict=True):
        (single,) = al.importance(model, [text], name)
        assert len(scores) == len(model.tokens(text))
        np.testing.assert_allclose(scores, single, atol=2e-5)
        if name in INSIDE:
            assert (scores >= 0).all()
        if name in INSIDE and name != "attention_grad":
            assert 0 < scores.sum() <= 1 + 1e-5


def test_methods_say_which_models_they_apply_to(model, planted_fitted):
    names = readings(model)
    assert {*INSIDE, "omission", "random", "input_x_grad"} <= set(names)
    with pytest.raises(ConfigError, match=r"'alpha_grad' applies to attnlib models only.*rollout"):
        al.importance(model, TEXTS, "alpha_grad")
    fitted, texts = planted_fitted
    assert "cls_last" not in readings(fitted)
    with pytest.raises(ConfigError, match="'value_norm' applies to Hugging Face classifiers only"):
        al.importance(fitted, texts, "value_norm")
    assert METHODS["rollout"].models == "attnlib models with a transformer inside and Hugging Face classifiers"


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
