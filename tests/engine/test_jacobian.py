"""Influence of inputs on hidden states: equal to the definition, and to a hand-worked case."""

import numpy as np
import pytest
import torch
from torch import nn

from attnlib.engine import jacobian
from tests.conformance import zoo


@pytest.mark.parametrize("name", zoo.FLAT)
def test_equal_to_one_backward_pass_per_position(name):
    fitted = zoo.fitted(name)
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode(zoo.texts(fitted, 3)))
    fast = jacobian.influence(fitted.model, batch)
    slow = jacobian.by_loop(fitted.model, fitted.model.embed(batch), batch.mask)
    real = batch.mask.unsqueeze(1) & batch.mask.unsqueeze(2)
    torch.testing.assert_close(fast[real], slow[real])
    assert (fast[~real] == 0).all()


def test_rows_sum_to_one_and_windows_end():
    fitted = zoo.fitted("cnn")
    for square in jacobian.norm_jacobian(fitted, zoo.texts(fitted, 3), batch_size=2):
        np.testing.assert_allclose(square.sum(1), 1)
        far = np.abs(np.subtract.outer(np.arange(len(square)), np.arange(len(square)))) > 3
        assert (square[far] == 0).all()


def test_texts_in_small_batches_are_as_in_large_ones(monkeypatch):
    fitted = zoo.fitted("transformer")
    together = jacobian.norm_jacobian(fitted, zoo.texts(fitted, 4))
    monkeypatch.setattr(jacobian, "PASS_TOKENS", 1)
    for a, b in zip(jacobian.norm_jacobian(fitted, zoo.texts(fitted, 4)), together, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-12)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_sweep_is_one_backward_pass_per_output(kind):
    torch.manual_seed(0)
    cell = kind(3, 4, batch_first=True).double()
    embedded = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    seeds = torch.randn(2, 5, 4, dtype=torch.float64)
    with torch.no_grad():
        norms, diagonal = jacobian.sweep(cell, embedded, seeds)
    outputs = (cell(embedded)[0] * seeds).sum(-1)
    for p in range(5):
        slow = torch.autograd.grad(outputs[:, p].sum(), embedded, retain_graph=True)[0]
        torch.testing.assert_close(norms[:, p, :p], slow.norm(dim=-1)[:, :p])
        torch.testing.assert_close(diagonal[:, p], slow[:, p])
        assert (norms[:, p, p:] == 0).all()
