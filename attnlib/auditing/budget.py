"""What fits into a budget of minutes: the clock, and trainings whose time is measured."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from attnlib.auditing.rules import rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted

CARD_SECONDS = 4.0
WORDS = 50_000
"""Words per minute of the budget that a model of the kit is trained on at most: about a quarter of the time."""


class Clock:
    """The budget, and what of it is left."""

    def __init__(self, minutes: float) -> None:
        self.begun, self.seconds = time.monotonic(), 60 * minutes

    @property
    def spent(self) -> float:
        return time.monotonic() - self.begun

    @property
    def left(self) -> float:
        return self.seconds - self.spent - CARD_SECONDS

    def fits(self, seconds: float) -> bool:
        return seconds <= self.left

    def until(self, share: float) -> Callable[[int], bool]:
        """Texts done -> whether to go on: to the least number for a row, then while this share is not spent."""
        end, least = self.spent + share * self.left, rules()["texts"]
        return lambda done: done < least or self.spent < end


@dataclass
class Trainer:
    """Trainings on a corpus that differ in their seed or in how they are made.

    longest  seconds of a training, the longest so far
    """

    corpus: Corpus
    config: ModelConfig
    train: TrainConfig
    seed: int
    longest: float = 0.0

    def fit(self, more: int = 0, how: Callable[..., Fitted] = fit) -> Fitted:
        """A training whose seed is `more` than that of the audit, timed."""
        begun = time.monotonic()
        fitted = how(self.corpus, self.config, self.train, self.seed + more)
        self.longest = max(self.longest, time.monotonic() - begun)
        return fitted

    def shorten(self, words: float) -> str:
        """Keep as many training texts as have so many words; returns what was done, if anything.

        Words of a single training text are read as unknown: else the model would never have seen the unknown word,
        and every text with one in it would be out of distribution.
        """
        total, share = len(self.corpus.train), words / max(1, sum(map(len, self.corpus.train)))
        self.corpus = replace(self.corpus, min_df=max(2, self.corpus.min_df), known=None)
        if share >= 1:
            return ""
        self.corpus = self.corpus.sample(max(200, int(share * total)), seed=self.seed, splits=("train",))
        return f"trained on {len(self.corpus.train):,} of {total:,} training texts, to fit the budget"
