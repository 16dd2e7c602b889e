"""What would help, cheapest first: each repair with its gain in faithfulness, its cost in F1 and its minutes.

Reading the same model in another way is free, and the battery has measured it. The others train again: with words
masked (Madsen et al. 2024), with TaSc, with states tied to their words, with sparse attention; last, another
encoder. A Hugging Face classifier is fine-tuned with words masked (`attnlib.hf.classifier`), as a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from attnlib.auditing.rules import rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.engine.explainable import Explainable
from attnlib.training.fit import fit

TEXTS, DEEP = 100, 16
"""Texts that words are removed from, and searched, to judge a repair."""
GONE = "\N{REPLACEMENT CHARACTER}masked"
"""A word that no vocabulary has: the model reads it as unknown."""


@dataclass(frozen=True)
class Repair:
    """A change of the training, and roughly how much longer than the plain training it takes."""

    name: str
    does: str
    factor: float
    corpus: Callable[[Corpus, int], Corpus] = lambda corpus, seed: corpus
    config: Callable[[ModelConfig], ModelConfig] = lambda config: config
    applies: Callable[[ModelConfig], bool] = lambda config: True

    def train(self, corpus: Corpus, config: ModelConfig, train: TrainConfig, seed: int) -> Explainable:
        """A model with the repair."""
        changed = self.config(config)
        if changed.encoder == "bert":
            train = train.replace(epochs=2, learning_rate=5e-5, batch_size=16)
        return fit(self.corpus(corpus, seed), changed, train, seed)


@dataclass(frozen=True)
class Repaired:
    """What a repair achieved: readings of the repaired model as on the card, F1, minutes.

    sound   whether random removals leave the repaired model in its element, so that its readings can be judged;
            None: not decided
    model   the repaired model; the one under audit is left as it was
    """

    name: str
    does: str
    readings: pd.DataFrame
    sound: bool | None
    f1: float
    f1_change: float
    minutes: float
    model: Explainable = field(repr=False, compare=False, default=None)

    @property
    def attention(self) -> pd.Series:
        """Share of the attainable effect by attention: value, low, high."""
        return self.readings.iloc[0]

    @property
    def best(self) -> pd.Series:
        """The reading with the largest share, those that cost many passes left out."""
        free = self.readings[self.readings["ranking"] != "leave-one-out"]
        return free.loc[free["value"].idxmax()]

    @property
    def affordable(self) -> bool:
        """Whether F1 is not worse by more than the rules allow, and the readings can be judged."""
        return bool(self.sound) and self.f1_change >= -rules()["repair"]["f1"]

    @property
    def recommended(self) -> bool:
        """Whether attention of the repaired model is good enough by the rules."""
        return self.affordable and self.attention["value"] >= rules()["repair"]["faithful"]

    @property
    def explained(self) -> bool:
        """Whether some reading of the repaired model is."""
        return self.affordable and self.best["value"] >= rules()["repair"]["faithful"]


def masked(corpus: Corpus, seed: int) -> Corpus:
    """The training texts twice: as they are, and with a random share of their words, up to a half, made unknown."""
    rng, more = np.random.default_rng([seed, 2024]), []
    for example in corpus.train:
        gone = rng.random(len(example.tokens)) < rng.uniform(0, 0.5)
        tokens = tuple(GONE if g else token for token, g in zip(example.tokens, gone, strict=True))
        more.append(replace(example, tokens=tokens, id=f"{example.id}-masked"))
    return replace(corpus, train=(*corpus.train, *more), known=corpus.vocabulary)


MASKING = Repair("masking in training", "words hidden at random in half of the training texts", 2.0, corpus=masked)
REPAIRS = (
    MASKING,
    Repair(
        "TaSc", "attention scaled by one learned number per word (lin)", 1.1,
        config=lambda c: c.replace(scaling="lin"), applies=lambda c: c.scaling == "none",
    ),
    Repair(
        "sparse attention", "sparsemax in place of softmax", 1.1,
        config=lambda c: c.replace(projection="sparsemax"), applies=lambda c: c.projection == "softmax",
    ),
    Repair(
        "tying", "states kept close to their words by a loss", 1.2,
        # without the size that must follow another under tying
        config=lambda c: ModelConfig(
            **c.model_dump(exclude_defaults=True, exclude={"hidden_size", "regulariser"}), regulariser="tying"
        ),
        applies=lambda c: c.regulariser == "none" and c.encoder not in ("none", "bert"),
    ),
    Repair(
        "MiniLM", "a pretrained encoder in place of this one, attention on top", 40.0,
        config=lambda c: ModelConfig(encoder="bert", attention=c.attention),
        applies=lambda c: c.encoder in ("lstm", "gru"),
    ),
)  # fmt: skip
"""In the order in which they are tried: after masking, the cheapest first."""

FINE_TUNING = ("fine-tuning with masking", "a copy of the model trained on with words hidden at random")
"""Of a Hugging Face classifier: name, and what it does."""
