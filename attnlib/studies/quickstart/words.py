"""What the first notebook says about its numbers: sentences computed from the frames of `quickstart`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from attnlib.studies.quickstart.claims import Found, answer, over_majority, paired, untestable
from attnlib.studies.quickstart.grid import (
    LEVELS,
    NEVER,
    NOTHING_LEFT,
    RANDOM,
    TOP,
    decisive,
    mean_fractions,
    mean_share,
)
from attnlib.utils.text import percent, plural
from attnlib.viz.prose import points, share

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted

ANSWERS = {
    "guide": "**Attention is a usable guide to what these models rely on.** Erasing words in the order of "
    "attention flips decisions sooner than a random order does, and attention is more than halfway from random to "
    "leave-one-out.",
    "partial guide": "**Attention is a partial guide to what these models rely on.** Erasing words in the order of "
    "attention flips decisions sooner than a random order does, but attention is not clearly more than halfway "
    "from random to leave-one-out: it misses words that decide, or ranks others above them.",
    "misleading": "**Do not read the attention of these models as an explanation.** Erasing words in the order of "
    "attention flips decisions no sooner than a random order does, although leave-one-out finds words that "
    "decide: the models rely on words that their attention does not point at.",
    "open": "**This run leaves open whether attention is an explanation.** The order of attention is neither "
    "clearly ahead of random nor clearly less than halfway to leave-one-out. More test texts or more seeds would "
    "narrow the intervals.",
}
"""`quickstart_claims.answer` in words."""


def about(corpus: Corpus) -> list[str]:
    """Where the corpus comes from, and what loading it did."""
    lengths = np.array([len(example) for example in corpus.test])
    first = (
        f"**{corpus.name}**: {plural(len(corpus.train), 'training text')}, {len(corpus.classes)} classes "
        f"({', '.join(corpus.classes)}). Half of the test texts have {np.median(lengths):.0f} words or fewer; the "
        f"shortest has {lengths.min()}, the longest {lengths.max()}."
    )
    return [first, *(f"Note: {note}." for note in corpus.notes)]


def about_accuracy(right: pd.DataFrame) -> list[str]:
    """Accuracy over all seeds against always predicting the most frequent class."""
    found = mean_share(right)
    often = right["truth"].mode()[0]
    better = "better than" if over_majority(right).low > 0 else "not clearly better than"
    return [
        f"Over {plural(right['seed'].nunique(), 'seed')}, {share(found)} of the test texts are classified "
        f"correctly, {better} always predicting {often!r} ({percent((right['truth'] == often).mean())}). n "
        "counts texts times seeds."
    ]


def about_decisive(models: Sequence[Fitted], examples: Sequence[Example]) -> list[str]:
    """How often the most attended word is one known to decide; or that nobody knows here."""
    if not any(example.rationale for example in examples):
        return [
            "This corpus does not mark the words that decide, so attention cannot be compared with them. The "
            "corpora planted and movies do."
        ]
    found = decisive(models, examples)
    hit = mean_share(found)
    mass = mean_share(found, "mass")
    return [
        f"The most attended word is one of the decisive ones in {share(hit)} of the texts; a random word would "
        f"be in {percent(found['chance'].mean())}. Decisive words receive {share(mass)} of the attention."
    ]


def about_flips(flips: pd.DataFrame) -> list[str]:
    """The most attended word against a random one and leave-one-out's, at each level."""
    told = []
    for level in LEVELS if len(flips) else ():
        part = flips[flips["level"] == level]
        shares = part.groupby("importance")["value"].mean()
        gap = points(paired(flips, level, TOP, RANDOM))
        told.append(
            f"At the **{level} level**, erasing the most attended word changes **{percent(shares[TOP])}** of the "
            f"decisions and erasing a random other one {percent(shares[RANDOM])}, a difference of {gap}; the word "
            f"that leave-one-out ranks first changes {percent(shares['largest leave-one-out'])}."
        )
    return told or ["No test text has two words or more, so no single word can be erased from one."]


def about_fractions(fractions: pd.DataFrame) -> list[str]:
    """Median fraction to a flip by attention, and the shares of texts that a median cannot describe."""
    told = []
    for level in LEVELS:
        part = fractions[(fractions["level"] == level) & (fractions["importance"] == "alpha")]
        inside = part.loc[part["aside"].isna(), "value"]
        half = f", half of them within {percent(inside.median())} of the words" if len(inside) else ""
        told.append(
            f"At the **{level} level**, {percent(len(inside) / len(part))} of the decisions change while words are "
            f"left{half}; {percent((part['aside'] == NOTHING_LEFT).mean())} change only when nothing is left, and "
            f"{percent((part['aside'] == NEVER).mean())} never do (n = {len(part):,})."
        )
    return told


def about_answer(found: Found) -> list[str]:
    """Is attention an explanation here? The rule's answer in words, and the numbers behind it at both levels."""
    verdict = answer(found)
    if verdict == "not tested":
        why = untestable(found) or "No test text has two words or more."
        return [f"**This run cannot say whether attention is an explanation.** {why}"]
    means = mean_fractions(found.fractions).set_index(["level", "ranking"])["value"]
    numbers = "; ".join(
        f"at the {level} level {percent(means[level, 'attention'])} of the words in the order of attention, "
        f"{percent(means[level, 'random'])} in a random order, {percent(means[level, 'leave-one-out'])} by "
        "leave-one-out"
        for level in reversed(LEVELS)
    )
    told = [ANSWERS[verdict], f"Erased until the decision flips (never = all): {numbers}."]
    gap = paired(found.fractions, "attention", "alpha", "random")
    if verdict == "misleading" and gap.high < 0:
        told.append(
            "The attention level alone would not have shown this: there, the order of attention is ahead of "
            "random. Its weights are on states that carry what other words say. A model trained to hide its "
            "decisive words looks like this (Pruthi et al. 2020)."
        )
    return told
