"""The ledger: what a paper said, what was found, and two verdicts on it.

A `Claim` stands next to the quantity that decides it. The interval of the effect (`attnlib.stats.judge`) answers
two questions:

- **direction**: *reproduced* where the whole interval lies on the claimed side of the border, *not reproduced*
  where it lies on the other side, *undetermined* where it covers the border;
- **size** against the paper's printed effect: *smaller* or *larger* where the interval excludes it, *as large*
  where it includes it and the direction is reproduced. Where the direction is open, *negligible* says that the
  whole interval lies within `NEGLIGIBLE` of the scale around zero.

A claim whose models are not part of a run, or learned nothing, is *not tested*, and says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from attnlib.reports import matrix
from attnlib.stats.inference import LEVEL, NAN, Effect
from attnlib.stats.judge import DIRECTIONS, Decision, Direction, decide
from attnlib.studies.beside import Printed
from attnlib.studies.quantity import ABSENT, FEWEST_TEXTS, NotTested, Quantity
from attnlib.utils.errors import ConfigError, unknown

Verdict = Literal["reproduced", "not reproduced", "undetermined", "not tested"]
VERDICT: dict[bool | None, Verdict] = {True: "reproduced", False: "not reproduced", None: "undetermined"}
Size = Literal["as large", "smaller", "larger", "negligible", "no printed value", ""]
ANSWERS = ("as large", "smaller", "larger", "negligible")
"""Sizes that answer a claim whose direction is open."""
NEGLIGIBLE = 1 / 20
"""An effect below this share of its scale is too small to matter: one rule for all claims."""
AS_ACCURATE = 2.0
"""Points of F1 or accuracy by which two models may differ and still count as equally accurate."""
SCALES = {"points": 100.0, "τ": 2.0, "τ-b": 2.0, "nats": 0.0, "hidden states": 0.0}
"""From the least to the greatest value of a unit, 0 where it is open; shares and their like run from 0 to 1."""
Effects = Effect | Mapping[str, Effect]


@dataclass(frozen=True)
class Claim:
    """One claim of a paper and how it is decided.

    says, where  the claim in our words; section, table or figure of the paper
    test         how it is decided, in words, without the border, which the ledger adds
    effect       a quantity, of which the mean decides; or results -> the effect; or, for a claim that holds in
                 *each* of several cases, results -> case -> effect (`quantity.each`). Raises `NotTested` (or gives
                 no case) where the run has nothing to judge by
    direction    `greater` or `less` than `border`, or `within` ± `border` (two things are comparable)
    paper        results -> the paper's printed effect, or case -> printed effect; None where it prints none
    figure       name of the table or figure of the report that shows it
    id           what it is called after its study; its place in the list where it has no name
    also         a quantity that must be above 0 as well (what is kept must be there); `test` tells of it
    """

    says: str
    where: str
    test: str
    effect: Quantity | Callable[[Any], Effects]
    direction: Direction = "greater"
    border: float = 0.0
    paper: Callable[[Any], Printed | Mapping[str, Printed] | None] | None = None
    unit: str = ""
    figure: str = ""
    also: Quantity | Callable[[Any], Effect] | None = None
    id: str = ""

    def __post_init__(self) -> None:
        if self.direction not in DIRECTIONS:
            raise ConfigError(unknown("direction", self.direction, DIRECTIONS))
        if self.direction == "within" and self.border <= 0:
            raise ConfigError(f"{self.says} 'within' needs a positive border, how far apart still counts.")
        if not self.unit and isinstance(self.effect, Quantity):
            object.__setattr__(self, "unit", self.effect.unit)

    @property
    def sign(self) -> int:
        """1 where the claim is that something is large, -1 where it is that something is small."""
        return 1 if self.direction == "greater" else -1

    @property
    def negligible(self) -> float:
        """How far from zero an effect must be to matter; in an open-ended unit none is too small."""
        return NEGLIGIBLE * SCALES.get(self.unit, 1.0)


@dataclass(frozen=True)
class Judged:
    """One row of the ledger: a claim and what became of it.

    effect, low, high, df, p   the effect with the interval that decides, of `level`; `n` measurements of
              `trainings` and `texts`
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
    level: float = LEVEL
    settles: str = ""
    figure: str = ""
    case: str = ""
    note: str = ""
    found: Effect | None = field(default=None, repr=False, compare=False)

    @property
    def decided(self) -> bool:
        """Whether the direction or the size got an answer."""
        return self.verdict in ("reproduced", "not reproduced") or self.size in ANSWERS

    def text(self, digits: int = 2, factor: float = 1.0) -> str:
        """The effect with its interval: `0.41 [0.38, 0.44]`; factor 100 gives percent or points."""
        return self.found.scaled(factor).text(digits) if self.found is not None else "–"

    def against(self, factor: float = 1.0, unit: str = "", digits: int = 1) -> str:
        """`, smaller than the paper's 12.3%`, where the size has an answer."""
        than = {"as large": "as large as", "smaller": "smaller than", "larger": "larger than"}.get(self.size)
        return f", {than} the paper's {factor * self.paper_effect:.{digits}f}{unit}" if than else ""

    def __format__(self, spec: str) -> str:
        """`**reproduced** (0.41 [0.38, 0.44], smaller than the paper's 0.53)`; `3`: digits, `%`: times 100."""
        if self.found is None:
            return f"**{self.verdict}**"
        factor, digits, unit = (100, 1, "%") if spec == "%" else (1, int(spec or 2), "")
        than = self.against(factor, unit, digits)
        return f"**{self.verdict}** ({self.text(digits, factor)}{unit}{than})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for claims.json and tables."""
        return {key: value for key, value in asdict(replace(self, found=None)).items() if key != "found"}


