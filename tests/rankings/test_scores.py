"""Importance: every method on every model, whatever the batches, and what it refuses."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from attnlib.rankings.inside import self_attention
from attnlib.rankings.scores import METHODS, importance
from attnlib.utils.errors import ConfigError, UnknownName
from tests.conformance import naive, zoo

QUICK = [
    "random",
    "alpha",
    "grad_alpha",
    "alpha_grad",
    "omission",
    "leave_one_out",
    "gradient_norm",
    "input_x_grad",
]


@pytest.mark.parametrize("name", zoo.KINDS)
def test_every_method_runs_on_every_model(name):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 2)
    for method in [*QUICK, "integrated_gradients"]:
        options = {"tolerance": None, "steps": 4} if method == "integrated_gradients" else {}
        scores = importance(fitted, texts, method, **options)
        assert [len(s) for s in scores] == [len(fitted.tokens(t)) for t in texts], method
        assert all(np.isfinite(s).all() for s in scores), method
        if "hidden" in METHODS[method].levels:
            units = 3 if fitted.model_config.hierarchical else None
            hidden = importance(fitted, texts, method, level="hidden")
            assert [len(s) for s in hidden] == [units or len(fitted.tokens(t)) for t in texts], method


@pytest.mark.parametrize("method", QUICK)
def test_scores_do_not_depend_on_batches(method):
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 7)
    one, many = (importance(fitted, texts, method, batch_size=n) for n in (1, 7))
    for a, b in zip(one, many, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


def test_what_does_not_fit_is_refused():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 1)
    with pytest.raises(UnknownName, match="Did you mean 'alpha_grad'"):
        importance(fitted, texts, "alpha_grd")
    with pytest.raises(ConfigError, match="level"):
        importance(fitted, texts, "alpha", level="word")
    with pytest.raises(ConfigError, match="works at level 'input' only"):
        importance(fitted, texts, "input_x_grad", level="hidden")
    with pytest.raises(ConfigError, match="Did you mean 'logit'"):
        importance(fitted, texts, "grad_alpha", target="logits")
    with pytest.raises(ConfigError, match="leave out target"):
        importance(fitted, texts, "alpha", target="logit")
    with pytest.raises(ConfigError, match="Did you mean 'steps'"):
        importance(fitted, texts, "integrated_gradients", step=3)
    with pytest.raises(ConfigError, match="self-attention"):
        importance(fitted, texts, "rollout")
    han = zoo.fitted("han-gru")
    for name in ("omission", "leave_one_out"):
        with pytest.raises(ConfigError, match="Leave operator out"):
            importance(fitted, texts, name, level="hidden", operator="pad")
    with pytest.raises(ConfigError, match="flat model"):
        importance(zoo.fitted("han-transformer"), zoo.texts(han, 1), "rollout")


@pytest.mark.parametrize("name", ["lstm", "lstm-concat-sparse", "han-cnn-sparse", "query-lstm"])
def test_hidden_leave_one_out_is_the_slow_one(name):
    fitted = zoo.fitted(name)
    for text in zoo.texts(fitted, 2):
        trace = naive.traced(fitted, text)
        k = int(trace.prediction[0])
        units = int(trace.lengths[0])
        slow = [
            abs(float(trace.probabilities[0, k] - naive.reweighed(trace, {i}, reproject=True).softmax(-1)[k]))
            for i in range(units)
        ]
        found = importance(fitted, [text], "leave_one_out", level="hidden")[0]
        np.testing.assert_allclose(found, np.array(slow) / sum(slow), atol=1e-10)


@pytest.mark.parametrize("level", ["input", "hidden"])
@pytest.mark.parametrize("name", ["lstm", "cnn", "mlp", "transformer", "han-gru"])
@pytest.mark.parametrize("precision", [torch.float32, torch.float64])
def test_rounding_is_not_shared_out(name, level, precision):
    """A decoder that says the same of every context: what removals change then is rounding alone."""
    fitted = deepcopy(zoo.fitted(name))
    fitted.model.to(precision)
    texts = zoo.texts(fitted, 4)
    with torch.no_grad():
        fitted.model.decoder.weight *= 1e-18
    for method in ("omission", "leave_one_out"):
        for target in ("probability", "logit"):
            assert all((s == 0).all() for s in importance(fitted, texts, method, level=level, target=target))


def test_rollout_by_hand():
    fitted = zoo.fitted("transformer")
    texts = zoo.texts(fitted, 2)
    found = zoo.case(fitted, texts)
    first, second = (layer.mean(1) for layer in self_attention(found))
    eye = torch.eye(first.shape[-1], dtype=first.dtype)
    expected = (found.trace.alpha.unsqueeze(1) @ ((second + eye) @ (first + eye) / 4)).squeeze(1)
    for i, scores in enumerate(importance(fitted, texts, "rollout")):
        np.testing.assert_allclose(scores, expected[i][found.units[i]].detach().numpy())
        assert scores.sum() == pytest.approx(1)


@pytest.mark.parametrize("name", ["transformer", "bert"])
def test_self_attention_is_what_the_encoder_used(name):
    fitted = zoo.fitted(name)
    found = zoo.case(fitted, zoo.texts(fitted, 2))
    for layer in self_attention(found):
        real = found.batch.mask[:, None, None, :].expand_as(layer)
        assert (layer[~real] == 0).all()
        torch.testing.assert_close(layer.sum(-1), torch.ones_like(layer.sum(-1)))
    for scores in importance(fitted, zoo.texts(fitted, 2), "rollout"):
        # What flows from special tokens belongs to no word.
        assert 0 < scores.sum() <= 1 + 1e-9
        assert (scores > 0).all()
