"""The ledger: what a paper said, what was found, and two verdicts on it.

A claim is a `Rule`, written before results are seen: the sentence, the effect that it speaks of, the border that
decides it and the paper's printed effect, all in one place. The ledger answers two questions by the interval of the
effect (`attnlib.stats.inference`):

- **direction**: *reproduced* where the whole interval lies on the claimed side of the border, *not reproduced*
  where it lies on the other side, *undetermined* where it covers the border;
- **size** against the paper's printed effect: *smaller* or *larger* where the interval excludes it, *as large*
  where it includes it and the direction is reproduced. Where there is nothing printed to compare with and the
  direction is open, *negligible* says that the whole interval lies within `NEGLIGIBLE` of the scale around zero:
  whichever side the truth is on, it is too near zero to matter.

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
Size = Literal["as large", "smaller", "larger", "negligible", "no printed value", ""]
ANSWERS = ("as large", "smaller", "larger", "negligible")
"""Sizes that answer a claim whose direction is open."""
NEGLIGIBLE = 1 / 20
"""An effect below this share of its scale is too small to matter, whatever the claim: one rule for all of them."""
SCALES = {"points": 100.0, "τ": 2.0, "τ-b": 2.0, "nats": math.inf, "hidden states": math.inf}
"""From the least to the greatest value of a unit; shares, probabilities and their like run from 0 to 1."""
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
    def sign(self) -> int:
        """1 where the claim is that something is large, -1 where it is that something is small."""
        return 1 if self.direction == "greater" else -1

    @property
    def negligible(self) -> float:
        """How far from zero an effect in this unit must be to matter; none in an open-ended unit is too small."""
        scale = SCALES.get(self.unit, 1.0)
        return 0.0 if math.isinf(scale) else NEGLIGIBLE * scale

    @property
    def decided_by(self) -> str:
        """The test with its border, in words."""
        unit = f" {self.unit}" if self.unit else ""
        if self.direction == "within":
            return f"{self.test}, within ±{self.border:.3g}{unit}"
        return f"{self.test}, {'above' if self.direction == 'greater' else 'below'} {self.border:.3g}{unit}"


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
        return self.verdict in ("reproduced", "not reproduced") or self.size in ANSWERS

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


def size_of(effect: Effect, rule: Rule, printed: float, verdict: Verdict) -> Size:
    """Size of an effect against the paper's: by the interval, in the direction of the claim.

    Only a claim that something is large has a size: one that something is small, or no worse than so much (a border
    on the far side of zero), has none to fall short of, nor has one that the paper's own number contradicts.
    """
    size = _against(effect, rule, printed, verdict)
    if size in ("", "no printed value") and verdict == "undetermined" and rule.border == 0:
        return "negligible" if max(abs(effect.low), abs(effect.high)) < rule.negligible else size
    return size


def _against(effect: Effect, rule: Rule, printed: float, verdict: Verdict) -> Size:
    if math.isnan(printed) or rule.direction == "within":
        return "no printed value"
    border, paper = rule.sign * rule.border, rule.sign * printed
    if math.isnan(effect.low) or border < 0 or paper <= border:
        return ""
    low, high = sorted((rule.sign * effect.low, rule.sign * effect.high))
    if high < paper:
        return "smaller"
    if low > paper:
        return "larger"
    return "as large" if verdict == "reproduced" else ""


def level_of(looks: int, cases: int = 1) -> float:
    """Level of an interval at the k-th look at growing data, over several cases of which one may refute a claim.

    The first report is judged at 95%. The looks that follow it spend 0.05 / (k (k - 1)) each, so that all of them
    together are wrong in at most 5% of cases; cases share that evenly (Bonferroni).

    >>> level_of(1), level_of(2), round(level_of(3), 4), level_of(1, cases=5)
    (0.95, 0.975, 0.9917, 0.99)
    """
    spent = (1 - LEVEL) / (1 if looks == 1 else looks * (looks - 1)) / cases
    return round(1 - spent, 12)


def together(verdicts: Iterable[Verdict]) -> Verdict:
    """Verdict on a claim that something holds in *every* case: one failure refutes it, one doubt suspends it."""
    found = set(verdicts)
    return next((v for v in ("not reproduced", "undetermined", "reproduced") if v in found), "not tested")


def judged(rule: Rule, results: Any, *, paper: str, setting: str, looks: int = 1) -> Claim:
    """What becomes of a rule on the results of a run; `looks`: how often growing data have been judged by now.

    A claim about *each* of several cases is reproduced where each is; one case refutes it, so refutation and size
    are judged at the level of `level_of` with all cases counted.
    """
    said = {"id": rule.id, "paper": paper, "claim": rule.says, "where": rule.where, "test": rule.decided_by}
    said |= {"setting": setting, "direction": rule.direction, "border": rule.border, "unit": rule.unit}
    said |= {"figure": rule.figure, "history": rule.history}
    try:
        found = rule.effect(results)
        second = None if rule.also is None else rule.also(results)
    except NotTested as why:
        return Claim(**said, verdict="not tested", note=str(why) or ABSENT)
    given = dict(found) if isinstance(found, Mapping) else {"": found}
    cases = {name: effect.at(level_of(looks)) for name, effect in given.items() if not math.isnan(effect.estimate)}
    if not cases:
        return Claim(**said, verdict="not tested", note=ABSENT)
    few = min((e.texts for e in cases.values() if e.texts), default=FEWEST_TEXTS)
    if few < FEWEST_TEXTS:
        why = f"It has {few} test texts; a verdict needs at least {FEWEST_TEXTS}."
        return Claim(**said, verdict="not tested", note=why)
    strict = level_of(looks, len(cases))
    verdicts = {name: _case(given[name], effect, rule, strict) for name, effect in cases.items()}
    verdict = together(verdicts.values())
    case = _least_favourable(cases, verdicts, verdict, rule)
    effect, printed, notes = cases[case], _printed(rule, results, case), []
    if lost := [name for name in given if name not in cases]:
        verdict = "undetermined" if verdict == "reproduced" else verdict
        notes.append(f"Without a value, and so without a verdict: {', '.join(lost)}.")
    if math.isnan(effect.low) and math.isnan(effect.se):
        notes.append("A training per cell leaves no interval.")
    if verdicts[case] != judge(effect.low, effect.high, rule.direction, rule.border):
        shown, asked = (f"{100 * level:.3g}%" for level in (level_of(looks), strict))
        notes.append(
            f"This {shown} interval lies past the border, but its case is the least favourable of {len(cases)}: "
            f"picked from so many, it refutes the claim only where its {asked} interval lies past the border too, "
            "and that one reaches it."
        )
    waits = effect
    if second is not None:
        second = second.at(level_of(looks))
        other = judge(second.low, second.high, "greater")
        waits = second if verdict == "reproduced" and other == "undetermined" else effect
        verdict = together([verdict, other])
        notes.append(f"What must be above 0 as well is {second}.")
    size = size_of(given[case].at(strict), rule, printed.value, verdict)
    if size == "" and rule.sign * (printed.value - rule.border) < 0:
        notes.append(f"The paper's own number, {printed.value:.3g} ({printed.where}), is not on the claimed side.")
    if size == "negligible":
        notes.append(
            f"The whole interval lies within {rule.negligible:g} of zero, {NEGLIGIBLE:.0%} of the scale. The "
            "ledger learned this answer after other trainings had been seen: without it, the claim is open."
        )
    claim = Claim(
        **said, verdict=verdict, effect=effect.estimate, low=effect.low, high=effect.high, n=effect.n, size=size,
        paper_effect=printed.value, paper_where=printed.where, trainings=effect.trainings, texts=effect.texts,
        df=effect.df, p=effect.p, case=case, note=" ".join(notes), found=effect,
    )  # fmt: skip
    if claim.decided or math.isnan(waits.low):
        return claim
    border = 0.0 if waits is second else rule.border
    return Claim(**{**vars(claim), "settles": settling(waits, rule.direction, border, level_of(looks + 1))})


def _case(given: Effect, effect: Effect, rule: Rule, strict: float) -> Verdict:
    """The verdict on one of several cases: refuted only where the interval that counts all cases says so."""
    verdict, wider = judge(effect.low, effect.high, rule.direction, rule.border), given.at(strict)
    return judge(wider.low, wider.high, rule.direction, rule.border) if verdict == "not reproduced" else verdict


def ledger(rules: Sequence[Rule], results: Any, *, paper: str, setting: str, looks: int = 1) -> list[Claim]:
    """The claims of a study, judged in the order of its rules."""
    return [judged(rule, results, paper=paper, setting=setting, looks=looks) for rule in rules]


def settling(effect: Effect, direction: Direction, border: float, level: float) -> str:
    """What would settle a claim at the next look, were its estimate to stay: telling it from its border."""
    if not effect.from_trainings >= 0:
        return "It counts cells or models: more of them would settle it, not more trainings or texts of these."
    targets = (border, -border) if direction == "within" else (border,)
    needs = [effect.needed(target, level) for target in targets]
    if min(abs(effect.estimate - target) for target in targets) < 1e-12:
        return "The estimate lies on the border: no number of trainings would settle it."
    if None in needs:
        return "The estimate lies so near the border that more than a thousand times the trainings would be needed."
    trainings, texts = (max(counts) for counts in zip(*needs, strict=True))
    now = f"now {effect.trainings:,} and {effect.texts:,}" if effect.texts else f"now {effect.trainings:,}"
    parts = [f"{trainings:,} trainings"] if effect.trainings else []
    parts += [f"{texts:,} texts"] if effect.texts else []
    return f"About {' and '.join(parts)} ({now}) would tell it from its border, if the estimate stays."


def tally(claims: Sequence[Claim]) -> str:
    """How many claims got which verdict, and how many of the decided directions chance alone would give."""
    counts = ", ".join(f"**{sum(c.verdict == verdict for c in claims)}** {verdict}" for verdict in VERDICTS)
    tested = sum(c.verdict != "not tested" for c in claims)
    open_ones = [c for c in claims if c.verdict == "undetermined" and c.decided]
    near = sum(c.size == "negligible" for c in open_ones)
    told = ""
    if apart := len(open_ones) - near:
        told += f" For {apart} of the undetermined, the size clearly differs from the paper's."
    if near:
        verb = "is" if near == 1 else "are"
        told += f" {near} of the undetermined {verb} negligible: within {NEGLIGIBLE:.0%} of the scale around zero."
    return (
        f"Of {len(claims)} claims: {counts}.{told} If every true effect lay exactly on the border of its claim, "
        f"{LEVEL:.0%} intervals would still decide about {(1 - LEVEL) * tested:.1f} of the {tested} tested claims."
    )


def _least_favourable(cases, verdicts, verdict, rule: Rule) -> str:
    """The case that decides: among those with the common verdict the one farthest from what is claimed."""
    deciding = [name for name in cases if verdicts[name] == verdict] or list(cases)
    if rule.direction == "within":
        return max(deciding, key=lambda name: abs(cases[name].estimate))
    return min(deciding, key=lambda name: rule.sign * cases[name].estimate)


def _printed(rule: Rule, results: Any, case: str) -> Printed:
    found = rule.paper(results) if rule.paper is not None else None
    if isinstance(found, Mapping):
        found = found.get(case)
    return found or Printed(NAN, "")
