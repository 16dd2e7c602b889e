"""What would help, cheapest first: each repair with its faithfulness, its cost in F1 and its minutes.

Reading the same model in another way is free, and the battery has measured it. These train again: with words masked
(Madsen et al. 2024), with TaSc, with states tied to their words, with sparse attention.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    """A change of the configuration (none: of the texts), and how much longer training takes."""

    name: str
    does: str
    factor: float
    changes: Mapping[str, str] = field(default_factory=dict)

    def applies(self, config: ModelConfig) -> bool:
        """Whether the model does not have it, or something in its place, already."""
        if self.name == "tying" and config.encoder in ("none", "bert"):
            return False
        return all(getattr(config, name) == ModelConfig.model_fields[name].default for name in self.changes)

    def train(self, corpus: Corpus, config: ModelConfig, train: TrainConfig, seed: int) -> Explainable:
        """A model with the repair."""
        if not self.changes:
            return fit(masked(corpus, seed), config, train, seed)
        # without the size that must follow another under tying
        gone = {*self.changes, *(["hidden_size"] if self.name == "tying" else [])}
        kept = config.model_dump(exclude_defaults=True, exclude=gone)
        return fit(corpus, ModelConfig(**kept | self.changes), train, seed)


@dataclass(frozen=True)
class Repaired:
    """What a repair achieved: readings of the repaired model as on the card, F1, minutes, and the model.

    sound   whether random removals leave it in its element, so that its readings can be judged; None: not decided
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
    def recommended(self) -> bool:
        """Whether attention of the repaired model is good enough by the rules."""
        return self._good(self.attention)

    @property
    def explained(self) -> bool:
        """Whether some reading of the repaired model is."""
        return self._good(self.best)

    def _good(self, reading: pd.Series) -> bool:
        rule = rules()["repair"]
        return bool(self.sound) and self.f1_change >= -rule["f1"] and reading["value"] >= rule["faithful"]


def masked(corpus: Corpus, seed: int) -> Corpus:
    """The training texts twice: as they are, and with up to a half of their words made unknown."""
    rng, more = np.random.default_rng([seed, 2024]), []
    for example in corpus.train:
        gone = rng.random(len(example.tokens)) < rng.uniform(0, 0.5)
        tokens = tuple(GONE if g else token for token, g in zip(example.tokens, gone, strict=True))
        more.append(replace(example, tokens=tokens, id=f"{example.id}-masked"))
    return replace(corpus, train=(*corpus.train, *more), known=corpus.vocabulary)


REPAIRS = (
    Repair("masking in training", "words hidden at random in half of the training texts", 2.0),
    Repair("TaSc", "attention scaled by one learned number per word (lin)", 1.1, {"scaling": "lin"}),
    Repair("tying", "states kept close to their words by a loss", 1.2, {"regulariser": "tying"}),
    Repair("sparse attention", "sparsemax in place of softmax", 1.1, {"projection": "sparsemax"}),
)
"""The cheapest first."""
FINE_TUNING = ("fine-tuning with masking", "a copy of the model trained on with words hidden at random")
"""Of a Hugging Face classifier: name, and what it does."""
