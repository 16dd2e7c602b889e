r"""Input erasure for one-layer LSTM and GRU encoders: states that variants share are computed once.

Read from the left, two variants of a text have the same states until they first differ. Take the prefixes of a
ranking, R_1 ⊂ R_2 ⊂ …: at position t the state of variant k depends on :math:`R_k \cap [0, t]` alone, so there are
only as many distinct states as removed positions up to t. They form a tree: a branch is born at the position that
variant j removes and others do not, from the state of the branch below it. All branches of all texts advance
together, one matrix product per position; on average half of the T × K states of each direction remain. What a
branch reads is the projection of a word or of the replacement token: computed once per text, not once per variant.
"""

from __future__ import annotations

from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding_bag

from attnlib.engine.attention import CELLS
from attnlib.engine.head import Head
from attnlib.engine.rows import Shared
from attnlib.models.encoders import reversal, turned

ROWS = 256
"""Variants that advance together: enough for the matrix product, few enough for the cache."""


class Tree(NamedTuple):
    """How K variants of each of R texts branch, read in one direction. Branch 0 is the trunk.

    removed  (R, K + 1, T) bool: whether a branch has lost the word at t
    born     (R, K) position at which branch j = 1 … K appears, T for never
    parent   (R, K) the branch it appears from
    branch   (R, K, T) the branch that variant j follows at t
    """

    removed: Tensor
    born: Tensor
    parent: Tensor
    branch: Tensor


class Grown(NamedTuple):
    """values (N, h): distinct states; index (R, K, T): which one a variant has at t."""

    values: Tensor
    index: Tensor


def nested(rank: Tensor, start: int, stop: int) -> Tree:
    """The tree of the variants that lost the first start + 1, …, stop of a ranking.

    rank (R, T): when each position goes, counted from 1; positions that never go hold a larger number than `stop`.
    """
    steps = torch.arange(start, stop + 1, device=rank.device)
    removed = rank.unsqueeze(1) <= steps.reshape(1, -1, 1)
    here = rank.unsqueeze(1) == steps[1:].reshape(1, -1, 1)
    born = torch.where(here.any(-1), here.to(torch.uint8).argmax(-1), rank.shape[1])
    number = torch.arange(1, stop - start + 1, device=rank.device)
    older = (born.unsqueeze(1) < born.unsqueeze(2)) & (number < number.unsqueeze(1))
    parent = torch.where(older, number, 0).amax(-1)
    position = torch.arange(rank.shape[1], device=rank.device)
    alive = born.unsqueeze(-1) <= position
    branch = torch.where(alive, number.reshape(1, -1, 1), 0).cummax(1).values
    return Tree(removed, born, parent, branch)


def separate(positions: Tensor, length: int) -> Tree:
    """The tree of the variants that lost one position each. positions (R, K); `length` for no variant."""
    line = torch.arange(length, device=positions.device)
    removed = line == positions.unsqueeze(-1)
    removed = torch.cat([torch.zeros_like(removed[:, :1]), removed], 1)
    number = torch.arange(1, positions.shape[1] + 1, device=positions.device).reshape(1, -1, 1)
    branch = torch.where(positions.unsqueeze(-1) <= line, number, 0)
    return Tree(removed, positions, torch.zeros_like(positions), branch)


def grow(cell: nn.LSTM | nn.GRU, table: Tensor, first: Tensor, length: int, skips: bool, tree: Tree) -> Grown:
    """All distinct states of one direction over `length` positions.

    table (N + 1, G): W_ih e + b of every word of the batch, then of the replacement token; first (R,): where in the
    table each text begins. skips: words are deleted, so that a branch passes the place with its state unchanged.
    """
    texts, device = len(first), first.device
    real = tree.born < length
    text, number = real.nonzero(as_tuple=True)
    born, by_birth = tree.born[real].sort(stable=True)
    text, number = text[by_birth], number[by_birth] + 1
    row = torch.zeros(texts, tree.born.shape[1] + 1, dtype=torch.long, device=device)
    row[:, 0] = torch.arange(texts, device=device)
    row[text, number] = texts + torch.arange(len(text), device=device)
    parent = row[text, tree.parent[text, number - 1]]
    row_text = torch.cat([row[:, 0], text])
    lost = tree.removed[row_text, torch.cat([torch.zeros_like(row[:, 0]), number])].T.contiguous()
    place = first[row_text] + torch.arange(length, device=device).unsqueeze(1)
    read = torch.where(lost, len(table) - 1, place)
    alive = (texts + torch.searchsorted(born, torch.arange(length, device=device), right=True)).tolist()
    offsets = [0, *accumulate(alive)]
    step = Lstm(cell) if isinstance(cell, nn.LSTM) else Gru(cell)
    values = table.new_empty(offsets.pop(), cell.hidden_size)
    state, n = step.start(texts, table), texts
    for t in range(length):
        if alive[t] > n:
            # Branches born here start from the state their parent had before this position.
            born_from = parent[n - texts : alive[t] - texts]
            state = tuple(torch.cat([s, s.index_select(0, born_from)]) for s in state)
            n = alive[t]
        out = values[offsets[t] : offsets[t] + n]
        after = step(table.index_select(0, read[t, :n]), state, out)
        if skips:
            keep = lost[t, :n].unsqueeze(-1)
            after = tuple(torch.where(keep, old, new) for old, new in zip(state, after, strict=True))
            out.copy_(after[0])
        state = after
    where = row.gather(1, tree.branch.flatten(1)).view(tree.branch.shape)
    return Grown(values, where + torch.tensor(offsets, device=device))


