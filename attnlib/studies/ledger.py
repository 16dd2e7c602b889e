"""The ledger: what a paper said, what was found, and two verdicts on it.

A claim is a `Rule`, written before results are seen: the sentence, the effect that it speaks of, the border that
decides it and the paper's printed effect, all in one place. The ledger answers two questions by the interval of the
effect (`attnlib.stats.inference`):

- **direction**: *reproduced* where the whole interval lies on the claimed side of the border, *not reproduced*
  where it lies on the other side, *undetermined* where it covers the border;
- **size** against the paper's printed effect: *smaller* or *larger* where the interval excludes it, *as large*
  where it includes it and the direction is reproduced.

A claim whose models are not part of a run, or learned nothing, is *not tested*; the ledger says why, once for all
studies. An undetermined claim says what would settle it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, get_args

import pandas as pd

from attnlib.reports import matrix
from attnlib.stats.inference import LEVEL, NAN, Effect
from attnlib.utils.errors import ConfigError, unknown

Verdict = Literal["reproduced", "not reproduced", "undetermined", "not tested"]
VERDICTS: tuple[Verdict, ...] = tuple(matrix.VERDICTS)
Size = Literal["as large", "smaller", "larger", "no printed value", ""]
Direction = Literal["greater", "less", "within"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)
FEWEST_TEXTS = 20
"""Test texts that a verdict needs."""
ABSENT = "The models it needs are not part of this run, or learned nothing."


class NotTested(Exception):
    """Raised by the effect of a rule that this run cannot judge; the message is a sentence for the reader."""


def required(frame: pd.DataFrame, why: str = "") -> pd.DataFrame:
    """The rows that a rule looks at; where there are none, the claim is not tested, and `why` says so."""
    if frame.empty:
        raise NotTested(why)
    return frame


@dataclass(frozen=True)
class Printed:
    """The paper's effect, from its tables, and where it is printed: `Table 4, SST`."""

    value: float
    where: str


@dataclass(frozen=True)
class Rule:
    """One claim of a paper and how it is decided.

    says, where  the claim in our words; section, table or figure of the paper
    test         how it is decided, in words, without the border, which the ledger adds
    effect       results -> the effect; or, for a claim that holds in *each* of several cases, case -> effect.
                 Raises `NotTested` (or gives no case) where the run has nothing to judge by
    direction    `greater` or `less` than `border`, or `within` ± `border` (two things are comparable)
    paper        results -> the paper's printed effect, or case -> printed effect; None where it prints none
    figure       name of the table or figure of the report that shows it
    waits        the list of replicates among the parameters that more trainings for this claim are added to
    history      how the rule changed after results had been seen, with the verdict by the old rule
    also         results -> an effect that must be above 0 as well (what is kept must be there); `test` tells of it
    """

    id: str
    says: str
    where: str
    test: str
    effect: Callable[[Any], Effect | Mapping[str, Effect]]
    direction: Direction = "greater"
    border: float = 0.0
    paper: Callable[[Any], Printed | Mapping[str, Printed] | None] | None = None
    unit: str = ""
    figure: str = ""
    waits: str = "seeds"
    history: str = ""
    also: Callable[[Any], Effect] | None = None

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ConfigError(unknown("direction", self.direction, DIRECTIONS))
        if self.direction == "within" and self.border <= 0:
            raise ConfigError(f"{self.id}: 'within' needs a positive border, how far apart still counts.")

    @property
    def decided_by(self) -> str:
        """The test with its border, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.direction == "within":
            return f"{self.test}, within ±{self.border:g}{unit}"
        return f"{self.test}, {'above' if self.direction == 'greater' else 'below'} {self.border:g}{unit}"


@dataclass(frozen=True)
class Claim:
    """One row of the ledger: a rule and what became of it.

    effect, low, high, df, p   the effect with its 95% interval; `n` measurements of `trainings` and `texts`
    case      the case shown, of several that all must hold: the least favourable
    size      against `paper_effect`, printed at `paper_where`
    settles   what would settle an undetermined claim
    """

    id: str
    paper: str
    claim: str
    where: str
    test: str
    setting: str
    verdict: Verdict
    effect: float = NAN
    low: float = NAN
    high: float = NAN
    n: int = 0
    size: Size = ""
    paper_effect: float = NAN
    paper_where: str = ""
    direction: Direction = "greater"
    border: float = 0.0
    unit: str = ""
    trainings: int = 0
    texts: int = 0
    df: float = NAN
    p: float = NAN
    settles: str = ""
    figure: str = ""
    case: str = ""
    note: str = ""
    history: str = ""
    found: Effect | None = field(default=None, repr=False, compare=False)

    @property
    def decided(self) -> bool:
        """Whether the direction or the size got an answer."""
        return self.verdict in ("reproduced", "not reproduced") or self.size in ("as large", "smaller", "larger")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for claims.json and tables."""
        return {key: value for key, value in asdict(self).items() if key != "found"}


