"""What would help, cheapest first: each repair with its gain in faithfulness, its cost in F1 and its minutes.

Reading the same model in another way is free, and the battery has measured it. The others train again: with words
masked (Madsen et al. 2024), with TaSc, with states tied to their words, with sparse attention; last, another
encoder.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attnlib.audit.battery import estimate
from attnlib.audit.probe import Probe
from attnlib.audit.rules import rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus, Example
from attnlib.stats.inference import Effect
from attnlib.training.fit import fit

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


@dataclass(frozen=True)
class Repaired:
    """What a repair achieved: share of the attainable drop by attention, F1, minutes."""

    name: str
    does: str
    share: Effect
    f1: float
    f1_change: float
    minutes: float

    @property
    def recommended(self) -> bool:
        """Whether it is good enough by the rules."""
        border = rules()["repair"]
        return self.share.estimate >= border["faithful"] and self.f1_change >= -border["f1"]


def masked(corpus: Corpus, seed: int) -> Corpus:
    """The training texts twice: as they are, and with a random share of their words, up to a half, made unknown."""
    rng = np.random.default_rng([seed, 2024])
    more = [replace(e, tokens=_masked(e, rng), id=f"{e.id}-masked") for e in corpus.train]
    return replace(corpus, train=(*corpus.train, *more), known=corpus.vocabulary)


def _masked(example: Example, rng: np.random.Generator) -> tuple[str, ...]:
    gone = rng.random(len(example.tokens)) < rng.uniform(0, 0.5)
    return tuple(GONE if g else token for token, g in zip(example.tokens, gone, strict=True))


REPAIRS = (
    Repair("masking in training", "words hidden at random in half of the training texts", 2.0, corpus=masked),
    Repair(
        "TaSc", "attention scaled by one learned number per word (lin)", 1.1,
        config=lambda c: c.replace(scaling="lin"), applies=lambda c: c.scaling == "none",
    ),
    Repair(
        "tying", "states kept close to their words by a loss", 1.2,
        config=lambda c: ModelConfig(**{**_plain(c), "regulariser": "tying"}),
        applies=lambda c: c.regulariser == "none" and c.encoder not in ("none", "bert"),
    ),
    Repair(
        "sparse attention", "sparsemax in place of softmax", 1.1,
        config=lambda c: c.replace(projection="sparsemax"), applies=lambda c: c.projection == "softmax",
    ),
    Repair(
        "MiniLM", "a pretrained encoder in place of this one, attention on top", 40.0,
        config=lambda c: ModelConfig(encoder="bert", attention=c.attention),
        applies=lambda c: c.encoder in ("lstm", "gru"),
    ),
)  # fmt: skip
"""In the order in which they are tried."""


def _plain(config: ModelConfig) -> dict:
    """The config without the sizes that must follow each other under tying."""
    return {k: v for k, v in config.model_dump(exclude_defaults=True).items() if k != "hidden_size"}


def attempt(
    repair: Repair,
    corpus: Corpus,
    config: ModelConfig,
    train: TrainConfig,
    texts: Sequence[Example],
    f1: float,
    *,
    seed: int = 0,
    deep: int = 16,
) -> Repaired:
    """Train with the repair and measure its attention on `texts`; `f1` is that of the model as it was."""
    begun = time.perf_counter()
    changed = repair.config(config)
    training = train.replace(epochs=2, learning_rate=5e-5, batch_size=16) if changed.encoder == "bert" else train
    fitted = fit(repair.corpus(corpus, seed), changed, training, seed)
    probe = Probe(fitted, texts, shares=rules()["shares"], draws=rules()["draws"], seed=seed)
    shares = []
    for way in probe.inputs:
        shares.append(estimate(probe.erased(way, {"alpha": probe.read("alpha")}, deep=deep).share("alpha")))
    score = fitted.evaluate(corpus.test)["f1_macro"]
    worse = min(shares, key=lambda share: share.estimate)
    return Repaired(repair.name, repair.does, worse, score, score - f1, (time.perf_counter() - begun) / 60)
