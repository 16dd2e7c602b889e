"""What only further trainings can tell: is attention needed, is it stable, does it find a planted shortcut?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from attnlib.audit.rules import Row, judge, rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.importance.scores import importance
from attnlib.measures.diagnosticity import made_up, plant
from attnlib.stats import descending
from attnlib.stats.inference import Effect, contrast, effect, exact_share
from attnlib.stats.jackknife import f1_values
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from attnlib.utils.text import plural

NONCE = ("zyxquor", "blivvet", "frabnik", "quomzel", "dreptun", "woxlify", "snargib", "ploovit")
"""Words that no corpus has; the first that a corpus lacks are tied to its classes."""


def uniform_twin(corpus: Corpus, config: ModelConfig, train: TrainConfig, seed: int) -> Fitted:
    """The same training with uniform attention: its parameters are zero and frozen, so all scores are equal."""
    blank = fit(corpus, config, train.replace(epochs=0), seed)
    with torch.no_grad():
        for parameter in blank.model.parts()["attention"].parameters():
            parameter.zero_()
    freeze = tuple(dict.fromkeys((*train.freeze, "attention")))
    return fit(corpus, config, train.replace(freeze=freeze), seed, warm_start=blank, warm_parts=("attention",))


def needed(truth: np.ndarray, own: Sequence[np.ndarray], uniform: Sequence[np.ndarray]) -> Row:
    """Objection 1: F1 with the model's own attention minus F1 of twins trained with uniform attention.

    own, uniform  decisions on the same texts, one array per training, in pairs that share a seed
    """
    sides = (("own", own), ("uniform", uniform))
    frames = [
        pd.DataFrame(
            {"variant": name, "seed": seed, "instance": np.arange(len(truth)), "truth": truth, "prediction": said}
        )
        for name, trainings in sides
        for seed, said in enumerate(trainings)
    ]
    values = f1_values(pd.concat(frames, ignore_index=True), ["variant", "seed"])
    several = "seed" if len(own) > 1 else None
    found = contrast(values, "variant", "own", "uniform", training=several, level=rules()["level"])
    found = _agreed(found, len(truth))
    scores = values.groupby("variant")["point"].mean()
    control = f"F1 {scores['own']:.3f} with its attention, {scores['uniform']:.3f} with uniform attention"
    return judge(rules().objection("needed"), found, control=control, note=_few(len(own)))


def stable(rankings: Sequence[Sequence[np.ndarray]]) -> Row:
    """Objection 8: overlap of the top words between trainings, 0 being chance and 1 identity.

    rankings  scores of the same texts by each training. The overlap of all pairs is a statistic of the set of
              trainings; its delete-one jackknife gives each training its part (`overlaps`).
    """
    values = overlaps(rankings)
    several = "seed" if len(rankings) > 2 else None
    frame = values if several else values[values["seed"] == 0]
    found = effect(frame, training=several, level=rules()["level"])
    found = _agreed(found, len(rankings[0]))
    found = replace(found, high=min(found.high, 1.0))
    return judge(rules().objection("stable"), found, control="chance: 0", note=_few(len(rankings), least=3))


def overlaps(rankings: Sequence[Sequence[np.ndarray]]) -> pd.DataFrame:
    """Overlap of the top tokens, corrected for chance, as jackknife values: one row per training and text.

    For k = 3 of n tokens two random rankings share k²/n on average, so the corrected overlap of a text is
    (shared / k - k / n) / (1 - k / n); texts of k tokens or fewer have none.
    """
    k, count = rules()["top"], len(rankings)
    tops = [[frozenset(descending(scores)[:k].tolist()) for scores in own] for own in rankings]
    lengths = np.array([len(s) for s in rankings[0]])
    chance = k / np.maximum(lengths, 1)
    pairs = {}
    for a, b in itertools.combinations(range(count), 2):
        shared = np.array([len(x & y) / k for x, y in zip(tops[a], tops[b], strict=True)])
        pairs[a, b] = np.where(lengths > k, (shared - chance) / np.where(lengths > k, 1 - chance, 1), math.nan)
    whole = np.mean(list(pairs.values()), 0)
    frames = []
    for seed in range(count):
        rest = [values for pair, values in pairs.items() if seed not in pair]
        value = count * whole - (count - 1) * np.mean(rest, 0) if rest else whole
        frames.append(pd.DataFrame({"seed": seed, "instance": np.arange(len(lengths)), "value": value}))
    return pd.concat(frames, ignore_index=True)


@dataclass(frozen=True)
class Shortcut:
    """What readings make of a word that decides by construction.

    obeyed     share of test texts whose decision follows the planted word, against their own label
    precision  reading -> share of those texts in which it ranks the planted word first
    chance     the same of a random ranking
    """

    obeyed: float
    precision: dict[str, float]
    chance: float
    texts: int


def with_shortcut(corpus: Corpus, seed: int = 0, share: float = 0.5) -> tuple[Corpus, list[str]]:
    """The corpus with a nonce word per class in a share of its training and dev texts, at a random place.

    Bastings et al. (2022) plant such words; a model that learns from these texts relies on them, so the truth about
    its decisions is known.
    """
    words, rng = made_up(corpus, NONCE), np.random.default_rng([seed, 2022])
    marked = {split: plant(getattr(corpus, split), words, rng, share=share) for split in ("train", "dev")}
    return replace(corpus, **marked, known=None), words


def shortcut(
    corpus: Corpus,
    config: ModelConfig,
    train: TrainConfig,
    readings: Sequence[str],
    *,
    texts: int = 200,
    seed: int = 0,
) -> Shortcut | None:
    """Train on texts with a planted shortcut, plant the word of *another* class in test texts, ask the readings.

    None where fewer than twenty decisions follow the planted word: then nothing is known about what decides.
    """
    changed, words = with_shortcut(corpus, seed)
    fitted = fit(changed, config, train, seed)
    planted = plant(corpus.test[:texts], words, np.random.default_rng([seed, 2023]), against=True)
    obeys = fitted.logits(planted).argmax(1) == np.array([e.label for e in planted])
    followed = [e for e, yes in zip(planted, obeys, strict=True) if yes]
    if len(followed) < 20:
        return None
    places = [e.rationale.index(True) for e in followed]
    precision = {}
    for name in readings:
        tops = [int(np.argmax(scores)) for scores in importance(fitted, followed, name)]
        precision[name] = float(np.mean([top == place for top, place in zip(tops, places, strict=True)]))
    chance = float(np.mean([1 / len(e.tokens) for e in followed]))
    return Shortcut(float(obeys.mean()), precision, chance, len(followed))


def _agreed(found: Effect, n: int) -> Effect:
    """An interval where all n texts agree, so that nothing varies: the share that may yet differ is bounded."""
    if not math.isnan(found.low) or math.isnan(found.estimate):
        return found
    far = exact_share(0, n, rules()["level"]).high
    return replace(found, low=found.estimate - far, high=found.estimate + far, se=0.0, texts=n)


def _few(trainings: int, least: int = 2) -> str:
    if trainings >= least:
        return f"{plural(trainings, 'training')} of each" if least == 2 else plural(trainings, "training")
    return f"{plural(trainings, 'training')}: the interval is over texts alone"
