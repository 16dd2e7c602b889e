r"""How much every input moves every hidden state (Meister et al. 2021, eq. 5).

.. math:: G_{pi} = \Big\| \frac{\partial \|h_p\|_2}{\partial X_i} \Big\|_2

for all p and i. Definition: one backward pass per position p (`by_loop`). Cheaper and equal, for the kit's own lstm
and gru of one layer (`select.plain`): back-propagation through time of all p at once (`sweep`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.data.batching import Batch
from attnlib.data.types import Example
from attnlib.engine.attention import CELLS
from attnlib.engine.rows import self_attentive
from attnlib.engine.select import plain
from attnlib.models.encoders import Recurrent, reversal, turned
from attnlib.models.regularise import Concat, Residual
from attnlib.training.fitted import Fitted
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError
from attnlib.utils.progress import bar

PASS_TOKENS = 512
"""Padded positions of a batch whose states go backward one by one: a long text must not make short ones longer."""


def norm_jacobian(fitted: Fitted, examples: Iterable, *, batch_size: int = 64) -> list[np.ndarray]:
    """One (n, n) array per text over its n content positions: row p, column i, :math:`g_{h_p}(x_i)` of eq. 5.

    Every row sums to one; a row of zeros (no input moves it) stays so.
    """
    examples = fitted.examples(examples)
    if fitted.model_config.hierarchical:
        raise ConfigError(
            "norm_jacobian reads one encoder over words; a hierarchical model has two. Use a flat one."
        )
    found: list[np.ndarray | None] = [None] * len(examples)
    most = PASS_TOKENS if self_attentive(fitted.model) else None
    with bar("influence of inputs on hidden states", total=len(examples), unit="text") as line:
        for batch in fitted.vectoriser.batches(examples, batch_size, labels=False, max_tokens=most):
            batch = batch.to(fitted.device)
            norms = influence(fitted.model, batch)
            for i, row in enumerate(batch.rows.tolist()):
                where = batch.content[i]
                found[row] = _shares(norms[i][where][:, where])
            line.update(len(batch))
    return found


def full_jacobian(fitted: Fitted, example: Example) -> np.ndarray:
    r"""(n, n): :math:`\|\partial h_p / \partial X_i\|_F`, rows p normalised to sum to one, or zero.

    The text is repeated once per component of h, so that one backward pass gives all components of one state.
    """
    model, vectoriser = fitted.model, fitted.vectoriser
    batch = vectoriser.batch(vectoriser.encode(fitted.examples([example]))).to(fitted.device)
    content = batch.content[0]
    with fitted.evaluating(grad=True):
        embedded = model.embed(batch).detach()
        width = model.reader.encode(embedded, batch.mask).shape[-1]
        leaf = embedded.expand(width, -1, -1).clone().requires_grad_()
        hidden = model.reader.encode(leaf, batch.mask.expand(width, -1))
        rows = []
        for p in content.nonzero().squeeze(1).tolist():
            facet = hidden[:, p].diagonal().sum()
            gradient = torch.autograd.grad(facet, leaf, retain_graph=True)[0]
            rows.append(gradient.square().sum((0, 2)).sqrt())
    return _shares(torch.stack(rows)[:, content])


def _shares(square: Tensor) -> np.ndarray:
    """Rows divided by their sums; a row of zeros stays so."""
    square = square.double().cpu().numpy()
    total = square.sum(1, keepdims=True)
    return square / np.where(total > 0, total, 1.0)


@measuring()
def influence(model: nn.Module, batch: Batch) -> Tensor:
    """(B, T, T): G of every text, by the cheapest exact way; zero at padding."""
    embedded, encoder, mask = model.embed(batch).detach(), model.encoder, batch.mask
    if plain(model) and type(encoder) is Recurrent and len(encoder.forwards) == 1:
        step = max(1, CELLS // (embedded.shape[1] * 4 * encoder.width))  # memory stays flat as texts grow
        parts = zip(embedded.split(step), mask.split(step), strict=True)
        norms = torch.cat([_recurrent(model, some, its_mask) for some, its_mask in parts])
    else:
        norms = by_loop(model, embedded, mask)
    return norms.masked_fill(~(mask.unsqueeze(1) & mask.unsqueeze(2)), 0.0)


def by_loop(model: nn.Module, embedded: Tensor, mask: Tensor) -> Tensor:
    """The definition: a backward pass for each position."""
    with measuring(grad=True):
        leaf = embedded.detach().requires_grad_()
        length = model.reader.encode(leaf, mask).norm(dim=-1)
        rows = [
            torch.autograd.grad(length[:, p].sum(), leaf, retain_graph=True)[0].norm(dim=-1)
            for p in range(length.shape[1])
        ]
    return torch.stack(rows, 1)


def _recurrent(model: nn.Module, embedded: Tensor, mask: Tensor) -> Tensor:
    encoder, regulariser = model.encoder, model.reader.regulariser
    hidden = model.reader.encode(embedded, mask)
    norm = hidden.norm(dim=-1, keepdim=True)
    # h_p / ‖h_p‖: the encoder's part (B, T, H), and what the word itself adds (B, T, D)
    direction = own = torch.where(norm > 0, hidden / norm, 0.0)
    if isinstance(regulariser, Concat):
        direction, own = direction.split([encoder.width, embedded.shape[-1]], -1)
    elif not isinstance(regulariser, Residual):
        own = torch.zeros_like(embedded)
    size = encoder.forwards[0].hidden_size
    norms, corner = sweep(encoder.forwards[0], embedded, direction[..., :size])
    if encoder.backwards:
        turn = reversal(mask)
        back, other = sweep(encoder.backwards[0], turned(embedded, turn), turned(direction[..., size:], turn))
        back = torch.stack([turned(rows, turn) for rows in back.transpose(0, 1)]).transpose(0, 1)
        norms, corner = norms + turned(back, turn), corner + turned(other, turn)
    # Where p = i both directions and the word itself meet: their vectors add before the norm is taken.
    norms.diagonal(dim1=1, dim2=2).copy_((corner + own).norm(dim=-1))
    return norms


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
