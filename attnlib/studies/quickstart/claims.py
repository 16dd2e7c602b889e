"""The rules of the first notebook, with their borders, and the answer that follows from them.

Every rule looks at both levels, because one alone can be fooled. A model can be trained to take attention off the
words that decide while it goes on using them (Pruthi et al. 2020): its states carry those words to other
positions, so erasing attention weights still changes decisions, and only erasing the words themselves shows that
attention points elsewhere. And every ranking by attention is compared with `random`, which knows nothing, and with
leave-one-out (`omission`), which asks the model.

A claim must hold at each level (`claims.together`) and shows the less favourable one. It is not tested where the
models are not clearly better than always predicting the most frequent class, or on fewer than `FEWEST_TEXTS` test
texts; `00.nearer_to_omission` also not at a level where leave-one-out is itself not clearly ahead of random,
because the two then mark no distance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import pandas as pd

from attnlib import stats
from attnlib.studies.common import FEWEST_TEXTS, with_width
from attnlib.studies.ledger import Claim, Direction, Verdict, judge, not_tested, together
from attnlib.studies.quickstart.grid import LEVELS, RANDOM, TOP, mean_share

Answer = Literal["guide", "partial guide", "misleading", "open", "not tested"]
SURVIVE = 0.5
"""`00.most_survive`: most decisions are more than this share."""


@dataclass(frozen=True)
class Found:
    """The frames a rule looks at: `quickstart.accuracy`, `quickstart.single_flips`, `quickstart.fractions`."""

    right: pd.DataFrame
    flips: pd.DataFrame
    fractions: pd.DataFrame


@dataclass(frozen=True)
class Rule:
    """What is claimed and when it holds: `effect(found, level)` lies on the side `direction` of `border`.

    `effect` is None at a level that cannot be judged.
    """

    id: str
    paper: str
    where: str
    claim: str
    test: str
    effect: Callable[[Found, str], stats.Interval | stats.Difference | None]
    direction: Direction
    border: float = 0.0


def paired(frame: pd.DataFrame, level: str, a: str, b: str) -> stats.Difference | None:
    """Mean of ranking `a` minus that of `b` at a level, paired by text and seed; None where there are no texts."""
    return _difference(_wide(frame, level), a, b)


def survival(found: Found, level: str) -> stats.Interval | None:
    """Share of decisions that stay when the most attended token goes."""
    top = found.flips[(found.flips["level"] == level) & (found.flips["importance"] == TOP)]
    return mean_share(top.assign(value=1 - top["value"])) if len(top) else None


def half_way(found: Found, level: str) -> stats.Difference | None:
    """Fraction to flip by attention minus the middle between random and leave-one-out; None without a distance."""
    wide = _wide(found.fractions, level)
    distance = _difference(wide, "random", "omission")
    if distance is None or not distance.low > 0:
        return None
    return _difference(wide.assign(middle=(wide["random"] + wide["omission"]) / 2), "alpha", "middle")


RULES = (
    Rule(
        id="00.top_beats_random",
        paper="Serrano & Smith 2019",
        where="section 4.2, Table 2",
        claim="Removing the most attended token changes more decisions than removing a random other one.",
        test="share flipped by the most attended token minus share flipped by a random other one is above 0",
        effect=lambda found, level: paired(found.flips, level, TOP, RANDOM),
        direction="greater",
    ),
    Rule(
        id="00.most_survive",
        paper="Serrano & Smith 2019",
        where="section 4.2, Table 2",
        claim="Most decisions survive the loss of the most attended token.",
        test=f"share of decisions that stay is above {SURVIVE}",
        effect=survival,
        direction="greater",
        border=SURVIVE,
    ),
    Rule(
        id="00.ahead_of_random",
        paper="Serrano & Smith 2019",
        where="section 5, Figure 5",
        claim="Erasing tokens in the order of attention flips decisions sooner than a random order does.",
        test="fraction of tokens to flip by attention minus that in a random order (never = 1) is below 0",
        effect=lambda found, level: paired(found.fractions, level, "alpha", "random"),
        direction="less",
    ),
    Rule(
        id="00.nearer_to_omission",
        paper="Pruthi et al. 2020",
        where="the failure they construct: attention that hides what decides",
        claim="Attention ranks first what the decision needs: its order is nearer to leave-one-out than to random.",
        test="fraction of tokens to flip by attention minus the middle between random and leave-one-out is below 0",
        effect=half_way,
        direction="less",
    ),
)
AHEAD, NEARER = RULES[2], RULES[3]


def claims(found: Found, setting: str) -> list[Claim]:
    """The ledger of the notebook."""
    return [_claim(rule, found, setting) for rule in RULES]


def verdicts(rule: Rule, found: Found) -> dict[str, Verdict]:
    """The verdict of a rule at each level."""
    effects = {level: rule.effect(found, level) for level in LEVELS}
    return {level: _judged(rule, effect) for level, effect in effects.items()}


def over_majority(right: pd.DataFrame) -> stats.Difference:
    """Accuracy minus that of always predicting the most frequent class of the test texts."""
    often = (right["truth"] == right["truth"].mode()[0]).astype(float)
    return stats.paired_bootstrap(
        right["value"].to_numpy(float), often.to_numpy(), groups=right["seed"], instances=right["instance"]
    )


def untestable(found: Found) -> str | None:
    """Why nothing about these models can be judged; None where it can."""
    texts = found.right["instance"].nunique()
    if texts < FEWEST_TEXTS:
        return f"There are {texts} test texts; a verdict needs at least {FEWEST_TEXTS}."
    if not over_majority(found.right).low > 0:
        return (
            "The models are not clearly better than always predicting the most frequent class, so what flips their "
            "decisions says nothing about attention."
        )
    return None


def answer(found: Found) -> Answer:
    """Is attention an explanation of these models? Decided at the input level, where hiding words does not help.

    guide          ahead of random, and nearer to leave-one-out than to random
    partial guide  ahead of random, and not clearly nearer to leave-one-out
    misleading     not clearly ahead of random, and clearly nearer to random than to leave-one-out
    open           the intervals leave it open
    """
    if untestable(found):
        return "not tested"
    ahead, nearer = (verdicts(rule, found)["input"] for rule in (AHEAD, NEARER))
    if ahead == "not tested":
        return "not tested"
    if ahead == "reproduced":
        return "guide" if nearer == "reproduced" else "partial guide"
    return "misleading" if nearer == "not reproduced" else "open"


def _claim(rule: Rule, found: Found, setting: str) -> Claim:
    said = {"id": rule.id, "paper": rule.paper, "claim": rule.claim, "where": rule.where, "setting": setting}
    said |= {"test": f"{rule.test}, at each level", "n_of": "texts times seeds"}
    why = untestable(found)
    if why:
        return not_tested(why, **said)
    effects = {level: effect for level in LEVELS if (effect := rule.effect(found, level)) is not None}
    if not effects:
        return not_tested(_why(rule), **said)
    worst = (max if rule.direction == "less" else min)(effects, key=lambda level: effects[level].estimate)
    effect = effects[worst]
    left_out = [level for level in LEVELS if level not in effects]
    return Claim(
        **{**said, "test": f"{said['test']}; shown: {worst} level"},
        effect=effect.estimate,
        low=effect.low,
        high=effect.high,
        n=effect.n,
        verdict=together(_judged(rule, each) for each in effects.values()),
        note="".join(f"Not judged at the {level} level. {_why(rule)}" for level in left_out),
    )


def _why(rule: Rule) -> str:
    if rule is NEARER:
        return "Leave-one-out is not clearly ahead of random there, so the two mark no distance."
    return "No test text has two tokens or more."


def _judged(rule: Rule, effect: stats.Interval | stats.Difference | None) -> Verdict:
    return "not tested" if effect is None else judge(effect.low, effect.high, rule.direction, rule.border)


def _wide(frame: pd.DataFrame, level: str) -> pd.DataFrame:
    """One row per seed and text, one column per ranking; a decision that never flips counts as 1."""
    part = frame[frame["level"] == level]
    part = part.assign(value=part["value"].fillna(1.0))
    return part.pivot_table(index=["seed", "instance"], columns="importance", values="value").reset_index()


def _difference(wide: pd.DataFrame, a: str, b: str) -> stats.Difference | None:
    if not len(wide):
        return None
    found = stats.paired_bootstrap(wide[a], wide[b], groups=wide["seed"], instances=wide["instance"])
    low, high = with_width(found.estimate, found.low, found.high, wide["instance"].nunique())
    return found._replace(low=low, high=high)