def judge(low: float, high: float, direction: Direction, border: float = 0.0) -> Verdict:
    """Direction of an effect whose interval is low..high.

    >>> judge(0.1, 0.4, "greater"), judge(-0.4, -0.1, "greater"), judge(-0.1, 0.4, "greater")
    ('reproduced', 'not reproduced', 'undetermined')
    """
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


def size_of(low: float, high: float, printed: float, direction: Direction, verdict: Verdict) -> Size:
    """Size of an effect against the paper's: by the interval, in the direction of the claim.

    >>> size_of(-0.045, 0.007, -0.15, "less", "undetermined"), size_of(0.1, 0.3, 0.2, "greater", "reproduced")
    ('smaller', 'as large')
    """
    if math.isnan(printed) or direction == "within":
        return "no printed value"
    if math.isnan(low) or math.isnan(high):
        return ""
    if direction == "less":
        low, high, printed = -high, -low, -printed
    if high < printed:
        return "smaller"
    if low > printed:
        return "larger"
    return "as large" if verdict == "reproduced" else ""


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Verdict on a claim that something holds in *every* case: one failure refutes it, one doubt suspends it."""
    found = set(verdicts) - {"not tested"}
    if not found:
        return "not tested"
    if "not reproduced" in found:
        return "not reproduced"
    return "reproduced" if found == {"reproduced"} else "undetermined"


def judged(rule: Rule, results: Any, *, paper: str, setting: str, looks: int = 1) -> Claim:
    """What becomes of a rule on the results of a run; `looks`: how often growing data have been judged by now.

    Where trainings are added because claims were open, every look may decide by chance. Each interval then has the
    level 1 - 0.05 / looks, so that all looks together are wrong in 5% of cases at most (Bonferroni).
    """
    said = {"id": rule.id, "paper": paper, "claim": rule.says, "where": rule.where, "test": rule.decided_by}
    said |= {"setting": setting, "direction": rule.direction, "border": rule.border, "unit": rule.unit}
    said |= {"figure": rule.figure, "history": rule.history}
    try:
        found = rule.effect(results)
    except NotTested as why:
        return Claim(**said, verdict="not tested", note=str(why) or ABSENT)
    cases = dict(found) if isinstance(found, Mapping) else {"": found}
    level = 1 - (1 - LEVEL) / looks
    cases = {name: effect.at(level) for name, effect in cases.items() if not math.isnan(effect.estimate)}
    if not cases:
        return Claim(**said, verdict="not tested", note=ABSENT)
    few = min((e.texts for e in cases.values() if e.texts), default=FEWEST_TEXTS)
    if few < FEWEST_TEXTS:
        why = f"It has {few} test texts; a verdict needs at least {FEWEST_TEXTS}."
        return Claim(**said, verdict="not tested", note=why)
    verdicts = {name: judge(e.low, e.high, rule.direction, rule.border) for name, e in cases.items()}
    verdict = together(verdicts.values())
    case = _least_favourable(cases, verdicts, verdict, rule)
    effect, printed = cases[case], _printed(rule, results, case)
    size = size_of(effect.low, effect.high, printed.value, rule.direction, verdicts[case])
    unbounded = math.isnan(effect.low)
    note = "Each cell has one training, which leaves no interval." if unbounded and math.isnan(effect.se) else ""
    if rule.also is not None:
        second = rule.also(results)
        verdict = together([verdict, judge(second.low, second.high, "greater")])
        note = f"{note} What must be above 0 as well is {second}.".strip()
    claim = Claim(
        **said, verdict=verdict, effect=effect.estimate, low=effect.low, high=effect.high, n=effect.n, size=size,
        paper_effect=printed.value, paper_where=printed.where, trainings=effect.trainings, texts=effect.texts,
        df=effect.df, p=effect.p, case=case, note=note, found=effect,
    )  # fmt: skip
    settles = "" if claim.decided or unbounded else settling(effect, rule, printed.value)
    return Claim(**{**vars(claim), "settles": settles})


def ledger(rules: Sequence[Rule], results: Any, *, paper: str, setting: str, looks: int = 1) -> list[Claim]:
    """The claims of a study, judged in the order of its rules."""
    return [judged(rule, results, paper=paper, setting=setting, looks=looks) for rule in rules]


def settling(effect: Effect, rule: Rule, printed: float) -> str:
    """What would settle a claim, were its estimate to stay: telling it from the border, or from the paper's."""
    borders = (rule.border, -rule.border) if rule.direction == "within" else (rule.border,)
    targets = [("the border", b) for b in borders] + (
        [] if math.isnan(printed) else [("the paper's effect", printed)]
    )
    if math.isnan(effect.low):
        return "At least two trainings of every cell."
    if math.isnan(effect.from_trainings):  # a share of cells or models
        return f"More cells or models than these {effect.n:,}."
    found = [(*need, name) for name, target in targets if (need := effect.needed(target)) is not None]
    if not found:
        return "The estimate lies on the border: no number of trainings would settle it."
    trainings, texts, name = min(found)
    now = f"now {effect.trainings:,} and {effect.texts:,}" if effect.texts else f"now {effect.trainings:,}"
    count = f"{trainings:,} trainings" if effect.trainings else ""
    if effect.texts:
        count += (" and " if count else "") + f"{texts:,} texts"
    return f"About {count} ({now}) would tell it from {name}, if the estimate stays."


