"""Importance: every method on every model, whatever the batches, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib.rankings.scores import METHODS, importance
from attnlib.utils.errors import ConfigError, UnknownName
from tests.conformance import zoo

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


def test_every_method_says_what_it_is():
    for name, spec in METHODS.items():
        assert spec.name == name
        assert spec.summary
        assert spec.levels
