"""The rules of the first notebook, and the answer that follows from them.

Every rule looks at both levels, because one alone can be fooled. A model can be trained to take attention off the
words that decide while it goes on using them (Pruthi et al. 2020): its states carry those words to other
positions, so erasing attention weights still changes decisions, and only erasing the words themselves shows that
attention points elsewhere. And every ranking by attention is compared with `random`, which knows nothing, and with
leave-one-out (`omission`), which asks the model.

The question is about the models at hand: they are given, and the test texts are the sample (`training=None`). What
other trainings would give is the business of the notebooks that follow.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import pandas as pd

from attnlib.rankings.scores import importance
from attnlib.stats.inference import Effect, contrast, effect
from attnlib.studies import learned
from attnlib.studies.ledger import Claim, NotTested, verdict_of
from attnlib.studies.quickstart.grid import Results
from attnlib.studies.quickstart.measures import FIRST, LEVELS, NEVER, RANDOM, RANKINGS, TOP

if TYPE_CHECKING:
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

Answer = Literal["guide", "partial guide", "misleading", "open", "not tested"]
ANSWERS: dict[Answer, str] = {
    "guide": "**Attention is a usable guide to what these models rely on**: erasing words in its order flips "
    "decisions sooner than a random order does, and it is more than halfway from random to leave-one-out.",
    "partial guide": "**Attention is a partial guide to what these models rely on**: erasing words in its order "
    "flips decisions sooner than a random order does, but it is not clearly more than halfway from random to "
    "leave-one-out, so it misses words that decide, or ranks others above them.",
    "misleading": "**Do not read the attention of these models as an explanation**: erasing words in its order "
    "flips decisions no sooner than a random order does, although leave-one-out finds words that decide.",
    "open": "**This run leaves open whether attention is an explanation**: its order is neither clearly ahead of "
    "random nor clearly less than halfway to leave-one-out. More models would narrow the intervals.",
    "not tested": "**This run cannot say whether attention is an explanation**: the models learned nothing, or no "
    "test text has two words.",
}
THESE: dict[str, Any] = {"cells": ["seed"], "training": None}
"""Every interval is over texts, for the mean of the models at hand."""
GAIN: dict[str, Any] = {**THESE, "bounds": (-1.0, 1.0)}
"""The same for a difference of shares, with its range."""


def tested(results: Results, frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Level -> its rows that belong to models which learned something; no level without rows."""
    idle = learned.idle(results.labels, ["seed"])
    kept = learned.without(frame, idle)
    if kept.empty and len(idle):
        raise NotTested(f"The models learned nothing ({learned.RULE}), so what flips their decisions says nothing.")
    return {level: kept[kept["level"] == level] for level in LEVELS if level in set(kept["level"])}


def minus(results: Results, frame: str, a: str, b: str) -> dict[str, Effect]:
    """What one erased token or ranking gives minus what another does, at each level; of the flips or fractions."""
    parts = tested(results, getattr(results, frame))
    return {level: contrast(part, "importance", a, b, **GAIN) for level, part in parts.items()}


def survival(results: Results) -> dict[str, Effect]:
    """Share of decisions that stay when the most attended token goes, at each level."""
    tops = tested(results, results.flips[results.flips["importance"] == TOP])
    return {k: effect(p.assign(value=1 - p["value"]), **THESE, bounds=(0, 1)) for k, p in tops.items()}


def nearer(results: Results) -> dict[str, Effect]:
    """Fraction by attention minus the middle between random and leave-one-out, at each level.

    Only at levels where leave-one-out is clearly ahead of random: elsewhere the two mark no distance.
    """
    found = {}
    for level, part in tested(results, results.fractions).items():
        if not contrast(part, "importance", "random", "omission", **THESE).low > 0:
            continue
        keys = ["seed", "instance"]
        ends = part[part["importance"].isin(["random", "omission"])]
        middle = ends.groupby(keys, as_index=False)["value"].mean().assign(importance="middle")
        found[level] = contrast(pd.concat([part, middle]), "importance", "alpha", "middle", **GAIN)
    if not found:
        raise NotTested("Leave-one-out is not clearly ahead of random at either level: they mark no distance.")
    return found


RULES = (
    Claim("Removing the most attended token changes more decisions than removing a random other one.",
          "section 4.2, Table 2", "share flipped by the most attended token minus share flipped by a random other "
          "one, at each "
          "level", partial(minus, frame="flips", a=TOP, b=RANDOM), figure="flips", id="00.top_beats_random"),
    Claim("Most decisions survive the loss of the most attended token.", "section 4.2, Table 2", "share of "
          "decisions that stay, at each level", survival, border=0.5, figure="flips", id="00.most_survive"),
    Claim("Erasing tokens in the order of attention flips decisions sooner than a random order does.",
          "section 5, Figure 5", "fraction of tokens to flip by attention minus that in a random order (never = "
          "1), at each level", partial(minus, frame="fractions", a="alpha", b="random"), "less", figure="rankings",
          id="00.ahead_of_random"),
    Claim("Attention ranks first what the decision needs: its order is nearer to leave-one-out than to random.",
          "Pruthi et al. 2020: attention that hides what decides", "fraction of tokens to flip by attention minus "
          "the "
          "middle between random and leave-one-out, at each level where leave-one-out is ahead of random", nearer,
          "less", figure="rankings", id="00.nearer_to_omission"),
)  # fmt: skip


def answer(results: Results) -> Answer:
    """Is attention an explanation of these models? Decided at the input level, where hiding words does not help.

    guide          ahead of random, and nearer to leave-one-out than to random
    partial guide  ahead of random, and not clearly nearer to leave-one-out
    misleading     not clearly ahead of random, and clearly nearer to random than to leave-one-out
    open           the intervals leave it open
    """
    verdicts = {}
    for rule in (RULES[2], RULES[3]):
        try:
            found = rule.effect(results).get("input")
        except NotTested:
            found = None
        verdicts[rule.id] = verdict_of(found, rule) if found else "not tested"
    first, second = verdicts.values()
    if first == "not tested":
        return "not tested"
    if first == "reproduced":
        return "guide" if second == "reproduced" else "partial guide"
    return "misleading" if second == "not reproduced" else "open"


def checks(results: Results, models: Sequence[Fitted], corpus: Corpus) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    flips, fractions = results.flips, results.fractions
    readings = len(models) * len(corpus.test)
    longer = len(models) * sum(len(example) > 1 for example in corpus.test)
    kinds = flips.groupby(["level", "importance"]).size()
    by_attention = fractions[(fractions["level"] == "attention") & (fractions["importance"] == "alpha")]
    one_token = (by_attention["removed"] == 1) & by_attention["aside"].isna()
    by_one = flips.loc[(flips["level"] == "attention") & (flips["importance"] == TOP), "value"].sum()
    every = len(LEVELS) * len(RANKINGS)
    return {
        "attention sums to one in every text": all(
            abs(weights.sum() - 1) < 1e-5 for weights in importance(models[0], corpus.test, "alpha")
        ),
        "every text and seed has a prediction": len(results.labels) == readings,
        "every longer text lost each kind of token once at each level": bool((kinds == longer).all())
        and len(kinds) in (0, len(LEVELS) * (len(FIRST) + 1)),
        "every text flips, flips when empty, or never does": len(fractions) == readings * every
        and bool((fractions.loc[fractions["aside"] == NEVER, "value"] == 1).all()),
        "both tests agree on the texts that one token flips": int(one_token.sum()) == int(by_one),
    }
