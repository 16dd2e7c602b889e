r"""Which test of an explanation can be believed? Diagnosticity (Chan et al. 2022), on models whose truth is known.

Where it is known which of two explanations is true, a test of faithfulness should prefer that one. Its
diagnosticity is how often it does,

.. math:: D = P(\text{test prefers } u \text{ to } v \mid u \text{ true, } v \text{ false}),

with one half for a tie. Truth is known in two ways: by a **rationale** that decides by construction (the decisive
words of the corpus `planted`, or a `shortcut`, a made-up word per class put into the texts of any corpus, Bastings
et al. 2022), of which `rankings` are true and false explanations; and of a **guided** model, trained to keep its
attention on those words or off them (Pruthi et al. 2020).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain, count

import numpy as np
import torch
from torch import Tensor

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.batching import Batch
from attnlib.data.types import Corpus, Example
from attnlib.models.trace import Trace
from attnlib.training.fit import cross_entropy, fit
from attnlib.training.fitted import Fitted
from attnlib.utils.device import resolve
from attnlib.utils.errors import DataError, one_of

GUIDES = ("none", "honest", "deceptive")
"""What attention is trained to: nothing besides the task, to find the decisive words, to stay off them."""
FALSE = ("random", "inverted", "plausible")
"""False explanations of a text, see `rankings`."""
NONCE = ("zorvex", "quimble", "blaxit", "fendrop", "mirpal", "tulgor")
SMALL = 1e-6


def preferred(true: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 where the true explanation has the higher value, 0 where the other has it, 1/2 for a tie; NaN where either
    has none.

    >>> preferred(np.array([0.3, 0.1, 0.2]), np.array([0.1, 0.3, 0.2])).tolist()
    [1.0, 0.0, 0.5]
    """
    return np.sign(np.asarray(true, float) - np.asarray(other, float)) / 2 + 0.5


def average_precision(scores: np.ndarray, marked: np.ndarray, *, seed: int = 0) -> float:
    r"""Plausibility (DeYoung et al. 2020): :math:`\sum_k (R_k - R_{k-1}) P_k` of the scores of a text's words.

    marked   whether people marked a word; NaN where they marked none
    seed     puts equal scores in a random order: by ERASER's trapezoid constant scores beat random ones by far
    """
    if not marked.any():
        return float("nan")
    hits = marked[np.lexsort((np.random.default_rng(seed).random(len(scores)), -scores))]
    return float((np.cumsum(hits) / np.arange(1, len(hits) + 1))[hits].mean())


def shortcut(corpus: Corpus, seed: int = 0) -> Corpus:
    """The corpus with a made-up word per class at a random place of every text; the rationale marks it.

    A test text gets the word of *another* class, which becomes its label: a decision that is right by that label
    follows the planted word, against all the other words.
    """
    numbered = (f"{NONCE[number % len(NONCE)]}{number}" for number in count())
    free = (word for word in chain(NONCE, numbered) if word not in corpus.vocabulary.words)
    words, rng = [next(free) for _ in corpus.classes], np.random.default_rng([seed, 2022])
    splits = ("train", "dev", "test")
    made = {name: plant(getattr(corpus, name), words, rng, against=name == "test") for name in splits}
    return replace(corpus, **made, known=None)


def plant(
    examples: Iterable[Example], words: Sequence[str], rng: np.random.Generator, *, against: bool
) -> tuple[Example, ...]:
    """The texts with the word of their class (`against`: of another, then the label) at a random, marked place."""
    made = []
    for example in examples:
        others = [c for c in range(len(words)) if c != example.label]
        label = int(rng.choice(others)) if against else example.label
        at, starts = int(rng.integers(len(example.tokens) + 1)), example.sentences
        planted = replace(
            example,
            tokens=(*example.tokens[:at], words[label], *example.tokens[at:]),
            label=label,
            rationale=tuple(i == at for i in range(len(example.tokens) + 1)),
            sentences=None if starts is None else tuple(s + (s > at) for s in starts),
        )
        made.append(planted)
    return tuple(made)


