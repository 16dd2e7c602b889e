"""The numbers of the first notebook, its four claims, and the answer that follows from them.

Every claim is about both levels, because a model can be trained to take attention off the words that it uses
(Pruthi et al. 2020). The models are given, and the test texts are the sample (`training=None`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import pandas as pd

from attnlib.stats.inference import NAN, Effect
from attnlib.stats.judge import holds
from attnlib.studies.ledger import VERDICT, Claim, Judged
from attnlib.studies.quantity import NotTested, Quantity, Table
from attnlib.studies.quickstart.params import Params
from attnlib.studies.results import Results
from attnlib.utils.text import percent

NAMES = {"alpha": "attention", "alpha_grad": "attention × gradient", "omission": "leave-one-out"}
NAMES |= {"other": "random other"}
BY = ("level", "importance")


accuracy = Quantity("labels", model=("seed",), training=None)
erased = accuracy.of(frame="erased", named=lambda key: key[0])
fractions = erased.only(importance=["alpha", "alpha_grad", "omission", "random"])
single = erased.where(lambda frame: frame[(frame["length"] > 1) & (frame["importance"] != "random")])
flips = single.of(value=lambda frame: (frame["removed"] == 1).fillna(False))
stays = single.only(importance="alpha").of(value=lambda frame: (frame["removed"] != 1).fillna(True))
ahead = fractions.minus("importance", "alpha", "random")


def halved(frame: pd.DataFrame) -> pd.DataFrame:
    """With a further ranking, the middle between random and leave-one-out."""
    ends = frame[frame["importance"].isin(["random", "omission"])]
    middle = ends.groupby(["dataset", "level", "seed", "instance"], as_index=False)["value"].mean()
    return pd.concat([frame, middle.assign(importance="middle")])


def nearer(results: Results) -> dict[str, Effect]:
    """Fraction by attention minus the middle, where leave-one-out is clearly ahead of random."""
    gaps = fractions.minus("importance", "random", "omission").each(results, ["level"])
    levels = [level for level, gap in gaps.items() if gap.low > 0]
    if not levels:
        raise NotTested("Leave-one-out is not clearly ahead of random at either level: they mark no distance.")
    gap = fractions.where(halved).minus("importance", "alpha", "middle")
    return gap.only(level=levels).each(results, ["level"])


FRACTION = "fraction of tokens to flip by attention minus"
CLAIMS = [
    Claim("Removing the most attended token changes more decisions than removing a random other one.",
          "section 4.2, Table 2", "share flipped by the most attended token minus share flipped by a random other "
          "one, at each level", partial(flips.minus("importance", "alpha", "other").each, by=["level"]),
          figure="flips"),
    Claim("Most decisions survive the loss of the most attended token.", "section 4.2, Table 2", "share of "
          "decisions that stay, at each level", partial(stays.each, by=["level"]), border=0.5, figure="flips"),
    Claim("Erasing tokens in the order of attention flips decisions sooner than a random order does.",
          "section 5, Figure 5", f"{FRACTION} that in a random order (never = 1), at each level",
          partial(ahead.each, by=["level"]), "less", figure="rankings"),
    Claim("Attention ranks first what the decision needs: its order is nearer to leave-one-out than to random.",
          "Pruthi et al. 2020: attention that hides what decides", f"{FRACTION} the middle between random and "
          "leave-one-out, at each level where leave-one-out is ahead of random", nearer, "less", figure="rankings"),
]  # fmt: skip


TABLES = [
    Table("accuracy", {"accuracy": accuracy}, "Test accuracy of each model, 95% intervals over texts.", ["seed"])
]


def answer(claims: Mapping[int, Judged], results: Results) -> list[str]:
    """*In short*: decided at the input level, where hiding words does not help."""
    right = f"The models classify {percent(results.labels['value'].mean())} of the test texts correctly."
    if "not tested" in (claims[1].verdict, claims[3].verdict):
        return [
            "**This run cannot say whether attention is an explanation**: few texts, or nothing learned.",
            right,
        ]
    found = Effect(NAN) if claims[4].verdict == "not tested" else nearer(results).get("input", Effect(NAN))
    effects = ahead.each(results, ["level"])["input"], found
    sooner, near = (VERDICT[holds(one.low, one.high, "less")] for one in effects)
    if sooner == "reproduced":
        word = "a usable" if near == "reproduced" else "a partial"
    else:
        word = "no" if near == "not reproduced" else "perhaps a"
    means = (one.only(level="input").plain(results, ["importance"], "mean") for one in (fractions, flips))
    fraction, share = (dict(zip(t["importance"], map(percent, t["value"]), strict=True)) for t in means)
    return [
        f"**Attention is {word} guide to what these models rely on**: that erasing words from the input in its "
        f"order flips decisions sooner than a random order does is {sooner}; that it is nearer to leave-one-out "
        f"than to random is {near}.",
        f"Until the decision flips, [{fraction['alpha']}](#figure-rankings) of the words must go from the "
        f"input in the order of attention, {fraction['random']} at random and {fraction['omission']} by "
        "leave-one-out, which asks the model (a decision that never flips counts as all words). Erasing the "
        f"most attended word alone changes [{share['alpha']}](#figure-flips) of the decisions, a random other "
        f"word {share['other']}, and the word that leave-one-out ranks first {share['omission']}.",
        right,
    ]


def checks(results: Results, params: Params) -> dict[str, bool]:
    """What must hold whatever the corpus: name of the check -> whether it does."""
    texts, found = results.labels["instance"].nunique(), results.erased
    return {
        "every text and seed has a prediction": len(results.labels) == params.repeats * texts,
        "every text is erased from in every order at both levels": len(found) == 10 * len(results.labels),
        "fractions to a flip are fractions": found["value"].between(0, 1).all(),
        "what never flips counts as all words": (found["value"][found["status"] == "never"] == 1).all(),
    }
