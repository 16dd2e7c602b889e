"""Back-propagation through time of many outputs at once, for one LSTM or GRU layer read from the left."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def sweep(cell: nn.LSTM | nn.GRU, embedded: Tensor, seeds: Tensor) -> tuple[Tensor, Tensor]:
    r"""Gradients of :math:`s_p^\top h_p`, for every p, at every input.

    embedded (B, T, D); seeds (B, T, h): s_p. Adjoints of all p ≥ t are the rows of one matrix when the sweep passes
    t, so a position costs one matrix product instead of one for every p.

    Returns norms (B, T, T), row p, column i < p, zero elsewhere; and the gradients at i = p themselves (B, T, D),
    which a caller may have to add to others.
    """
    steps = _Lstm(cell, embedded) if isinstance(cell, nn.LSTM) else _Gru(cell, embedded)
    batch, length, _ = embedded.shape
    norms = embedded.new_zeros(batch, length, length)
    diagonal = torch.empty_like(embedded)
    adjoint = steps.start(batch, length)
    weight = cell.weight_ih_l0
    for t in range(length - 1, -1, -1):
        # Rows t … T - 1 are alive; row t begins here with its seed.
        adjoint[0][:, t] = seeds[:, t]
        inputs = steps.back(t, adjoint)
        diagonal[:, t] = inputs[:, 0] @ weight
        if t + 1 < length:
            norms[:, t + 1 :, t] = (inputs[:, 1:] @ weight).norm(dim=-1)
    return norms, diagonal


class _Lstm:
    """Forward pass with all gates kept, and one step back for a matrix of adjoints."""

    def __init__(self, cell: nn.LSTM, embedded: Tensor) -> None:
        self.weight = cell.weight_hh_l0
        read = embedded @ cell.weight_ih_l0.T + (cell.bias_ih_l0 + cell.bias_hh_l0)
        batch, length, _ = embedded.shape
        self.size = cell.hidden_size
        hidden = memory = embedded.new_zeros(batch, self.size)
        self.gates, self.memory, self.before = [], [], []
        for t in range(length):
            i, f, g, o = (read[:, t] + hidden @ self.weight.T).chunk(4, 1)
            i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
            self.before.append(memory)
            memory = f * memory + i * g
            squashed = memory.tanh()
            hidden = o * squashed
            self.gates.append((i, f, g, o))
            self.memory.append(squashed)

    def start(self, batch: int, length: int) -> list[Tensor]:
        like = self.before[0]
        return [like.new_zeros(batch, length, self.size), like.new_zeros(batch, length, self.size)]

    def back(self, t: int, adjoint: list[Tensor]) -> Tensor:
        """Adjoints of the gates' inputs (B, T - t, 4h); `adjoint` moves to position t - 1."""
        i, f, g, o = (x.unsqueeze(1) for x in self.gates[t])
        squashed, before = self.memory[t].unsqueeze(1), self.before[t].unsqueeze(1)
        hidden, memory = adjoint[0][:, t:], adjoint[1][:, t:]
        memory.addcmul_(hidden, o * (1 - squashed.square()))
        inputs = torch.cat(
            [
                memory * (g * i * (1 - i)),
                memory * (before * f * (1 - f)),
                memory * (i * (1 - g.square())),
                hidden * (squashed * o * (1 - o)),
            ],
            -1,
        )
        adjoint[0][:, t:] = inputs @ self.weight
        memory.mul_(f)
        return inputs


class _Gru:
    """The same for a GRU, whose candidate state sees the reset gate."""

    def __init__(self, cell: nn.GRU, embedded: Tensor) -> None:
        self.weight = cell.weight_hh_l0
        read = embedded @ cell.weight_ih_l0.T + cell.bias_ih_l0
        batch, length, _ = embedded.shape
        self.size = cell.hidden_size
        hidden = embedded.new_zeros(batch, self.size)
        self.steps = []
        for t in range(length):
            a, b, c = read[:, t].chunk(3, 1)
            x, y, z = (hidden @ self.weight.T + cell.bias_hh_l0).chunk(3, 1)
            reset, update = (a + x).sigmoid(), (b + y).sigmoid()
            fresh = (c + reset * z).tanh()
            self.steps.append((reset, update, fresh, z, hidden))
            hidden = fresh + update * (hidden - fresh)

    def start(self, batch: int, length: int) -> list[Tensor]:
        return [self.steps[0][0].new_zeros(batch, length, self.size)]

    def back(self, t: int, adjoint: list[Tensor]) -> Tensor:
        """Adjoints of the inputs' side of the gates (B, T - t, 3h); `adjoint` moves to position t - 1."""
        reset, update, fresh, recurrent, before = (x.unsqueeze(1) for x in self.steps[t])
        hidden = adjoint[0][:, t:]
        candidate = hidden * ((1 - update) * (1 - fresh.square()))
        first = candidate * (recurrent * reset * (1 - reset))
        second = hidden * ((before - fresh) * update * (1 - update))
        adjoint[0][:, t:] = hidden * update + torch.cat([first, second, candidate * reset], -1) @ self.weight
        return torch.cat([first, second, candidate], -1)
