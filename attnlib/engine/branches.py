r"""Input erasure for one-layer LSTM and GRU encoders: states that variants share are computed once.

Read from the left, two variants of a text have the same states until they first differ. Take the prefixes of a
ranking, R_1 ⊂ R_2 ⊂ …: at position t the state of variant k depends on :math:`R_k \cap [0, t]` alone, so there are
only as many distinct states as removed positions up to t. They form a tree: a branch is born at the position that
variant j removes and others do not, from the state of the branch below it. All branches of all texts advance
together, one matrix product per position; on average half of the T × K states of each direction remain. What a
branch reads is the projection of a word or of the replacement token: computed once for every word of the batch.
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
from attnlib.models.encoders import reversal

ROWS = 512
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


def grow(cell: nn.LSTM | nn.GRU, table: Tensor, words: Tensor, lengths: Tensor, skips: bool, tree: Tree) -> Grown:
    """All distinct states of one direction.

    table (N, G): the gates' `inputs` of every word of the batch; words (R, T + 1): where in the table the words of
    each text are, then its replacement token; lengths (R,). skips: words are deleted, so that a branch passes the
    place with its state unchanged.

    Texts end together: the trunk of a shorter one is born later, so that rows are only ever added, and none reads
    padding.
    """
    texts, length, device = len(words), words.shape[1] - 1, words.device
    late = length - lengths.clamp_min(1)
    text, number = (tree.born < lengths.unsqueeze(1)).nonzero(as_tuple=True)
    born = torch.cat([late, tree.born[text, number] + late[text]])
    born, by_birth = born.sort(stable=True)
    text = torch.cat([torch.arange(texts, device=device), text])[by_birth]
    number = torch.cat([torch.zeros_like(late), number + 1])[by_birth]
    row = torch.zeros(texts, tree.born.shape[1] + 1, dtype=torch.long, device=device)
    row[text, number] = torch.arange(len(text), device=device)
    parent = row[text, tree.parent[text, number - 1]]
    line = torch.arange(length, device=device)
    here = (line - late[text].unsqueeze(1)).clamp_min(0)
    lost = tree.removed[text, number].gather(1, here)
    read = torch.where(lost, words[text, -1:], words[text].gather(1, here)).T.contiguous()
    alive = torch.searchsorted(born, line, right=True)
    passing = lost.T & (torch.arange(len(text), device=device) < alive.unsqueeze(1))
    passing = passing.nonzero()[:, 1].split(passing.sum(1).tolist()) if skips else None
    # States before a position are those after the last one, then zeros for the trunks born here, then copies of the
    # parents of other branches born here: a block of `values` per position.
    sizes = [*alive.tolist(), len(text)]
    roots = (torch.searchsorted(born, line) + torch.bincount(late, minlength=length)).tolist()
    values = table.new_zeros(sum(sizes), cell.hidden_size)
    blocks = values.split(sizes)
    step = (Lstm if isinstance(cell, nn.LSTM) else Gru)(cell, table.new_zeros(2, len(text), cell.hidden_size))
    for t, n in enumerate(sizes[:-1]):
        before, after = blocks[t], blocks[t + 1]
        kept = [state.index_select(0, passing[t]) for state in (before, *step.carried)] if skips else ()
        step(table.index_select(0, read[t, :n]), before, after[:n])
        for state, old in zip((after, *step.carried), kept, strict=False):
            state.index_copy_(0, passing[t], old)
        if len(after) > n:
            root, more = roots[t + 1], len(after)
            for state in (after, *step.carried):
                torch.index_select(state[:root], 0, parent[root:more], out=state[root:more])
    begins = torch.tensor([0, *accumulate(sizes)][1:-1], device=device)
    begin = begins[(line + late.unsqueeze(1)).clamp_max(length - 1)].unsqueeze(1)
    return Grown(values, begin + row.gather(1, tree.branch.flatten(1)).view(tree.branch.shape))


class Lstm:
    r"""One step of many LSTM rows.

    All gates and the memory are squashed by sigmoids, :math:`\tanh x = 1 - 2 \sigma(-2x)`: a tanh costs six times
    as much on a CPU. The factor -2 of the candidate is in the weights.
    """

    def __init__(self, cell: nn.LSTM, room: Tensor) -> None:
        self.weight = self.gates(cell.weight_hh_l0).T.contiguous()
        self.memory, self.room = room
        self.carried = (self.memory,)

    @staticmethod
    def gates(x: Tensor) -> Tensor:
        """Weights or biases (4h, ...), the candidate times -2."""
        i, f, g, o = x.chunk(4)
        return torch.cat([i, f, -2 * g, o])

    @classmethod
    def inputs(cls, cell: nn.LSTM, embedded: Tensor) -> Tensor:
        """W_ih e + b of words (..., D)."""
        return torch.addmm(cls.gates(cell.bias_ih_l0 + cell.bias_hh_l0), embedded, cls.gates(cell.weight_ih_l0).T)

    def __call__(self, read: Tensor, hidden: Tensor, out: Tensor) -> None:
        """States after (n, h), into `out`; read (n, 4h): the words' inputs; hidden (n, h): states before."""
        i, f, g, o = read.addmm_(hidden, self.weight).sigmoid_().chunk(4, 1)
        memory, squashed = self.memory[: len(read)], self.room[: len(read)]
        fresh = torch.addcmul(i, i, g, value=-2, out=squashed)
        torch.addcmul(fresh, f, memory, out=memory)
        torch.mul(memory, -2, out=squashed).sigmoid_()
        torch.addcmul(o, o, squashed, value=-2, out=out)


