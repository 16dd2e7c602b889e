"""Every eraser answers as running each variant would; which one is chosen is a matter of cost alone."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.engine import jacobian, orders, rows
from attnlib.engine.rows import OPERATORS, Operator, Rows
from attnlib.engine.select import Pointwise, Windows, cheapest, input_eraser
from attnlib.erasure.flips import erasure_curves
from attnlib.models.attention import Dot
from attnlib.models.projections import PROJECTIONS
from attnlib.rankings.scores import importance
from tests.conformance import naive, zoo

CHOSEN = {
    "none": Pointwise,
    "mlp-entmax-feat": Pointwise,
    "cnn": Windows,
    "cnn-conv": Windows,
    "query-cnn": Windows,
    "cnn-residual": Rows,
    "cnn-2": Rows,
    "lstm": Rows,
    "transformer": Rows,
    "bert": Rows,
    "han-gru": Rows,
}


@pytest.mark.parametrize("name", CHOSEN)
def test_the_cheapest_exact_one_is_chosen(name):
    fitted = zoo.fitted(name)
    assert cheapest(fitted.model, OPERATORS["pad"](fitted.model, fitted.vectoriser)) is CHOSEN[name]
    assert cheapest(fitted.model, OPERATORS["unk"](fitted.model, fitted.vectoriser)) is Rows


@pytest.mark.parametrize("operator", ["pad", "delete"])
@pytest.mark.parametrize("name", [name for name, kind in CHOSEN.items() if kind is not Rows])
def test_it_answers_as_rows_do(name, operator):
    fitted = zoo.fitted(name)
    with torch.no_grad():
        for batch, trace in fitted.traces(zoo.texts(fitted, 5)):
            fast, slow = (input_eraser(fitted, batch, trace, operator, generic=g) for g in (False, True))
            order = orders.descending(trace.alpha, batch.content)
            torch.testing.assert_close(orders.table(fast, order), orders.table(slow, order))
            torch.testing.assert_close(fast.singles(), slow.singles())
            found, expected = (orders.first_flips(eraser, order, trace.prediction) for eraser in (fast, slow))
            assert torch.equal(found.removed, expected.removed)
            assert torch.equal(found.after, expected.after)


@pytest.mark.parametrize("operator", ["pad", "delete", "unk"])
def test_passes_may_be_small(operator, monkeypatch):
    fitted = zoo.fitted("transformer")
    with torch.no_grad():
        batch, trace = next(iter(fitted.traces(zoo.texts(fitted, 4))))
        order = orders.descending(trace.alpha, batch.content)
        eraser = input_eraser(fitted, batch, trace, operator)
        whole = orders.table(eraser, order), orders.first_flips(eraser, order, trace.prediction)
        monkeypatch.setattr(rows, "POSITIONS", 20)
        monkeypatch.setattr(rows, "CELLS", 40)
        again = orders.table(eraser, order), orders.first_flips(eraser, order, trace.prediction)
        torch.testing.assert_close(again, whole)


class Neighbours(nn.Module):
    """An encoder that somebody else wrote: every word is added to the next."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def forward(self, embedded: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        embedded = embedded.masked_fill(~mask.unsqueeze(-1), 0.0)
        before = nn.functional.pad(embedded[:, :-1], (0, 0, 1, 0))
        return (embedded + before).masked_fill(~mask.unsqueeze(-1), 0.0)


class Loud(Dot):
    """An attention of the kit with a forward pass of its own."""

    def forward(self, hidden: torch.Tensor, query: torch.Tensor | None = None) -> torch.Tensor:
        return super().forward(hidden, query) + hidden.square().sum(-1)


def foreign_encoder(model: nn.Module) -> None:
    model.reader.encoder = Neighbours(model.encoder.width)


def foreign_attention(model: nn.Module) -> None:
    model.attention.__class__ = Loud


def hook(model: nn.Module) -> None:
    model.attention.register_forward_hook(lambda module, inputs, scores: scores * scores)


def own_forward(model: nn.Module) -> None:
    forward = model.encoder.forward
    model.encoder.forward = lambda embedded, mask: 2 * forward(embedded, mask).flip(2)


def other_of_ours(model: nn.Module) -> None:
    """The config still says what the encoder was."""
    model.reader.encoder = zoo.fitted("lstm-residual").model.encoder


@pytest.mark.parametrize("operator", ["pad", "delete"])
@pytest.mark.parametrize("change", [foreign_encoder, foreign_attention, hook, own_forward, other_of_ours])
@pytest.mark.parametrize("name", ["none", "cnn-dot"])
def test_a_model_that_is_not_what_its_config_says_is_run_as_it_is(name, change, operator, monkeypatch):
    monkeypatch.setitem(zoo.KINDS, "cnn-dot", {"encoder": "cnn", "attention": "dot", "hidden_size": 12})
    monkeypatch.setitem(zoo.KINDS, "none", {"encoder": "none", "attention": "dot"})
    fitted = deepcopy(zoo.fitted.__wrapped__(name))
    before = fitted.logits(zoo.texts(fitted, 3))
    change(fitted.model)
    texts = zoo.texts(fitted, 3)
    assert not np.allclose(fitted.logits(texts), before)
    for text, found in zip(texts, importance(fitted, texts, "omission", operator=operator), strict=True):
        np.testing.assert_allclose(found, naive.omissions(fitted, text, operator), atol=1e-10)
    batch = naive.single(fitted, texts[0])
    slow = jacobian.by_loop(fitted.model, fitted.model.embed(batch), batch.mask)
    torch.testing.assert_close(jacobian.influence(fitted.model, batch), slow)


def test_a_projection_of_ones_own_is_applied_again(monkeypatch):
    """Also where it has the name of one whose weights would only be divided by what is left."""

    def linear(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        least = scores.masked_fill(~mask, torch.inf).amin(-1, keepdim=True)
        weights = (scores - least + 1).masked_fill(~mask, 0.0)
        return weights / weights.sum(-1, keepdim=True).clamp_min(1e-9)

    fitted = zoo.fitted("mlp")
    monkeypatch.setitem(PROJECTIONS._items, "softmax", linear)
    texts = zoo.texts(fitted, 3)
    for text, found in zip(texts, importance(fitted, texts, "omission", operator="delete"), strict=True):
        np.testing.assert_allclose(found, naive.omissions(fitted, text, "delete"), atol=1e-10)


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
