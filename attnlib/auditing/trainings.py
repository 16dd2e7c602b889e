"""The budget of minutes, and what only trainings can tell: is attention needed, is it stable, what would help?

Reading the same model in another way is free. Repairs train again, from the cheapest on: with words masked (Madsen
et al. 2024), with TaSc, with states tied to their words, with sparse attention.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.auditing.probe import Probe
from attnlib.auditing.rules import OPEN, PASS, Row, agreed, judge, rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.engine.explainable import Explainable
from attnlib.rankings.scores import importance
from attnlib.stats import descending
from attnlib.stats.inference import contrast, effect
from attnlib.stats.jackknife import f1_values
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from attnlib.utils.device import measuring
from attnlib.utils.text import plural

TRAININGS = 3
LATE = "No training fitted the budget: give more minutes."
CARD_SECONDS = 4.0
WORDS = 50_000
"""Words that a model is trained on at most per minute: this takes about a quarter of the budget."""
REPAIR_TEXTS, REPAIR_DEEP = 100, 16
"""Texts that words are removed from, and searched, to judge a repair."""
GONE = "\N{REPLACEMENT CHARACTER}masked"
"""A word that no vocabulary has: the model reads it as unknown."""


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
    """Trainings on a corpus that differ in their seed or in how they are made."""

    corpus: Corpus
    config: ModelConfig
    train: TrainConfig
    seed: int
    longest: float = 0.0  # seconds of a training

    def fit(self, more: int = 0, how: Callable[..., Fitted] = fit) -> Fitted:
        """A training whose seed is `more` than that of the audit, timed."""
        begun = time.monotonic()
        fitted = how(self.corpus, self.config, self.train, self.seed + more)
        self.longest = max(self.longest, time.monotonic() - begun)
        return fitted

    def shorten(self, words: float) -> str:
        """Keep as many training texts as have so many words; returns what was done, if anything."""
        total, share = len(self.corpus.train), words / max(1, sum(map(len, self.corpus.train)))
        # words of a single text are read as unknown: else the model would never have seen the unknown word
        self.corpus = replace(self.corpus, min_df=max(2, self.corpus.min_df), known=None)
        if share >= 1:
            return ""
        self.corpus = self.corpus.sample(max(200, int(share * total)), seed=self.seed, splits=("train",))
        return f"trained on {len(self.corpus.train):,} of {total:,} training texts, to fit the budget"


def twins(trainer: Trainer, probe: Probe, clock: Clock) -> list[Row]:
    """Objections 1 and 8: models trained with uniform attention, and with other seeds, as many as fit."""
    owns, uniform, rankings = [probe.predicted], [], [probe.read("alpha")]
    for k in range(TRAININGS):
        if k and clock.fits(1.15 * trainer.longest):
            sibling = trainer.fit(k)
            owns.append(sibling.logits(probe.examples).argmax(1))
            rankings.append(importance(sibling, probe.examples, "alpha"))
        if clock.fits(1.15 * trainer.longest):
            uniform.append(trainer.fit(k, uniform_twin).logits(probe.examples).argmax(1))
    pairs = min(len(owns), len(uniform))
    first, last = (rules()["objections"][name] for name in ("needed", "stable"))
    return [
        needed(probe.labels, owns[:pairs], uniform[:pairs]) if pairs else Row(first, OPEN, settles=LATE),
        stable(rankings) if len(rankings) > 1 else Row(last, OPEN, settles=LATE),
    ]


def uniform_twin(corpus: Corpus, config: ModelConfig, train: TrainConfig, seed: int) -> Fitted:
    """The same training with uniform attention: its parameters are zero and frozen."""
    blank = fit(corpus, config, train.replace(epochs=0), seed)
    with measuring():
        for parameter in blank.model.parts()["attention"].parameters():
            parameter.zero_()
    freeze = tuple(dict.fromkeys((*train.freeze, "attention")))
    return fit(corpus, config, train.replace(freeze=freeze), seed, warm_start=blank, warm_parts=("attention",))


def needed(truth: np.ndarray, own: Sequence[np.ndarray], uniform: Sequence[np.ndarray]) -> Row:
    """Objection 1: F1 with the model's own attention minus F1 of twins trained with uniform attention.

    own, uniform  decisions on the same texts, one array per training, in pairs that share a seed
    """
    texts = pd.DataFrame({"instance": np.arange(len(truth)), "truth": truth})
    frames = [
        texts.assign(variant=name, seed=k, prediction=said)
        for name, trainings in (("own", own), ("uniform", uniform))
        for k, said in enumerate(trainings)
    ]
    values = f1_values(pd.concat(frames, ignore_index=True), ["variant", "seed"])
    training = "seed" if len(own) > 1 else None
    found = contrast(values, "variant", "own", "uniform", training=training, level=rules()["level"])
    scores = values.groupby("variant")["point"].mean()
    control = f"F1 {scores['own']:.3f} with its attention, {scores['uniform']:.3f} with uniform attention"
    return judge(rules()["objections"]["needed"], agreed(found), control=control, note=_counted(len(own), 2))


def stable(rankings: Sequence[Sequence[np.ndarray]]) -> Row:
    """Objection 8: overlap of the top words between trainings: 0 is chance, 1 identity."""
    values, several = overlaps(rankings), len(rankings) > 2
    frame = values if several else values[values["seed"] == 0]
    found = agreed(effect(frame, training="seed" if several else None, level=rules()["level"]))
    found, note = replace(found, high=min(found.high, 1.0)), _counted(len(rankings), 3)
    return judge(rules()["objections"]["stable"], found, control="chance: 0", note=note)


def overlaps(rankings: Sequence[Sequence[np.ndarray]]) -> pd.DataFrame:
    """Overlap of the top k tokens, corrected for chance, as jackknife values: one row per training and text.

    Two random rankings share k²/n on average, so the overlap of a text is (shared / k - k / n) / (1 - k / n); texts
    of k tokens or fewer have none. It is a statistic of all pairs, whose jackknife gives each training its part.
    """
    k, count = rules()["top"], len(rankings)
    tops = [[set(descending(scores)[:k].tolist()) for scores in own] for own in rankings]
    lengths = np.array([len(scores) for scores in rankings[0]], float)
    chance = np.where(lengths > k, k / lengths, math.nan)
    pairs = {}
    for a, b in itertools.combinations(range(count), 2):
        shared = np.array([len(x & y) / k for x, y in zip(tops[a], tops[b], strict=True)])
        pairs[a, b] = (shared - chance) / (1 - chance)
    whole = np.mean(list(pairs.values()), 0)
    frames = []
    for seed in range(count):
        rest = [values for pair, values in pairs.items() if seed not in pair]
        value = count * whole - (count - 1) * np.mean(rest, 0) if rest else whole
        frames.append(pd.DataFrame({"seed": seed, "instance": np.arange(len(lengths)), "value": value}))
    return pd.concat(frames, ignore_index=True)


def _counted(trainings: int, least: int) -> str:
    alone = "" if trainings >= least else ": the interval is over texts alone"
    return f"{plural(trainings, 'training')}{alone}"


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
    """What a repair achieved: readings of the repaired model as on the card, F1, minutes, and the model."""

    name: str
    does: str
    readings: pd.DataFrame
    sound: str  # status of the gate of removals, on which the readings rest
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

    def to_dict(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name != "model"}
        return kept | {"readings": self.readings.to_dict("records"), "recommended": self.recommended}

    def _good(self, reading: pd.Series) -> bool:
        rule = rules()["repair"]
        return self.sound == PASS and self.f1_change >= -rule["f1"] and reading["value"] >= rule["faithful"]


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