def tally(claims: Sequence[Claim]) -> str:
    """How many claims got which verdict, how many were answered, and how many of those chance alone would give."""
    counts = ", ".join(f"**{sum(c.verdict == verdict for c in claims)}** {verdict}" for verdict in VERDICTS)
    decided, tested = sum(c.decided for c in claims), sum(c.verdict != "not tested" for c in claims)
    open_ones = [c for c in claims if c.verdict == "undetermined" and c.decided]
    told = f" {len(open_ones)} of the undetermined ones are clear in size." if open_ones else ""
    return (
        f"Of {len(claims)} claims: {counts}.{told} {decided} of {tested} tested claims got an answer; if none of "
        f"the effects existed, about {(1 - LEVEL) * tested:.1f} would get one by chance."
    )


def _least_favourable(cases, verdicts, verdict, rule: Rule) -> str:
    """The case that decides: among those with the common verdict the one farthest from what is claimed."""
    deciding = [name for name in cases if verdicts[name] == verdict] or list(cases)
    if rule.direction == "within":
        return max(deciding, key=lambda name: abs(cases[name].estimate))
    sign = 1 if rule.direction == "greater" else -1
    return min(deciding, key=lambda name: sign * cases[name].estimate)


def _printed(rule: Rule, results: Any, case: str) -> Printed:
    found = rule.paper(results) if rule.paper is not None else None
    if isinstance(found, Mapping):
        found = found.get(case)
    return found or Printed(NAN, "")
