"""What only further trainings can tell: is attention needed, is it stable, does it find a planted shortcut?"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from attnlib.auditing.battery import agreed
from attnlib.auditing.budget import Clock, Trainer
from attnlib.auditing.probe import Probe
from attnlib.auditing.rules import OPEN, Row, judge, rules
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.measures.diagnosticity import made_up, plant
from attnlib.rankings.scores import importance
from attnlib.stats import descending
from attnlib.stats.inference import contrast, effect
from attnlib.stats.jackknife import f1_values
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from attnlib.utils.device import measuring
from attnlib.utils.text import plural

NONCE = ("zyxquor", "blivvet", "frabnik", "quomzel", "dreptun", "woxlify", "snargib", "ploovit")
"""Words that no corpus has; the first that a corpus lacks are tied to its classes."""
TRAININGS = 3
LATE = "No training fitted the budget: give more minutes."


def twins(trainer: Trainer, probe: Probe, clock: Clock) -> list[Row]:
    """Objections 1 and 8: models trained with uniform attention, and with other seeds, as many as fit."""
    trainer.forecast()
    owns, uniform, rankings = [probe.predicted], [], [probe.read("alpha")]
    for k in range(TRAININGS):
        if k and clock.fits(1.15 * trainer.longest):
            sibling = trainer.fit(k)
            owns.append(sibling.logits(probe.examples).argmax(1))
            rankings.append(importance(sibling, probe.examples, "alpha"))
        if clock.fits(1.15 * trainer.longest):
            uniform.append(trainer.fit(k, uniform_twin).logits(probe.examples).argmax(1))
    late = [Row(rules()["objections"][name], OPEN, settles=LATE) for name in ("needed", "stable")]
    pairs = min(len(owns), len(uniform))
    return [
        needed(probe.labels, owns[:pairs], uniform[:pairs]) if pairs else late[0],
        stable(rankings) if len(rankings) > 1 else late[1],
    ]


def uniform_twin(corpus: Corpus, config: ModelConfig, train: TrainConfig, seed: int) -> Fitted:
    """The same training with uniform attention: its parameters are zero and frozen, so all scores are equal."""
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
        texts.assign(variant=name, seed=seed, prediction=said)
        for name, trainings in (("own", own), ("uniform", uniform))
        for seed, said in enumerate(trainings)
    ]
    values = f1_values(pd.concat(frames, ignore_index=True), ["variant", "seed"])
    several = "seed" if len(own) > 1 else None
    found = contrast(values, "variant", "own", "uniform", training=several, level=rules()["level"])
    scores = values.groupby("variant")["point"].mean()
    control = f"F1 {scores['own']:.3f} with its attention, {scores['uniform']:.3f} with uniform attention"
    note = f"{plural(len(own), 'training')} of each" if several else _few(1)
    return judge(rules()["objections"]["needed"], agreed(found), control=control, note=note)


def stable(rankings: Sequence[Sequence[np.ndarray]]) -> Row:
    """Objection 8: overlap of the top words between trainings, 0 being chance and 1 identity.

    rankings  scores of the same texts by each training. The overlap of all pairs is a statistic of the set of
              trainings; its delete-one jackknife gives each training its part (`overlaps`).
    """
    values, several = overlaps(rankings), len(rankings) > 2
    frame = values if several else values[values["seed"] == 0]
    found = agreed(effect(frame, training="seed" if several else None, level=rules()["level"]))
    found = replace(found, high=min(found.high, 1.0))
    note = plural(len(rankings), "training") if several else _few(len(rankings))
    return judge(rules()["objections"]["stable"], found, control="chance: 0", note=note)


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


def _few(trainings: int) -> str:
    return f"{plural(trainings, 'training')}: the interval is over texts alone"


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


def shortcut(trainer: Trainer, readings: Sequence[str], *, texts: int = 200) -> Shortcut | None:
    """Train on texts with a planted shortcut, plant the word of *another* class in test texts, ask the readings.

    None where fewer than twenty decisions follow the planted word: then nothing is known about what decides.
    """
    changed, words = with_shortcut(trainer.corpus, trainer.seed)
    fitted = fit(changed, trainer.config, trainer.train, trainer.seed)
    planted = plant(changed.test[:texts], words, np.random.default_rng([trainer.seed, 2023]), against=True)
    obeys = fitted.logits(planted).argmax(1) == np.array([e.label for e in planted])
    followed = [e for e, yes in zip(planted, obeys, strict=True) if yes]
    if len(followed) < 20:
        return None
    first = {name: [int(s.argmax()) for s in importance(fitted, followed, name)] for name in readings}
    places = np.array([e.rationale.index(True) for e in followed])
    precision = {name: float((np.array(tops) == places).mean()) for name, tops in first.items()}
    chance = float(np.mean([1 / len(e.tokens) for e in followed]))
    return Shortcut(float(obeys.mean()), precision, chance, len(followed))
