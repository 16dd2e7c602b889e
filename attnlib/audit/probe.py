r"""What a model answers without some of its tokens, and how far any order of removal can push it.

For a ranking, :math:`A = \frac1{|K|} \sum_{k \in K} (p_0 - p_k)`: the mean drop of the predicted class's
probability after the top k tokens of a text were removed, over a few shares of its length (AOPC on a grid). A does
not compare across models, since some models can be moved further than others (Edin et al. 2025). The share of the
attainable

.. math:: S = \frac{\bar A - \bar A_{random}}{\bar A_{best} - \bar A_{random}}

does: 0 is a random order (ten draws of the same length), 1 the best order that a greedy search with a small beam
found. Both are means over texts, so the interval of S is that of a ratio (`share_values`).
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from attnlib.audit.rules import rules
from attnlib.data.types import Example
from attnlib.engine.explainable import ATTENTION, Explainable, erase, operators
from attnlib.importance.scores import importance
from attnlib.stats import descending
from attnlib.utils.progress import progress

Scores = Sequence[np.ndarray]
CHUNK = 4
"""Texts asked about at once, so that memory stays flat and progress is seen."""
BEAM = 3
CANDIDATES = 24
"""Tokens that the search for the best order goes on with: those that matter most alone."""


@dataclass
class Erased:
    """The answers of one model to the removals of one operator; n texts.

    drops      ranking -> (n, shares) drop of the probability; `random` is the mean over the draws, `best` the
               largest that any order reached at that share
    masked     (n, shares): how often the decision is right under random masking
    alone      per text, (tokens,): drop of the probability without each token alone
    """

    drops: dict[str, np.ndarray]
    masked: np.ndarray
    alone: list[np.ndarray]

    def __len__(self) -> int:
        return len(self.alone)

    def area(self, ranking: str) -> np.ndarray:
        """(n,) A of a ranking."""
        return self.drops[ranking].mean(1)

    def share(self, ranking: str) -> np.ndarray:
        """(n,) numbers whose mean is S of a ranking."""
        return share_values(self.area(ranking), self.area("random"), self.area("best"))

    @property
    def attainable(self) -> np.ndarray:
        """(n,) A_best - A_random."""
        return self.area("best") - self.area("random")

    def take(self, rows: np.ndarray) -> Erased:
        """The same for some of the texts; rows may repeat."""
        drops = {name: values[rows] for name, values in self.drops.items()}
        return Erased(drops, self.masked[rows], [self.alone[i] for i in rows])


def share_values(drop: np.ndarray, random: np.ndarray, best: np.ndarray) -> np.ndarray:
    r"""One number per text whose mean is S and whose spread is that of the ratio of means, to first order.

    With :math:`a_i = A_i - A_{random,i}` and :math:`b_i = A_{best,i} - A_{random,i}`: :math:`S + (a_i - S
    b_i)/\bar b`. NaN where nothing is attainable.
    """
    a, b = drop - random, best - random
    if not b.mean() > 1e-9:
        return np.full(len(a), math.nan)
    share = a.mean() / b.mean()
    return share + (a - share * b) / b.mean()


class Probe:
    """A model, the texts it is audited on, and everything asked of it so far.

    draws, shares   as in the rules; `seed` fixes the random rankings
    """

    def __init__(
        self,
        model: Explainable,
        examples: Sequence[Example],
        *,
        shares: Sequence[float] | None = None,
        draws: int | None = None,
        seed: int = 0,
    ) -> None:
        self.model, self.examples, self.seed = model, list(examples), seed
        self.shares = tuple(shares or rules()["shares"])
        self.probabilities = softmax(model.logits(self.examples), axis=1)
        self.predicted = self.probabilities.argmax(1)
        self.labels = np.array([e.label for e in self.examples])
        self.lengths = np.array([len(model.tokens(e)) for e in self.examples])
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.rankings: dict[str, Scores] = {}
        rng = [np.random.default_rng([seed, i]) for i in range(len(self.examples))]
        count = draws or rules()["draws"]
        self.random = [[g.random(n) for g, n in zip(rng, self.lengths, strict=True)] for _ in range(count)]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def confidence(self) -> np.ndarray:
        """(n,) probability of the predicted class."""
        return self.probabilities.max(1)

    @property
    def inputs(self) -> tuple[str, str]:
        """The two ways to remove a token from the input: a neutral token in its place, or no attention to it."""
        known = operators(self.model)
        return next(name for name in ("mask", "unk", "delete") if name in known), "pad"

    def read(self, name: str, stop: int | None = None) -> Scores:
        """The scores of a reading for the first `stop` texts (None: all), computed once and timed."""
        known = self.rankings.setdefault(name, [])
        some = self.examples[len(known) : stop]
        if some:
            begun = time.monotonic()
            known += importance(self.model, some, name)
            self.seconds[name] += time.monotonic() - begun
        return known

    def counts(self, n: int) -> list[int]:
        """How many of n tokens each share is: at least one, and one is always left."""
        return [min(max(1, math.ceil(share * n - 1e-9)), max(1, n - 1)) for share in self.shares]

    def erased(
        self,
        ways: str | Sequence[str],
        rankings: Sequence[str] = (),
        *,
        deep: int | None = None,
        left: Callable[[int], float] = lambda done: math.inf,
    ) -> Erased | dict[str, Erased]:
        """A of every ranking, of random ones and of the best order found: for one operator, or by operator.

        rankings  readings, or names in `self.rankings`
        deep  texts of which the best order is searched greedily; of the others it is the best of leave-one-out and
              the given rankings, plus what the search gained on those that were searched
        left  texts done -> seconds that may still be spent. All operators answer about a few texts before the next
              few: where the time is up, the answer is for the first texts alone
        """
        if isinstance(ways, str):
            return self.erased([ways], rankings, deep=deep, left=left)[ways]
        parts: dict[str, list[Erased]] = {way: [] for way in ways}
        gained: dict[str, list[np.ndarray]] = {way: [] for way in ways}
        starts = range(0, len(self), CHUNK)
        last = 0.0
        for start in progress(starts, f"removing tokens ({', '.join(ways)})", total=len(starts), unit="batch"):
            begun = time.monotonic()
            rows = range(start, min(start + CHUNK, len(self)))
            if start and left(start) < last:
                break
            for way in ways:
                parts[way].append(self._some(way, rows, rankings, deep is None or start < deep, gained[way]))
            last = time.monotonic() - begun
            self.seconds["removing"] += last * (ATTENTION not in ways)
        return {way: _joined(some) for way, some in parts.items()}

    def _some(
        self, way: str, rows: range, rankings: Sequence[str], search: bool, gained: list[np.ndarray]
    ) -> Erased:
        """The removals of one operator from a few texts."""
        begun = time.monotonic()
        alone = self._first(rows, way)
        if way == self.inputs[-1]:
            self.seconds["leave-one-out"] += time.monotonic() - begun
        own = {name: self.read(name, rows.stop)[rows.start : rows.stop] for name in rankings}
        own["leave-one-out"] = alone
        own |= {f"random {d}": [scores[i] for i in rows] for d, scores in enumerate(self.random)}
        answers = self._prefixes(rows, way, own)
        draws = [answers.pop(f"random {d}") for d in range(len(self.random))]
        drops = {name: drop for name, (drop, _) in answers.items()}
        best = np.max(list(drops.values()), 0)
        if search:
            searched = np.maximum(best, self._greedy(rows, way, alone))
            gained.append(searched - best)
            best = searched
        elif gained:
            best = best + np.concatenate(gained).mean(0)
        drops |= {"random": np.mean([drop for drop, _ in draws], 0), "best": best}
        return Erased(drops, np.mean([right for _, right in draws], 0), alone)

    def _ask(self, rows: Sequence[int], operator: str, sets: list[list[frozenset[int]]]) -> list[np.ndarray]:
        """Probabilities (sets, C) of each text without each of its sets; a set that occurs twice is asked once."""
        if not len(rows):
            return []
        distinct = [list(dict.fromkeys(own)) for own in sets]
        logits = erase(self.model, [self.examples[i] for i in rows], distinct, operator=operator, batch_size=CHUNK)
        said = []
        for own, unique, values in zip(sets, distinct, logits, strict=True):
            place = {one: k for k, one in enumerate(unique)}
            said.append(softmax(values, axis=1)[[place[one] for one in own]])
        return said

    def _drops(self, rows: Sequence[int], operator: str, sets: list[list[frozenset[int]]]) -> list[np.ndarray]:
        """(sets,) drops of the probability of each text without each of its sets."""
        said = self._ask(rows, operator, sets)
        return [self.confidence[i] - p[:, self.predicted[i]] for i, p in zip(rows, said, strict=True)]

    def _prefixes(self, rows: Sequence[int], operator: str, rankings: dict[str, list]) -> dict[str, tuple]:
        """Ranking -> (n, shares) drops, and (n, shares) whether the decision is right, without the top tokens."""
        sets = []
        for place, i in enumerate(rows):
            own = []
            for scores in rankings.values():
                order = descending(scores[place])
                own += [frozenset(order[:k].tolist()) for k in self.counts(self.lengths[i])]
            sets.append(own)
        said = self._ask(rows, operator, sets)
        shape = (len(rankings), len(self.shares))
        drops, right = [], []
        for i, p in zip(rows, said, strict=True):
            drops.append((self.confidence[i] - p[:, self.predicted[i]]).reshape(shape))
            right.append((p.argmax(1) == self.labels[i]).reshape(shape))
        pairs = zip(np.stack(drops, 1), np.stack(right, 1), strict=True)
        return dict(zip(rankings, pairs, strict=True))

    def _first(self, rows: Sequence[int], operator: str) -> list[np.ndarray]:
        """The drop without each token alone; at the input of a model of the kit by its fast exact erasers."""
        if operator != ATTENTION and hasattr(self.model, "model_config"):
            return importance(self.model, [self.examples[i] for i in rows], "omission", operator=operator)
        return self._drops(rows, operator, [[frozenset({j}) for j in range(self.lengths[i])] for i in rows])

    def _further(
        self, rows: Sequence[int], operator: str, gone: list[list[frozenset[int]]], first: list[np.ndarray]
    ) -> list[list[np.ndarray]]:
        """For each text and each of its sets, the drop without the set and one token more.

        first  drops without each token alone: only the `CANDIDATES` largest are asked about again, the others rank
               behind them in this order
        """
        among = [descending(drops)[:CANDIDATES].tolist() for drops in first]
        free = [[[j for j in some if j not in one] for one in own] for some, own in zip(among, gone, strict=True)]
        sets = [
            [one | {j} for one, left in zip(own, lists, strict=True) for j in left]
            for own, lists in zip(gone, free, strict=True)
        ]
        found = []
        for alone, lists, drops in zip(first, free, self._drops(rows, operator, sets), strict=True):
            ends = np.cumsum([len(left) for left in lists])
            own = [alone - 2.0 for _ in lists]
            for values, left, some in zip(own, lists, np.split(drops, ends[:-1]), strict=True):
                values[left] = some
            found.append(own)
        return found

    def _greedy(self, rows: Sequence[int], operator: str, first: list[np.ndarray]) -> np.ndarray:
        """(n, shares) drops of the order that a beam search finds: at each share what matters most *now* goes."""
        best = np.empty((len(rows), len(self.shares)))
        beams = [[(frozenset(), 0.0, drops)] for drops in first]
        steps = [self.counts(self.lengths[i]) for i in rows]
        for step in range(len(self.shares)):
            grown = [_grown(beam, own[step]) for beam, own in zip(beams, steps, strict=True)]
            found = self._drops(rows, operator, [list(more) for more in grown])
            for place, (more, drops) in enumerate(zip(grown, found, strict=True)):
                totals, sets = np.array(list(more.values())) + drops, list(more)
                beams[place] = [(sets[k], totals[k], np.empty(0)) for k in descending(totals)[:BEAM]]
                best[place, step] = drops.max()
            if step + 1 == len(self.shares):
                break
            again = [k for k in range(len(rows)) if steps[k][step + 1] > steps[k][step]]
            asked = [[gone for gone, _, _ in beams[k]] for k in again]
            known = [first[k] for k in again]
            for k, alone in zip(
                again, self._further([rows[k] for k in again], operator, asked, known), strict=True
            ):
                beams[k] = [(gone, total, a) for (gone, total, _), a in zip(beams[k], alone, strict=True)]
        return best


def _joined(parts: Sequence[Erased]) -> Erased:
    drops = {name: np.concatenate([part.drops[name] for part in parts]) for name in parts[0].drops}
    return Erased(drops, np.concatenate([part.masked for part in parts]), [a for part in parts for a in part.alone])


def _grown(beam: list[tuple[frozenset[int], float, np.ndarray]], size: int) -> dict[frozenset[int], float]:
    """Sets of `size` tokens that grow from those of the beam, with the sum of drops on the way to them."""
    more: dict[frozenset[int], float] = {}
    for gone, total, alone in beam:
        missing = size - len(gone)
        order = [j for j in descending(alone).tolist() if j not in gone]
        tails = order[missing - 1 : missing - 1 + BEAM]
        for larger in [gone | {*order[: missing - 1], last} for last in tails] if missing > 0 else [gone]:
            more[larger] = max(more.get(larger, -np.inf), total)
    return more
