r"""What a model answers without some of its tokens, and how far any order of removal can push it.

For a ranking, :math:`A` is the mean drop of the predicted class's probability after the top k tokens of a text
were removed, over a few shares k of its length (AOPC on a grid). It does not compare across models, since some can
be moved further than others (Edin et al. 2025). The share of the attainable

.. math:: S = \frac{\bar A - \bar A_{random}}{\bar A_{best} - \bar A_{random}}

does: 0 is a random order (ten draws of the same length), 1 the best that a greedy search with a small beam found.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.special import softmax

from attnlib.auditing.rules import rules
from attnlib.data.types import Example
from attnlib.engine.explainable import ATTENTION, Explainable, answers, erase, operators
from attnlib.measures.faithfulness import best_removals
from attnlib.rankings.scores import importance
from attnlib.stats import descending
from attnlib.utils.device import measuring
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

    drops      ranking -> (n, shares) drop of the probability; also `random`, the mean over the draws, and `best`
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
    """A model, the texts it is audited on, and everything asked of it so far; `seed` fixes the random rankings."""

    def __init__(self, model: Explainable, examples: Sequence[Example], *, seed: int = 0) -> None:
        self.model, self.examples, self.seed = model, list(examples), seed
        self.probabilities = softmax(model.logits(self.examples), axis=1)
        self.predicted = self.probabilities.argmax(1)
        self.confidence = self.probabilities.max(1)
        self.labels = np.array([e.label for e in self.examples])
        self.lengths = np.array([len(model.tokens(e)) for e in self.examples])
        self.seconds = 0.0  # of removing words
        self.rankings: dict[str, Scores] = {}
        rng = [np.random.default_rng([seed, i]) for i in range(len(self.examples))]
        draws = range(rules()["draws"])
        self.random = [[g.random(n) for g, n in zip(rng, self.lengths, strict=True)] for _ in draws]

    def __len__(self) -> int:
        return len(self.examples)

    @property
    def inputs(self) -> tuple[str, str]:
        """The two ways to remove a token: a neutral token in its place, or no attention to it."""
        known = operators(self.model)
        return next(name for name in ("mask", "unk", "delete") if name in known), "pad"

    def read(self, name: str, stop: int | None = None) -> Scores:
        """The scores of a reading for the first `stop` texts (None: all), computed once."""
        known = self.rankings.setdefault(name, [])
        if some := self.examples[len(known) : stop]:
            known += importance(self.model, some, name)
        return known

    def erased(
        self,
        ways: Sequence[str],
        rankings: Sequence[str] = (),
        *,
        deep: int | None = None,
        go: Callable[[int], bool] = lambda done: True,
    ) -> dict[str, Erased]:
        """A of every ranking, of random ones and of the best order found, by operator.

        rankings  readings, or names in `self.rankings`
        deep  texts of which the best order is searched greedily; of the others it is the best of leave-one-out and
              the given rankings, plus what the search gained on those that were searched
        go    texts done -> whether to go on. All operators answer about a few texts before the next few: where the
              time is up, the answer is for the first texts alone
        """
        found: dict[str, list[dict[str, np.ndarray]]] = {way: [] for way in ways}
        starts = range(0, len(self), CHUNK)
        for start in progress(starts, f"removing tokens ({', '.join(ways)})", total=len(starts), unit="batch"):
            if start and not go(start):
                break
            begun = time.monotonic()
            rows = range(start, min(start + CHUNK, len(self)))
            for way in ways:
                found[way] += self._some(way, rows, rankings, deep is None or start < deep)
            self.seconds += (time.monotonic() - begun) * (ATTENTION not in ways)
        return {way: _joined(texts) for way, texts in found.items()}

    def _some(self, way: str, rows: range, rankings: Sequence[str], search: bool) -> list[dict[str, np.ndarray]]:
        """The removals of one operator from a few texts: what `_joined` puts together."""
        some = self.examples[rows.start : rows.stop]
        if way != ATTENTION:
            alone = importance(self.model, some, "omission", operator=way)
        else:
            singles = [[[j] for j in range(self.lengths[i])] for i in rows]
            logits = erase(self.model, some, singles, operator=way, batch_size=CHUNK)
            alone = [self._drop(i, softmax(one, axis=1)) for i, one in zip(rows, logits, strict=True)]
        read = {name: self.read(name, rows.stop)[rows.start :] for name in rankings}
        read |= {"leave-one-out": alone} | {d: scores[rows.start :] for d, scores in enumerate(self.random)}
        found: list[dict[str, np.ndarray]] = [{}] * len(rows)
        with measuring():
            for batch, trace in self.model.traces(some):
                answer = answers(self.model, batch, trace, way)
                for place, row in enumerate(batch.rows.tolist()):
                    own = {name: scores[row] for name, scores in read.items()}
                    found[row] = self._text(rows[row], partial(answer, place), own, search)
        return found

    def _text(self, i: int, answer: Callable, rankings: dict, search: bool) -> dict[str, np.ndarray]:
        """(shares,) drops of a text by ranking; `masked`, `alone`, and `searched` if it was."""
        known: dict[frozenset[int], np.ndarray] = {}

        def said(sets: Sequence[frozenset[int]]) -> np.ndarray:
            """(sets, C) probabilities without each of the sets, none of which is asked about twice."""
            if new := [one for one in dict.fromkeys(sets) if one not in known]:
                known.update(zip(new, answer(new).softmax(-1).cpu().numpy(), strict=True))
            return np.stack([known[one] for one in sets])

        def drop(sets: Sequence[frozenset[int]]) -> np.ndarray:
            return self._drop(i, said(sets))

        n, alone = self.lengths[i], rankings["leave-one-out"]
        # at least one token is removed, and one is always left
        counts = [min(max(1, math.ceil(share * n - 1e-9)), max(1, n - 1)) for share in rules()["shares"]]
        orders = {name: descending(scores).tolist() for name, scores in rankings.items()}
        gone = [frozenset(order[:k]) for order in orders.values() for k in counts]
        p = dict(zip(orders, said(gone).reshape(len(orders), len(counts), -1), strict=True))
        draws = np.stack([p.pop(d) for d in range(len(self.random))])
        found = {name: self._drop(i, values) for name, values in p.items()}
        found["best"] = np.max(list(found.values()), 0)
        found["random"] = self._drop(i, draws).mean(0)
        found |= {"masked": (draws.argmax(-1) == self.labels[i]).mean(0), "alone": alone}
        if search:
            largest, _ = best_removals(drop, counts, alone, beam=BEAM, candidates=CANDIDATES)
            found["searched"] = np.maximum(found["best"], largest)
        return found

    def _drop(self, i: int, p: np.ndarray) -> np.ndarray:
        """How far the probability of a text's prediction falls to those of (..., C)."""
        return self.confidence[i] - p[..., self.predicted[i]]


def _joined(texts: list[dict[str, np.ndarray]]) -> Erased:
    """The best order of texts that were not searched gets what the search gained on the others."""
    gained = [text["searched"] - text["best"] for text in texts if "searched" in text]
    gain = np.mean(gained, 0) if gained else 0.0
    for text in texts:
        text["best"] = text.pop("searched", text["best"] + gain)
    masked, alone = np.stack([text.pop("masked") for text in texts]), [text.pop("alone") for text in texts]
    return Erased({name: np.stack([text[name] for text in texts]) for name in texts[0]}, masked, alone)