def judged(claim: Claim, results: Any, *, paper: str = "", setting: str = "") -> Judged:
    """What becomes of a claim on the results of a run, by the trainings that learned something."""
    side = {"greater": "above ", "less": "below ", "within": "within ±"}[claim.direction]
    test = f"{claim.test}, {side}{claim.border:.3g} {claim.unit}".rstrip()
    said = {"id": claim.id, "paper": paper, "claim": claim.says, "where": claim.where, "test": test}
    said |= {"setting": setting, "unit": claim.unit, "figure": claim.figure}
    border: dict[str, Any] = {"direction": claim.direction, "border": claim.border}
    try:
        cases = _cases(claim.effect, results)
        second = None if claim.also is None else _cases(claim.also, results)
    except NotTested as why:
        return Judged(**said, **border, verdict="not tested", note=str(why) or ABSENT)
    found, notes = decide(cases, claim.direction, claim.border), []
    if second is not None:
        there = decide(second, "greater")
        if there.holds is False or (found.holds and not there.holds):  # what is said to be kept may not be there
            found, border = replace(there, case="what must be there"), {"direction": "greater", "border": 0.0}
        else:
            notes.append(f"What must be above 0 as well is {there.effect}.")
    if found.missing:
        notes.append(f"Without a value, and so without a verdict: {', '.join(found.missing)}.")
    effect, verdict = found.effect, VERDICT[found.holds]
    if math.isnan(effect.low) and math.isnan(effect.se):
        notes.append("A training per cell leaves no interval.")
    if found.level != LEVEL:
        level = f"{100 * found.level:.3g}%"
        notes.append(f"Picked from {len(cases)} cases, this one is judged by the {level} interval shown.")
    printed = None if claim.paper is None else claim.paper(results)
    printed = (printed.get(found.case) if isinstance(printed, Mapping) else printed) or Printed(NAN, "")
    size = size_of(effect, claim, printed.value, verdict)
    if size == "" and claim.sign * (printed.value - claim.border) < 0:
        notes.append(f"The paper's own number, {printed.value:.3g} ({printed.where}), is not on the claimed side.")
    if size == "negligible":
        notes.append(f"The whole interval lies within {claim.negligible:g} of zero, {NEGLIGIBLE:.0%} of the scale.")
    row = Judged(
        **said, **border, verdict=verdict, effect=effect.estimate, low=effect.low, high=effect.high, n=effect.n,
        size=size, paper_effect=printed.value, paper_where=printed.where, trainings=effect.trainings,
        texts=effect.texts, df=effect.df, p=effect.p, level=found.level, case=found.case, note=" ".join(notes),
        found=effect,
    )  # fmt: skip
    return row if row.decided or math.isnan(effect.low) else replace(row, settles=_settles(found, **border))


