"""Readings of the attention inside, against slow definitions on the weights that transformers returns."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnlib as al
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
