"""Back-propagation through time of many outputs at once, for one LSTM or GRU layer read from the left."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def sweep(cell: nn.LSTM | nn.GRU, embedded: Tensor, seeds: Tensor) -> tuple[Tensor, Tensor]:
    r"""Gradients of :math:`s_p^\top h_p`, for every p, at every input.

    embedded (B, T, D); seeds (B, T, h): s_p. Adjoints of all p ≥ t are the rows of one matrix when the sweep passes
    t, so a position costs one matrix product instead of one for every p. What the gates at t do to adjoints of the
    states is linear: it is folded into the weights, so that the product is as narrow as the states.

    Returns norms (B, T, T), row p, column i < p, zero elsewhere; and the gradients at i = p themselves (B, T, D),
    which a caller may have to add to others.
    """
    batch, length, width = embedded.shape
    weight, size = cell.weight_ih_l0, cell.hidden_size
    # ‖g W‖ = ‖g Rᵀ‖ with Wᵀ = Q R: no wider than the gates, however wide the word vectors.
    narrow = weight if width <= len(weight) else torch.linalg.qr(weight.T).R.T
    steps = (_Lstm if isinstance(cell, nn.LSTM) else _Gru)(cell, embedded, narrow)
    norms = embedded.new_zeros(batch, length, length)
    adjoint = embedded.new_zeros(batch, length, steps.states * size)
    for t in range(length - 1, -1, -1):
        # Rows t … T - 1 are alive; row t begins here with its seed.
        adjoint[:, t, :size] = seeds[:, t]
        norms[:, t + 1 :, t] = steps.back(t, adjoint[:, t:])[:, 1:].norm(dim=-1)
    return norms, steps.gates(seeds) @ weight


def _before(cell: nn.LSTM | nn.GRU, embedded: Tensor) -> Tensor:
    """(B, T, h): the state that every position starts from."""
    hidden = cell(embedded)[0]
    return torch.cat([torch.zeros_like(hidden[:, :1]), hidden[:, :-1]], 1)


class _Lstm:
    """The slopes of all gates, and one step back for a matrix of adjoints: of the state, then of the memory.

    inward  (4h, D'): what leads from the gates to the input, in place of the cell's weights
    """

    states = 2

    def __init__(self, cell: nn.LSTM, embedded: Tensor, inward: Tensor) -> None:
        read = embedded @ cell.weight_ih_l0.T + (cell.bias_ih_l0 + cell.bias_hh_l0)
        i, f, g, o = (read + _before(cell, embedded) @ cell.weight_hh_l0.T).chunk(4, -1)
        i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
        memory = [torch.zeros_like(i[:, 0])]
        for new, kept in zip((i * g).unbind(1), f.unbind(1), strict=True):
            memory.append(torch.addcmul(new, kept, memory[-1]))
        memory = torch.stack(memory, 1)
        squashed = memory[:, 1:].tanh()
        self.slopes = g * i * (1 - i), memory[:, :-1] * f * (1 - f), i * (1 - g.square()), squashed * o * (1 - o)
        self.kept, self.opened = f, o * (1 - squashed.square())
        self.size = cell.hidden_size
        self.weights = torch.cat([cell.weight_hh_l0, inward], 1).chunk(4)
        self.step = i.new_empty(len(i), 2 * self.size, self.weights[0].shape[1])

    def gates(self, hidden: Tensor) -> Tensor:
        """Adjoints (B, T, 4h) of the inputs of the gates, for adjoints (B, T, h) of the states they lead to."""
        memory = hidden * self.opened
        of = (memory, memory, memory, hidden)
        return torch.cat([x * slope for x, slope in zip(of, self.slopes, strict=True)], -1)

    def back(self, t: int, adjoint: Tensor) -> Tensor:
        """Gradients at the input (B, N, D') of adjoints (B, N, 2h), which move to position t - 1."""
        hidden, memory = adjoint.split(self.size, -1)
        memory.addcmul_(hidden, self.opened[:, t : t + 1])
        i, f, g, o = ((slope[:, t].unsqueeze(-1), w) for slope, w in zip(self.slopes, self.weights, strict=True))
        of_hidden, of_memory = self.step.chunk(2, 1)
        torch.mul(*o, out=of_hidden)
        torch.mul(*i, out=of_memory).addcmul_(*f).addcmul_(*g)
        passed = adjoint @ self.step
        hidden.copy_(passed[..., : self.size])
        memory.mul_(self.kept[:, t : t + 1])
        return passed[..., self.size :]


class _Gru:
    """The same for a GRU, whose candidate state sees the reset gate."""

    states = 1

    def __init__(self, cell: nn.GRU, embedded: Tensor, inward: Tensor) -> None:
        before = _before(cell, embedded)
        a, b, c = (embedded @ cell.weight_ih_l0.T + cell.bias_ih_l0).chunk(3, -1)
        x, y, z = (before @ cell.weight_hh_l0.T + cell.bias_hh_l0).chunk(3, -1)
        self.reset, self.update = (a + x).sigmoid(), (b + y).sigmoid()
        fresh = (c + self.reset * z).tanh()
        candidate = (1 - self.update) * (1 - fresh.square())
        first = candidate * z * self.reset * (1 - self.reset)
        self.slopes = first, (before - fresh) * self.update * (1 - self.update), candidate
        self.size = cell.hidden_size
        self.weights = torch.cat([cell.weight_hh_l0, inward], 1).chunk(3)
        self.step = a.new_empty(len(a), self.size, self.weights[0].shape[1])

    def gates(self, hidden: Tensor) -> Tensor:
        """Adjoints of the inputs' side of the gates (B, T, 3h), as above."""
        return torch.cat([hidden * slope for slope in self.slopes], -1)

    def back(self, t: int, adjoint: Tensor) -> Tensor:
        """Gradients at the input (B, N, D') of adjoints (B, N, h), which move to position t - 1."""
        n, (a, b, c) = self.size, self.weights
        first, second, third = (slope[:, t].unsqueeze(-1) for slope in self.slopes)
        step = torch.mul(first, a, out=self.step).addcmul_(second, b)
        step[..., :n].addcmul_(third * self.reset[:, t].unsqueeze(-1), c[:, :n])
        step[..., :n].diagonal(dim1=1, dim2=2).add_(self.update[:, t])
        step[..., n:].addcmul_(third, c[:, n:])
        passed = adjoint @ step
        adjoint.copy_(passed[..., :n])
        return passed[..., n:]
