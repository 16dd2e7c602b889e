"""From effects to a verdict: borders from `rules.yaml`, one status per objection, one answer for the model.

A row *passes* where its whole 90% interval lies past the pass border and *fails* where it lies past the fail
border; else it is *undetermined*, and says how many texts would settle it. Attention *may be read* if every
applicable row passes; it *must not be read* if one row fails after Holm's correction; anything else is
*undetermined*.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from scipy import stats as scipy_stats

from attnlib.stats.inference import Effect, holm
from attnlib.utils.text import plural

FILE = Path(__file__).with_name("rules.yaml")
PASS, FAIL, OPEN, SKIPPED = "pass", "fail", "undetermined", "not applicable"
MAY, MUST_NOT, UNDETERMINED = "may be read", "must not be read", "undetermined"
EXIT = {MAY: 0, MUST_NOT: 1, UNDETERMINED: 3}
"""Exit codes of `attnlib audit`; 2 is an error of usage or data, as everywhere on the command line."""
MOST_TEXTS = 100_000
"""A row that would need more texts than this is said to lie on its border."""


@dataclass(frozen=True)
class Objection:
    """A reason not to read attention, and the borders of the effect that would show or refute it."""

    id: str
    says: str
    asks: str
    effect: str
    direction: str
    passes: float
    fails: float

    def past(self, value: float, border: float) -> bool:
        """Whether a value is on the good side of a border (for `fails`: not failing)."""
        return value >= border if self.direction == "more" else value <= border

    @property
    def border(self) -> str:
        """`pass ≥ 0.5, fail < 0.2`."""
        more = self.direction == "more"
        return f"pass {'≥' if more else '≤'} {self.passes:g}, fail {'<' if more else '>'} {self.fails:g}"


@dataclass(frozen=True)
class Rules:
    """The file as it is, with its objections as objects."""

    values: dict[str, Any]
    objections: tuple[Objection, ...]

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def objection(self, id: str) -> Objection:
        return next(o for o in self.objections if o.id == id)


@cache
def rules() -> Rules:
    """The rules of this version of the kit."""
    values = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    made = [Objection(**{{"pass": "passes", "fail": "fails"}.get(k, k): v for k, v in o.items()})
            for o in values["objections"]]  # fmt: skip
    return Rules(values, tuple(made))


@dataclass(frozen=True)
class Row:
    """An objection with what was found.

    control  what the value is read beside: a random ranking, leave-one-out, another model
    note     why it does not apply, or what a reader must know
    settles  for an undetermined row: what would settle it
    p        one-sided p-value that the fail border is not passed; `p_holm` after Holm's correction
    """

    objection: Objection
    status: str
    effect: Effect = field(default_factory=lambda: Effect(math.nan))
    control: str = ""
    note: str = ""
    settles: str = ""
    p: float = math.nan
    p_holm: float = math.nan

    def to_dict(self) -> dict[str, Any]:
        o, e = self.objection, self.effect
        numbers = {"value": e.estimate, "low": e.low, "high": e.high, "p_fail": self.p, "p_fail_holm": self.p_holm}
        return {
            "id": o.id, "objection": o.says, "effect": o.effect, "status": self.status,
            **{name: None if math.isnan(number) else number for name, number in numbers.items()},
            "texts": e.texts, "trainings": e.trainings, "pass": o.passes, "fail": o.fails, "direction": o.direction,
            "control": self.control, "note": self.note, "settles": self.settles,
        }  # fmt: skip


def judge(objection: Objection, effect: Effect, *, control: str = "", note: str = "") -> Row:
    """The row of an objection whose effect was measured, its interval being of the rules' level."""
    if math.isnan(effect.estimate) or math.isnan(effect.low):
        return Row(objection, OPEN, effect, control, note or "no interval: too little was measured")
    worst, best = (effect.low, effect.high) if objection.direction == "more" else (effect.high, effect.low)
    if objection.past(worst, objection.passes):
        status = PASS
    elif not objection.past(best, objection.fails):
        status = FAIL
    else:
        status = OPEN
    settles, p = _settles(objection, effect) if status == OPEN else "", _p_fail(objection, effect)
    if effect.texts < (least := rules()["gates"]["texts"]):
        status, settles, p = OPEN, f"At least {least} texts are needed to judge on.", math.nan
    return Row(objection, status, effect, control, note, settles, p=p)


def not_applicable(objection: Objection, why: str) -> Row:
    """A row that does not apply to this model or explanation."""
    return Row(objection, SKIPPED, note=why)


def unmeasured(objection: Objection, settles: str) -> Row:
    """A row that applies and was not measured: open, so that a small budget never makes attention readable."""
    return Row(objection, OPEN, settles=settles)


def overall(rows: Sequence[Row], gates_passed: bool) -> tuple[str, list[Row]]:
    """The answer for the model, and the rows with Holm's p-values.

    A gate that does not hold has left the rows open that rest on it (`battery.behind`). One objection that was
    confirmed without it is enough for *must not be read*; *may be read* needs every gate.
    """
    adjusted = holm([row.p for row in rows]) if rows else []
    rows = [replace(row, p_holm=float(p)) for row, p in zip(rows, adjusted, strict=True)]
    judged = [row for row in rows if row.status != SKIPPED]
    if any(row.status == FAIL and row.p_holm < rules()["holm"] for row in judged):
        return MUST_NOT, rows
    passed = gates_passed and judged and all(row.status == PASS for row in judged)
    return (MAY if passed else UNDETERMINED), rows


def _p_fail(objection: Objection, effect: Effect) -> float:
    """How likely an estimate as bad as this were if the truth stood on the fail border."""
    gap = objection.fails - effect.estimate if objection.direction == "more" else effect.estimate - objection.fails
    if effect.se > 0:
        return float(scipy_stats.t.sf(gap / effect.se, effect.df if effect.df > 0 else max(effect.texts - 1, 1)))
    # a share on which all texts agree: how likely that is if the true share stood on the border
    return (1 - gap) ** effect.texts if 0 < gap < 1 else float(gap <= 0)


def _settles(objection: Objection, effect: Effect) -> str:
    good = objection.past(effect.estimate, objection.passes)
    bad = not objection.past(effect.estimate, objection.fails)
    if not (good or bad):
        return "The estimate lies between the borders: more texts alone would not settle it."
    if effect.se == 0:
        gap = abs(effect.estimate - (objection.passes if good else objection.fails))
        enough = math.ceil(math.log(1 - rules()["level"]) / math.log(1 - min(gap, 0.999))) if gap else MOST_TEXTS
        return f"If all texts go on agreeing, about {plural(enough, 'text')} would settle it."
    found = effect.needed(objection.passes if good else objection.fails, level=rules()["level"])
    if found is None or found[1] > MOST_TEXTS:
        return "The estimate is too close to its border for any reasonable number of texts to settle it."
    trainings, texts = found
    said = [f"about {plural(texts, 'text')}"] if texts else []
    said += [f"about {plural(trainings, 'training')}"] if trainings else []
    return f"If the estimate stays, {' and '.join(said)} would settle it."
