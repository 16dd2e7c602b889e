"""Every eraser answers as running each variant would; which one is chosen is a matter of cost alone."""

from __future__ import annotations

import pytest
import torch

from attnlib.engine import flips, gapless, orders
from attnlib.engine.branches import Branches
from attnlib.engine.gapless import Gapless
from attnlib.engine.pointwise import Pointwise
from attnlib.engine.rows import Rows
from attnlib.engine.select import cheapest, input_eraser
from attnlib.engine.windows import Windows
from tests.conformance import zoo

CHOSEN = {
    "none": Pointwise,
    "mlp-entmax-feat": Pointwise,
    "cnn": Windows,
    "cnn-2": Rows,
    "lstm": Branches,
    "gru-gumbel-feat": Branches,
    "lstm-2": Rows,
    "transformer": Gapless,
    "transformer-sparse": Gapless,
    "transformer-post": Gapless,
    "transformer-concat": Gapless,
    "transformer-special": Gapless,
    "query-transformer": Gapless,
    "bert": Rows,
    "han-gru": Rows,
}


@pytest.mark.parametrize("name", CHOSEN)
def test_the_cheapest_exact_one_is_chosen(name):
    assert cheapest(zoo.fitted(name).model) is CHOSEN[name]


@pytest.mark.parametrize("operator", ["pad", "delete", "unk"])
@pytest.mark.parametrize("name", [name for name, kind in CHOSEN.items() if kind is not Rows])
def test_it_answers_as_rows_do(name, operator):
    fitted = zoo.fitted(name)
    with torch.no_grad():
        for batch, trace in fitted.traces(zoo.texts(fitted, 5)):
            fast, slow = (input_eraser(fitted, batch, trace, operator, generic=g) for g in (False, True))
            order = orders.descending(trace.alpha, batch.content)
            torch.testing.assert_close(flips.table(fast, order), flips.table(slow, order))
            torch.testing.assert_close(fast.singles(), slow.singles())
            found, expected = (flips.first_flips(eraser, order, trace.prediction) for eraser in (fast, slow))
            assert torch.equal(found.removed, expected.removed)
            assert torch.equal(found.after, expected.after)


@pytest.mark.parametrize("name", ["cnn", "lstm"])
def test_chunks_change_nothing(name, monkeypatch):
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 4)
    kind = cheapest(fitted.model)
    with torch.no_grad():
        batch, trace = next(iter(fitted.traces(texts)))
        order = orders.descending(trace.alpha, batch.content)
        eraser = input_eraser(fitted, batch, trace, "pad")
        whole = flips.table(eraser, order), eraser.singles()
        monkeypatch.setattr(kind, "at_once", 3)
        monkeypatch.setattr(kind, "texts_at_once", lambda self, variants: 1)
        torch.testing.assert_close((flips.table(eraser, order), eraser.singles()), whole)


@pytest.mark.parametrize("operator", ["pad", "delete", "unk"])
def test_passes_of_a_transformer_may_be_small(operator, monkeypatch):
    fitted = zoo.fitted("transformer")
    with torch.no_grad():
        batch, trace = next(iter(fitted.traces(zoo.texts(fitted, 4))))
        order = orders.descending(trace.alpha, batch.content)
        eraser = input_eraser(fitted, batch, trace, operator)
        whole = flips.table(eraser, order), flips.first_flips(eraser, order, trace.prediction)
        monkeypatch.setattr(gapless, "PASS", 20)
        monkeypatch.setattr(gapless, "CELLS", 40)
        again = flips.table(eraser, order), flips.first_flips(eraser, order, trace.prediction)
        torch.testing.assert_close(again, whole)
