"""The gradients of TaSc's code."""

from __future__ import annotations

import pytest
import torch

from attnlib.importance.base import Case
from attnlib.importance.gradients import path_integral
from attnlib.importance.scores import importance
from tests.conformance import zoo


def case(fitted, texts, level="input", target="logit") -> Case:
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode(texts))
    with torch.no_grad():
        return Case(fitted, batch, fitted.model(batch), level, target, 0)


def test_the_quirk_integrates_t_times_the_gradient():
    fitted = zoo.fitted("none")
    found = case(fitted, zoo.texts(fitted, 1))
    right = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", steps=200)[0]
    wrong = importance(fitted, zoo.texts(fitted, 1), "integrated_gradients", quirks={"tasc_ig"})[0]
    change = float(path_integral(found, 50).change)
    assert right.sum() == pytest.approx(change, rel=0.02)
    assert abs(wrong.sum() - change) > 0.1 * abs(change)
