"""The ledger: what a paper said, what we found, with an interval and a verdict.

A verdict is decided by a written rule, and a rule that changes after numbers were seen is named as such: where the
whole interval of the effect lies on the claimed side the claim is *reproduced*; where it lies wholly on the other
side it is *not reproduced*; where the interval covers the border it is *undetermined*. A bare number decides
nothing. A claim whose models are not part of a run, or learned nothing, is *not tested*, and the ledger says why.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import pandas as pd

from attnlib.reports import matrix
from attnlib.utils.errors import ConfigError, unknown

Verdict = Literal["reproduced", "not reproduced", "undetermined", "not tested"]
VERDICTS: tuple[Verdict, ...] = tuple(matrix.VERDICTS)
Direction = Literal["greater", "less", "within"]
DIRECTIONS: tuple[Direction, ...] = ("greater", "less", "within")


@dataclass(frozen=True)
class Claim:
    """One row of the ledger.

    claim    what the paper says, in our words;  where: section, table or figure
    test     how it is decided, in words;  setting: corpora, models, seeds
    effect   the estimate, with its interval low..high over n measurements;  n_of: what n counts
    note     what a reader must know of this verdict, such as why the claim was not tested
    """

    id: str
    paper: str
    claim: str
    where: str
    test: str
    setting: str
    effect: float
    low: float
    high: float
    n: int
    verdict: Verdict
    n_of: str = "texts"
    note: str = ""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise ConfigError(unknown("verdict", self.verdict, VERDICTS))


def not_tested(why: str, **said: object) -> Claim:
    """A claim that this run cannot judge, and why: `why` is a sentence for the reader of the ledger."""
    nothing = {"effect": math.nan, "low": math.nan, "high": math.nan, "n": 0}
    return Claim(**{**said, **nothing, "verdict": "not tested", "note": why})


def tally(claims: Sequence[Claim]) -> str:
    """How many claims got which verdict, in a sentence."""
    counts = ", ".join(f"**{sum(c.verdict == verdict for c in claims)}** {verdict}" for verdict in VERDICTS)
    return f"Of {len(claims)} claims: {counts}."


def judge(low: float, high: float, direction: Direction, border: float = 0.0) -> Verdict:
    """Verdict on an effect whose interval is low..high.

    direction  `greater`: the claim says effect > border; `less`: effect < border;
               `within`: the claim says |effect| < border (two things are comparable)

    >>> judge(0.1, 0.4, "greater"), judge(-0.4, -0.1, "greater"), judge(-0.1, 0.4, "greater")
    ('reproduced', 'not reproduced', 'undetermined')
    """
    if direction not in DIRECTIONS:
        raise ConfigError(unknown("direction", direction, DIRECTIONS))
    if direction == "within" and border <= 0:
        raise ConfigError(
            f"judge(direction='within') needs a positive border: how far apart still counts; got {border}."
        )
    if math.isnan(low) or math.isnan(high):
        return "undetermined"
    if low > high:
        raise ConfigError(f"An interval runs from low to high; got {low} to {high}.")
    if direction == "within":
        if -border < low and high < border:
            return "reproduced"
        return "not reproduced" if low >= border or high <= -border else "undetermined"
    if direction == "less":
        low, high, border = -high, -low, -border
    if low > border:
        return "reproduced"
    return "not reproduced" if high < border else "undetermined"


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Verdict on a claim that something holds in *every* case: one failure refutes it, one doubt suspends it.

    Cases that were not tested say nothing; with no others the claim is not tested.
    """
    found = set(verdicts) - {"not tested"}
    if not found:
        return "not tested"
    if "not reproduced" in found:
        return "not reproduced"
    return "reproduced" if found == {"reproduced"} else "undetermined"


def frame(claims: Sequence[Claim]) -> pd.DataFrame:
    """The ledger as a table."""
    return pd.DataFrame([asdict(c) for c in claims])
