"""Back-propagation of all outputs at once against one autograd pass per output."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from attnlib.engine.bptt import sweep


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU])
def test_a_sweep_is_one_backward_pass_per_output(kind):
    torch.manual_seed(0)
    cell = kind(3, 4, batch_first=True).double()
    embedded = torch.randn(2, 5, 3, dtype=torch.float64, requires_grad=True)
    seeds = torch.randn(2, 5, 4, dtype=torch.float64)
    with torch.no_grad():
        norms, diagonal = sweep(cell, embedded, seeds)
    outputs = (cell(embedded)[0] * seeds).sum(-1)
    for p in range(5):
        slow = torch.autograd.grad(outputs[:, p].sum(), embedded, retain_graph=True)[0]
        torch.testing.assert_close(norms[:, p, :p], slow.norm(dim=-1)[:, :p])
        torch.testing.assert_close(diagonal[:, p], slow[:, p])
        assert (norms[:, p, p:] == 0).all()
