"""What the first notebook says about its numbers: sentences computed from the frames of `quickstart`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnlib import stats
from attnlib.narrate import percent, plural, points, share
from attnlib.studies.quickstart import LEVELS, NEVER, NOTHING_LEFT, RANDOM, TOP, decisive, flip_difference

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus, Example
    from attnlib.fitted import Fitted


def about(corpus: Corpus) -> list[str]:
    """Where the corpus comes from, and what loading it did."""
    lengths = np.array([len(example) for example in corpus.test])
    first = (
        f"**{corpus.name}**: {plural(len(corpus.train), 'training text')}, {len(corpus.classes)} classes "
        f"({', '.join(corpus.classes)}). Half of the test texts have {np.median(lengths):.0f} words or fewer; the "
        f"shortest has {lengths.min()}, the longest {lengths.max()}."
    )
    return [first, *(f"Note: {note}." for note in corpus.notes)]


def about_accuracy(right: pd.DataFrame, corpus: Corpus) -> list[str]:
    """Accuracy over all seeds against always saying the most frequent class."""
    found = stats.bootstrap(right, groups="seed", instances="instance")
    labels = np.bincount([example.label for example in corpus.test])
    often = labels.max() / labels.sum()
    better = "better than" if found.low > often else "not clearly better than"
    return [
        f"Over {plural(right['seed'].nunique(), 'seed')}, {share(found)} of the test predictions are right, "
        f"{better} always saying {corpus.classes[int(labels.argmax())]!r} ({percent(often)}). n counts texts times "
        "seeds."
    ]


def about_decisive(models: Sequence[Fitted], examples: Sequence[Example]) -> list[str]:
    """How often attention's favourite is a word known to decide; or that nobody knows here."""
    if not any(example.rationale for example in examples):
        return [
            "The texts of this corpus do not say which words decide, so attention has nothing to be compared "
            "with. Those of the corpora planted and movies do."
        ]
    found = decisive(models, examples)
    hit = stats.bootstrap(found, groups="seed", instances="instance")
    mass = stats.bootstrap(found, groups="seed", instances="instance", column="mass")
    return [
        f"The most attended word is one of the decisive ones in {share(hit)} of the texts; a word picked "
        f"blindly would be in {percent(found['chance'].mean())}. Decisive words hold {share(mass)} of the "
        "attention."
    ]


def about_flips(flips: pd.DataFrame) -> list[str]:
    """Top against random, level by level, with the paired difference."""
    told = []
    for level in LEVELS:
        part = flips[flips["level"] == level]
        shares = {name: part.loc[part["importance"] == name, "value"].mean() for name in (TOP, RANDOM)}
        gap = points(flip_difference(flips, level))
        told.append(
            f"At the **{level} level**, erasing the most attended word changes **{percent(shares[TOP])}** of the "
            f"decisions, erasing a random other one {percent(shares[RANDOM])}: a difference of {gap}."
        )
    stays = 1 - flips.loc[(flips["level"] == LEVELS[0]) & (flips["importance"] == TOP), "value"].mean()
    told.append(
        f"Put the other way round: in {percent(stays)} of the cases the model does without the word its attention "
        "likes best, and decides as before."
    )
    return told


def about_fractions(fractions: pd.DataFrame) -> list[str]:
    """Median way to a flip, and the shares of texts that a median cannot speak for."""
    told = []
    for level in LEVELS:
        part = fractions[fractions["level"] == level]
        inside = part.loc[part["aside"].isna(), "value"]
        half = (
            f"half of them within {percent(inside.median())} of their words"
            if len(inside)
            else "so there is no middle"
        )
        told.append(
            f"At the **{level} level**, {percent(len(inside) / len(part))} of the decisions change while words are "
            f"left, {half}; {percent((part['aside'] == NOTHING_LEFT).mean())} change only when nothing is left, "
            f"{percent((part['aside'] == NEVER).mean())} never do (n = {len(part):,})."
        )
    return told