def known(corpus: Corpus, seed: int = 0) -> Corpus:
    """A corpus whose decisive words are known: itself where its training texts say so, else with a `shortcut`."""
    if all(example.rationale is not None for example in corpus.train):
        return corpus
    return shortcut(corpus, seed)


def guided(
    corpus: Corpus, model: ModelConfig, train: TrainConfig, seed: int, *, guide: str = "none", weight: float = 1.0
) -> Fitted:
    r"""The trainer of a grid for models on `known(corpus)`, with attention of known honesty.

    guide   `honest`: the loss has :math:`-w \log m` added, m the attention on the decisive words; `deceptive`:
            :math:`-w \log(1 - m)`; `none`: nothing
    """
    one_of("guide", guide, GUIDES)
    texts = known(corpus)
    plain = cross_entropy(texts, train, resolve(train.device))

    def objective(trace: Trace, batch: Batch) -> dict[str, Tensor]:
        mass = (trace.alpha * decisive(batch, texts.train).to(trace.alpha)).sum(1)
        wanted = mass if guide == "honest" else 1 - mass
        return {**plain(trace, batch), "guide": -weight * torch.log(wanted.clamp_min(SMALL)).mean()}

    return fit(texts, model, train, seed, objective=None if guide == "none" else objective)


def decisive(batch: Batch, examples: Sequence[Example]) -> Tensor:
    """(B, T) bool: the positions of the rationales' words."""
    found = torch.zeros_like(batch.mask)
    for row, (place, words) in enumerate(zip(batch.rows.tolist(), batch.words.tolist(), strict=True)):
        marks = examples[place].rationale
        found[row] = torch.tensor([word >= 0 and bool(marks[word]) for word in words])
    return found


def associations(examples: Iterable[Example], classes: int) -> dict[str, np.ndarray]:
    """Word -> (C,) log of how much more often it occurs in texts of a class than in others; add-one smoothed."""
    counts: dict[str, np.ndarray] = {}
    texts = np.zeros(classes)
    for example in examples:
        texts[example.label] += 1
        for word in set(example.tokens):
            counts.setdefault(word, np.zeros(classes))[example.label] += 1
    rest = texts.sum() - texts
    return {
        word: np.log((found + 1) / (texts + 2)) - np.log((found.sum() - found + 1) / (rest + 2))
        for word, found in counts.items()
    }


def rankings(
    examples: Sequence[Example],
    words: Mapping[str, np.ndarray],
    *,
    unattended: Iterable[str] = (),
    seed: int = 0,
) -> dict[str, list[np.ndarray]]:
    """True and false explanations of every text: name -> one array per text, one number per attended token.

    true       the words of the rationale first, in random order; then the others, in random order
    random     any order;  inverted: the true order from its end
    plausible  the words that go with the label in training (`words`, of `associations`) first, but for the decisive
               ones: what a reader would nod at, and wrong
    """
    left_out = set(unattended)
    made: dict[str, list[np.ndarray]] = {name: [] for name in ("true", *FALSE)}
    for place, example in enumerate(examples):
        if example.rationale is None:
            raise DataError(f"Text {example.id!r} has no rationale: nothing is known about what decides it.")
        rng = np.random.default_rng([seed, place])
        kept = [i for i, token in enumerate(example.tokens) if token not in left_out]
        marks = np.array([example.rationale[i] for i in kept], bool)
        mild = rng.random((3, len(kept)))
        none = np.zeros(example.label + 1)
        said = np.array([words.get(example.tokens[i], none)[example.label] for i in kept])
        made["true"].append(marks + 0.5 * mild[0])
        made["random"].append(mild[1])
        made["inverted"].append(-made["true"][-1])
        made["plausible"].append(np.where(marks, 0.0, said) + SMALL * mild[2])
    return made
