"""From numbers to a verdict: effects, borders from `rules.yaml`, one status per objection, one answer per model.

A row *passes* where its whole 90% interval lies past the pass border and *fails* where it lies past the fail one.
Attention *may be read* if every applicable row passes, and *must not be read* if one fails after Holm's correction.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy import stats as scipy_stats

from attnlib.stats.inference import Effect, effect, exact_share, holm
from attnlib.stats.judge import Direction, holds
from attnlib.utils.text import plural

FILE = Path(__file__).with_name("rules.yaml")
CALIBRATION = FILE.with_name("calibration.csv")
"""Verdicts on models whose truth is known, a row per model, number of texts and objection."""
PASS, FAIL, OPEN, SKIPPED = "pass", "fail", "undetermined", "not applicable"
MAY, MUST_NOT, UNDETERMINED = "may be read", "must not be read", "undetermined"
EXIT = {MAY: 0, MUST_NOT: 1, UNDETERMINED: 3}
"""Exit codes of `attnlib audit`; 2 is an error of usage or data, as everywhere on the command line."""


@dataclass(frozen=True)
class Objection:
    """A reason not to read attention, or a gate (with a `cure`), and the borders of its effect."""

    id: str
    says: str
    effect: str
    direction: Direction
    passes: float
    fails: float
    asks: str = ""
    cure: str = ""

    def past(self, value: float, border: float) -> bool:
        """Whether a value is on the good side of a border (for `fails`: not failing)."""
        return value >= border if self.direction == "greater" else value <= border

    @property
    def border(self) -> str:
        """`pass ≥ 0.5, fail < 0.2`."""
        more = self.direction == "greater"
        return f"pass {'≥' if more else '≤'} {self.passes:g}, fail {'<' if more else '>'} {self.fails:g}"


@cache
def rules() -> dict[str, Any]:
    """The file of this version of the kit, its `objections` and `gates` as objects by id."""
    found = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    return found | {kind: {o["id"]: Objection(**o) for o in found[kind]} for kind in ("objections", "gates")}


@dataclass(frozen=True)
class Row:
    """An objection or a gate with what was found; `note` of a gate is what was found, in words.

    control  what the value is read beside: a random ranking, leave-one-out, another model
    note     why it does not apply, or what a reader must know
    settles  for an undetermined row: what would settle it
    p        one-sided p-value that the fail border is not passed; `p_holm` after Holm's correction
    rows     of a gate: objections that stay open where it does not pass
    """

    objection: Objection
    status: str
    effect: Effect = field(default_factory=lambda: Effect(math.nan))
    control: str = ""
    note: str = ""
    settles: str = ""
    p: float = math.nan
    p_holm: float = math.nan
    rows: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """Where a gate does not pass: what to do, as a sentence."""
        cure = f"{self.objection.cure}, then audit again."
        return f"{self.settles} Or {cure}" if self.settles else cure[0].upper() + cure[1:]

    def to_dict(self) -> dict[str, Any]:
        o, e = self.objection, self.effect
        return {
            "id": o.id, "objection": o.says, "effect": o.effect, "status": self.status,
            "value": e.estimate, "low": e.low, "high": e.high, "p_fail": self.p, "p_fail_holm": self.p_holm,
            "texts": e.texts, "trainings": e.trainings, "pass": o.passes, "fail": o.fails, "direction": o.direction,
            "control": self.control, "note": self.note, "settles": self.settles,
        }  # fmt: skip


def estimate(values: np.ndarray, bounds: tuple[float, float] | None = None) -> Effect:
    """The mean over texts with an interval of the rules' level."""
    frame = pd.DataFrame({"value": values, "instance": np.arange(len(values))})
    return effect(frame, training=None, bounds=bounds, level=rules()["level"])


def agreed(found: Effect, unit: float = 1.0) -> Effect:
    """With an interval where all texts agree: the share that may yet differ is bounded.

    unit   what the number would change by, were all texts to differ, is 1 / unit
    """
    if not math.isnan(found.low) or math.isnan(found.estimate):
        return found
    far = exact_share(0, found.texts, rules()["level"]).high / unit
    return replace(found, low=found.estimate - far, high=found.estimate + far, se=0.0)


def judge(objection: Objection, effect: Effect, *, control: str = "", note: str = "") -> Row:
    """The row of an objection whose effect was measured, its interval being of the rules' level."""
    o, row = objection, Row(objection, OPEN, effect, control, note)
    if math.isnan(effect.low):
        return replace(row, note=note or "no interval: too little was measured")
    if effect.texts < (least := rules()["texts"]):
        return replace(row, settles=f"At least {least} texts are needed to judge on.")
    passed, held = (holds(effect.low, effect.high, o.direction, border) for border in (o.passes, o.fails))
    status = PASS if passed else FAIL if held is False else OPEN
    return replace(row, status=status, settles=_settles(o, effect) * (status == OPEN), p=_p_fail(o, effect))


def overall(rows: Sequence[Row], gates_passed: bool) -> tuple[str, list[Row]]:
    """The answer for the model, and the rows with Holm's p-values; *may be read* needs every gate."""
    adjusted = holm([row.p for row in rows])
    rows = [replace(row, p_holm=float(p)) for row, p in zip(rows, adjusted, strict=True)]
    judged = [row for row in rows if row.status != SKIPPED]
    if any(row.status == FAIL and row.p_holm < rules()["holm"] for row in judged):
        return MUST_NOT, rows
    passed = gates_passed and all(row.status == PASS for row in judged)
    return (MAY if passed else UNDETERMINED), rows


def _p_fail(objection: Objection, effect: Effect) -> float:
    """How likely an estimate as bad as this were if the truth stood on the fail border."""
    gap = (objection.fails - effect.estimate) * (1 if objection.direction == "greater" else -1)
    if effect.se > 0:
        return float(scipy_stats.t.sf(gap / effect.se, effect.df if effect.df > 0 else max(effect.texts - 1, 1)))
    # a share on which all texts agree: how likely that is if the true share stood on the border
    return (1 - gap) ** effect.texts if 0 < gap < 1 else float(gap <= 0)


def _settles(objection: Objection, effect: Effect) -> str:
    good = objection.past(effect.estimate, objection.passes)
    if not good and objection.past(effect.estimate, objection.fails):
        return "The estimate lies between the borders: more texts alone would not settle it."
    if effect.se == 0:
        return "All texts agree so far: more of them would settle it, if they go on agreeing."
    found = effect.needed(objection.passes if good else objection.fails, level=rules()["level"])
    if found is None:
        return "The estimate is too close to its border for any reasonable number of texts to settle it."
    counts = zip(found[::-1], ("text", "training"), strict=True)
    said = " and ".join(f"about {plural(count, noun)}" for count, noun in counts if count)
    return f"If the estimate stays, {said} would settle it."
