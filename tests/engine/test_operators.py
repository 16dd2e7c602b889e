"""Operators: what each makes of a batch, and that a new one takes one function."""

from __future__ import annotations

import pytest
import torch

from attnlib.engine.operators import OPERATORS, Operator
from attnlib.engine.select import input_eraser
from attnlib.erasure.flips import erasure_curves
from tests.conformance import zoo


@pytest.mark.parametrize("name", ["mlp-lin", "cnn-residual", "lstm-concat-sparse", "transformer", "han-gru"])
@pytest.mark.parametrize("stays", [True, False])
def test_a_new_operator_is_one_function(name, stays, monkeypatch):
    """Every eraser works from the facts of an operator: here some word stands in for a removed one."""
    monkeypatch.setitem(OPERATORS._items, "other", lambda model, vectoriser: Operator(6, stays=stays))
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 3)
    curves = erasure_curves(fitted, texts, "random", operator="other")
    assert curves["removed"].max() == max(map(len, texts))
    with torch.no_grad():
        for batch, trace in fitted.traces(texts):
            fast, slow = (
                input_eraser(fitted, batch, trace, "other", generic=generic).singles() for generic in (False, True)
            )
            torch.testing.assert_close(fast, slow)
