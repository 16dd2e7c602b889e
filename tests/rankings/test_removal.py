"""Omission and leave-one-out: the slow definition, and no rounding among the scores."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from attnlib.rankings.scores import importance
from tests.conformance import naive, zoo


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