class Gru:
    """One step of many GRU rows."""

    def __init__(self, cell: nn.GRU, room: Tensor) -> None:
        self.weight = cell.weight_hh_l0.T.contiguous()
        self.bias = cell.bias_hh_l0
        self.size = cell.hidden_size
        self.carried = ()

    @staticmethod
    def inputs(cell: nn.GRU, embedded: Tensor) -> Tensor:
        return torch.addmm(cell.bias_ih_l0, embedded, cell.weight_ih_l0.T)

    def __call__(self, read: Tensor, hidden: Tensor, out: Tensor) -> None:
        n = self.size
        new = torch.addmm(self.bias, hidden, self.weight)
        gates = new[:, : 2 * n].add_(read[:, : 2 * n]).sigmoid_()
        fresh = read[:, 2 * n :].addcmul_(gates[:, :n], new[:, 2 * n :]).tanh_()
        torch.lerp(fresh, hidden, gates[:, n:], out=out)


class Branches(Shared):
    """Prefixes and single removals with shared states, then the head on shared features."""

    def __init__(self, model, batch, trace, operator) -> None:
        super().__init__(model, batch, trace, operator)
        self.head = Head(model, batch, trace, operator)
        encoder = model.encoder
        self.cells = [encoder.forwards[0], *encoder.backwards[:1]]
        self.turn = reversal(batch.mask)
        maker = Lstm if isinstance(self.cells[0], nn.LSTM) else Gru
        ids = batch.ids.flatten() if operator.token is None else torch.cat([batch.ids.flatten(), self.head.token])
        # what a word does to the gates is worked out once for all its occurrences
        words, place = ids.unique(return_inverse=True)
        self.words, self.token = place[: batch.ids.numel()].view(batch.ids.shape), place[-1:]
        embedded = model.embedding(words)
        self.tables = [maker.inputs(cell, embedded) for cell in self.cells]
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
        words, lengths = self.words[texts, :width], self.batch.lengths[texts]
        parts, index, column = [], [], 0
        for side, (cell, tree) in enumerate(zip(self.cells, trees, strict=True)):
            turn = self.turn[texts, :width]
            read = torch.cat([words.gather(1, turn) if side else words, self.token.expand(len(texts), 1)], 1)
            states = grow(cell, self.tables[side], read, lengths, self.operator.token is None, tree)
            where = states.index
            if side:
                where = where.gather(2, turn.unsqueeze(1).expand_as(where)) + len(parts[0])
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