class Lstm:
    """One step of many LSTM rows; the gates are reordered so that the three sigmoids are one call."""

    def __init__(self, cell: nn.LSTM) -> None:
        i, f, g, o = cell.weight_hh_l0.chunk(4)
        self.weight = torch.cat([i, f, o, g]).T.contiguous()
        self.size = cell.hidden_size

    @staticmethod
    def inputs(cell: nn.LSTM, embedded: Tensor) -> Tensor:
        """W_ih e + b of words (..., D), gates in our order."""
        i, f, g, o = cell.weight_ih_l0.chunk(4)
        p, q, r, s = (cell.bias_ih_l0 + cell.bias_hh_l0).chunk(4)
        return embedded @ torch.cat([i, f, o, g]).T + torch.cat([p, q, s, r])

    def start(self, rows: int, like: Tensor) -> tuple[Tensor, Tensor]:
        zero = like.new_zeros(rows, self.size)
        return zero, zero

    def __call__(self, read: Tensor, state: tuple[Tensor, Tensor], out: Tensor) -> tuple[Tensor, Tensor]:
        gates = read.addmm_(state[0], self.weight)
        n = self.size
        gates[:, : 3 * n].sigmoid_()
        gates[:, 3 * n :].tanh_()
        memory = gates[:, n : 2 * n] * state[1]
        memory.addcmul_(gates[:, :n], gates[:, 3 * n :])
        torch.mul(gates[:, 2 * n : 3 * n], memory.tanh(), out=out)
        return out, memory


class Gru:
    """One step of many GRU rows."""

    def __init__(self, cell: nn.GRU) -> None:
        self.weight = cell.weight_hh_l0.T.contiguous()
        self.bias = cell.bias_hh_l0
        self.size = cell.hidden_size

    @staticmethod
    def inputs(cell: nn.GRU, embedded: Tensor) -> Tensor:
        return embedded @ cell.weight_ih_l0.T + cell.bias_ih_l0

    def start(self, rows: int, like: Tensor) -> tuple[Tensor]:
        return (like.new_zeros(rows, self.size),)

    def __call__(self, read: Tensor, state: tuple[Tensor], out: Tensor) -> tuple[Tensor]:
        n = self.size
        hidden = torch.addmm(self.bias, state[0], self.weight)
        gates = (read[:, : 2 * n] + hidden[:, : 2 * n]).sigmoid_()
        fresh = read[:, 2 * n :].addcmul(gates[:, :n], hidden[:, 2 * n :]).tanh_()
        torch.lerp(fresh, state[0], gates[:, n:], out=out)
        return (out,)


class Branches(Shared):
    """Prefixes and single removals with shared states, then the head on shared features."""

    def __init__(self, model, batch, trace, operator) -> None:
        super().__init__(model, batch, trace, operator)
        self.head = Head(model, batch, trace, operator)
        encoder = model.encoder
        self.cells = [encoder.forwards[0], *encoder.backwards[:1]]
        self.turn = reversal(batch.mask)
        maker = Lstm if isinstance(self.cells[0], nn.LSTM) else Gru
        token = self.head.token_embedding if operator.token is not None else trace.embedded.new_zeros(1, 1)
        words = (trace.embedded, turned(trace.embedded, self.turn))
        self.tables = [
            maker.inputs(cell, torch.cat([side.flatten(0, 1), token.expand(1, side.shape[-1])]))
            for cell, side in zip(self.cells, words, strict=False)
        ]
        self.encoder_weight = self.head.weight[:, : encoder.width]

    @property
    def at_once(self) -> int:
        return min(ROWS, max(1, CELLS // (self.batch.ids.shape[1] * self.head.width)))

    def texts_at_once(self, variants: int) -> int:
        return max(1, self.at_once // variants)

    def nested(self, texts: Tensor, rank: Tensor, start: int, stop: int) -> Tensor:
        width = self.longest(texts)
        rank = rank[:, :width]
        trees = [nested(rank, start, stop)]
        if len(self.cells) > 1:
            trees.append(nested(rank.gather(1, self.turn[texts, :width]), start, stop))
        return self._logits(texts, width, trees)

    def separate(self, texts: Tensor, places: Tensor, real: Tensor) -> Tensor:
        width = self.longest(texts)
        trees = [separate(places.expand(len(texts), -1).masked_fill(~real, width), width)]
        if len(self.cells) > 1:
            trees.append(separate(self.turn[texts][:, places].masked_fill(~real, width), width))
        return self._logits(texts, width, trees)

    def _logits(self, texts: Tensor, width: int, trees: list[Tree]) -> Tensor:
        """Logits (R, K, C) of the variants that the trees describe, one tree per direction."""
        removed = trees[0].removed[:, 1:]
        first = texts * self.batch.ids.shape[1]
        parts, index, column = [], [], 0
        for side, (cell, tree) in enumerate(zip(self.cells, trees, strict=True)):
            states = grow(cell, self.tables[side], first, width, self.operator.token is None, tree)
            where = states.index
            if side == 1:
                turn = self.turn[texts, :width].unsqueeze(1)
                where = where.gather(2, turn.expand_as(where)) + len(parts[0])
            index.append(where)
            parts.append(states.values @ self.encoder_weight[:, column : column + cell.hidden_size].T)
            column += cell.hidden_size
        parts[0] += self.head.bias
        # One row of features from each direction, summed in one pass.
        index = torch.stack(index, -1)
        features = embedding_bag(index.flatten(0, -2), torch.cat(parts), mode="sum")
        features = features.view(*removed.shape, -1)
        own = self.head.own(texts, width)
        if own is not None:
            words, token = own
            features += (
                words.unsqueeze(1)
                if token is None
                else torch.where(removed.unsqueeze(-1), token, words.unsqueeze(1))
            )
        return self.head.logits(texts, features, removed)
