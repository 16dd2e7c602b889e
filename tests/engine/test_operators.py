"""Operators: what each makes of a batch, and that a new one takes one function."""

from __future__ import annotations

import pytest
import torch

from attnlib.engine.operators import OPERATORS, Operator
from attnlib.engine.select import input_eraser
from attnlib.erasure.flips import erasure_curves
from tests.conformance import naive, zoo


def erased(name: str, kind: str = "lstm"):
    """A text without its second and third word."""
    fitted = zoo.fitted(kind)
    batch = naive.single(fitted, zoo.texts(fitted, 1)[0])
    removed = torch.zeros_like(batch.mask)
    removed[0, [1, 2]] = True
    return fitted, batch, OPERATORS[name](fitted.model, fitted.vectoriser)(batch, removed)


def test_pad_leaves_a_place_that_is_not_attended():
    fitted, before, after = erased("pad")
    assert after.ids[0, 1:3].tolist() == [fitted.vectoriser.pad_id] * 2
    assert after.content[0, :4].tolist() == [True, False, False, True]
    assert torch.equal(after.mask, before.mask), "a recurrent encoder steps over the place"
    assert not erased("pad", "transformer")[2].mask[0, 1:3].any(), "self-attention leaves it out"


def test_delete_closes_up():
    _, before, after = erased("delete")
    kept = [0, *range(3, before.ids.shape[1])]
    assert after.ids.tolist() == before.ids[:, kept].tolist()
    assert after.content.all()


def test_unk_and_mask_stay_and_are_attended():
    fitted, before, after = erased("unk")
    assert after.ids[0, 1:3].tolist() == [fitted.vectoriser.unk_id] * 2
    assert torch.equal(after.content, before.content)
    fitted, _, after = erased("mask", "gru-mlm")
    assert after.ids[0, 1:3].tolist() == [fitted.vectoriser.mask_id] * 2


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