def ledger(claims: Sequence[Claim], results: Any, **said: str) -> list[Judged]:
    """The claims of a study, judged in their order."""
    return [judged(claim, results, **said) for claim in claims]


def _cases(effect: Quantity | Callable[[Any], Effects], results: Any) -> dict[str, Effect]:
    """Case -> effect; raises `NotTested` where no case has a value, or one has too few texts."""
    found = effect.mean(results) if isinstance(effect, Quantity) else effect(results)
    cases = dict(found) if isinstance(found, Mapping) else {"": found}
    known = [effect for effect in cases.values() if not math.isnan(effect.estimate)]
    if not known:
        raise NotTested(ABSENT)
    few = min((effect.texts for effect in known if effect.texts), default=FEWEST_TEXTS)
    if few < FEWEST_TEXTS:
        raise NotTested(f"It has {few} test texts; a verdict needs at least {FEWEST_TEXTS}.")
    return cases


def size_of(effect: Effect, claim: Claim, printed: float, verdict: Verdict) -> Size:
    """Size of an effect against the paper's, by the interval, in the direction of the claim.

    A claim that something is no worse than so much (a border on the far side of zero) has no size to fall short of,
    nor has one that the paper's own number contradicts.
    """
    border, paper = claim.sign * claim.border, claim.sign * printed
    low, high = sorted((claim.sign * effect.low, claim.sign * effect.high))
    size: Size = ""
    if math.isnan(printed) or claim.direction == "within":
        size = "no printed value"
    elif not math.isnan(low) and 0 <= border < paper:
        reached: Size = "as large" if verdict == "reproduced" else ""
        size = "smaller" if high < paper else "larger" if low > paper else reached
    unsized = size in ("", "no printed value") and verdict == "undetermined" and claim.border == 0
    return "negligible" if unsized and max(abs(low), abs(high)) < claim.negligible else size


def _settles(found: Decision, direction: Direction, border: float) -> str:
    """What would settle a claim, were its estimate to stay: telling it from its border."""
    effect = found.effect
    if not effect.from_trainings >= 0:
        return "It counts cells or models: more of them would settle it, not more trainings or texts of these."
    targets = (border, -border) if direction == "within" else (border,)
    needs = [effect.needed(target, found.level) for target in targets]
    if None in needs:
        return "The estimate lies on the border, or so near it that a thousand times the trainings would not do."
    needed, now = [max(counts) for counts in zip(*needs, strict=True)], [effect.trainings, effect.texts]
    more = [f"{n:,} {name}" for n, have, name in zip(needed, now, ("trainings", "texts"), strict=True) if have]
    known = " and ".join(f"{have:,}" for have in now if have)
    return f"About {' and '.join(more)} (now {known}) would tell it from its border, if the estimate stays."


def tally(claims: Sequence[Judged]) -> str:
    """How many claims got which verdict, and which sizes answer those whose direction is open."""
    told = f"Of {len(claims)} claims: "
    told += (
        ", ".join(f"**{sum(c.verdict == verdict for c in claims)}** {verdict}" for verdict in matrix.VERDICTS) + "."
    )
    sizes = [claim.size for claim in claims if claim.verdict == "undetermined" and claim.decided]
    near = sizes.count("negligible")
    if apart := len(sizes) - near:
        told += f" For {apart} of the undetermined, the size clearly differs from the paper's."
    if near:
        verb = "is" if near == 1 else "are"
        told += f" {near} of the undetermined {verb} negligible: within {NEGLIGIBLE:.0%} of the scale around zero."
    return told
