"""What fits into a budget of minutes: the clock, and trainings whose time is measured or forecast."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus, Example
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted

CARD_SECONDS = 4.0
LONG = 8
"""Texts this many times longer than the median come last: removing words takes the square of the length."""


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


@dataclass
class Trainer:
    """Trainings on a corpus that differ in their seed or in how they are made.

    longest  seconds of a training, the longest so far
    """

    corpus: Corpus
    config: ModelConfig
    train: TrainConfig
    seed: int
    longest: float | None = None

    def fit(self, more: int = 0, how: Callable[..., Fitted] = fit) -> Fitted:
        """A training whose seed is `more` than that of the audit, timed."""
        begun = time.monotonic()
        fitted = how(self.corpus, self.config, self.train, self.seed + more)
        self.longest = max(self.longest or 0.0, time.monotonic() - begun)
        return fitted

    def forecast(self) -> float:
        """Seconds of a training: the longest so far, or what a pilot says."""
        if self.longest is None:
            fixed, each = self.pilot()
            self.longest = fixed + each * lengths(self.corpus.train).sum() * max(self.train.epochs, 1)
        return self.longest

    def pilot(self, texts: int = 128) -> tuple[float, float]:
        """Seconds of a training before its first step, and of one word in one epoch."""
        some, spent = self.corpus.sample(texts, seed=self.seed), []
        some = replace(some, train=_without_long(some.train))
        for epochs in (1, 0, 1):  # the first loads what a training loads once
            begun = time.monotonic()
            fit(some, self.config, self.train.replace(epochs=epochs), self.seed)
            spent.append(time.monotonic() - begun)
        return spent[1], max(spent[2] - spent[1], 1e-4) / lengths(some.train).sum()

    def shorten(self, seconds: float) -> str:
        """Keep as many training texts as, by a pilot, fit into these seconds; returns what was done, if anything.

        Words of a single training text are read as unknown: else the model would never have seen the unknown word,
        and every text with one in it would be out of distribution.
        """
        self.corpus = replace(self.corpus, min_df=max(2, self.corpus.min_df), known=None)
        fixed, each = self.pilot()
        allowed, total = (seconds - fixed) / (each * self.train.epochs), len(self.corpus.train)
        if allowed >= lengths(self.corpus.train).sum():
            return ""
        short = _without_long(self.corpus.train)
        most = max(200, int(allowed / lengths(short).mean()))
        self.corpus = replace(self.corpus, train=short).sample(most, seed=self.seed, splits=("train",))
        return f"trained on {len(self.corpus.train):,} of {total:,} training texts, to fit the budget"


def lengths(texts: Sequence[Example]) -> np.ndarray:
    """(n,) words of each text."""
    return np.array([len(e) for e in texts])


def long(texts: Sequence[Example]) -> float:
    """Words above which a text is long among these."""
    return LONG * float(np.median(lengths(texts))) if texts else math.inf


def _without_long(texts: Sequence[Example]) -> tuple[Example, ...]:
    most = long(texts)
    return tuple(e for e in texts if len(e) <= most)
