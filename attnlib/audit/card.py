"""The card: the answer in plain words, one row per objection, what to do instead; one page that works offline."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from attnlib import __version__
from attnlib.audit.judging import NAMES, REMOVED, Gate
from attnlib.audit.repairs import Repaired
from attnlib.audit.rules import EXIT, FAIL, MAY, MUST_NOT, OPEN, PASS, SKIPPED, Row, rules
from attnlib.audit.trainings import Shortcut
from attnlib.engine.explainable import Explainable
from attnlib.reports import theme
from attnlib.reports.matrix import digits
from attnlib.stats.inference import Effect
from attnlib.utils.files import write
from attnlib.utils.text import plural
from attnlib.viz.textmap import text_heatmap

SIGNS = {PASS: "✓", FAIL: "✗", OPEN: "?", SKIPPED: "–"}
HEADS = {MAY: "Yes", MUST_NOT: "No", "undetermined": "Not decided"}
WIDTH, HEIGHT, MARGIN = 150, 26, 8
METRICS = {"average_precision": "average precision", "token_f1": "token F1", "iou_f1": "IoU F1"}
REPAIR = ("name", "does", "sound", "readings", "f1", "f1_change", "minutes", "recommended")
"""What `audit.json` holds of a repair."""


@dataclass
class Card:
    """What an audit found. Shows itself in a notebook; `save` writes a page, `to_dict` is what `audit.json` holds.

    verdict    may be read, must not be read, or undetermined; `exit_code` 0, 1 or 3
    hiding     how often the most decisive token lies in the lower half of attention, where that names a deception
    examples   tokens with the ranking under audit and leave-one-out, where they disagree most
    model      the model that was judged, such as the one trained here
    """

    verdict: str
    rows: list[Row]
    gates: list[Gate]
    hiding: Effect | None
    readings: pd.DataFrame
    subject: str
    repairs: list[Repaired] = field(default_factory=list)
    shortcut: Shortcut | None = None
    plausible: dict[str, pd.DataFrame] | None = None
    examples: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    model: Explainable | None = field(default=None, repr=False)

    @property
    def exit_code(self) -> int:
        """0: may be read, 1: must not be read, 3: undetermined."""
        return EXIT[self.verdict]

    @property
    def what(self) -> str:
        """What is under audit, in words."""
        return "these scores" if self.subject == "scores" else "attention"

    def of(self, status: str) -> list[Row]:
        """The rows of a status."""
        return [row for row in self.rows if row.status == status]

    @property
    def blocked(self) -> list[Gate]:
        """The gates that do not hold, those first on which most rows rest."""
        return sorted((gate for gate in self.gates if not gate.passed), key=lambda gate: -len(gate.rows))

    @property
    def answer(self) -> list[str]:
        """The answer in plain words: what was found, why, and what to do next."""
        failed, open_ = self.of(FAIL), self.of(OPEN)
        what = "these scores" if self.subject == "scores" else "the attention weights"
        if self.verdict == MAY:
            said = [
                f"You may read {what} as an explanation of this model: every objection that applies was refuted."
            ]
        elif self.verdict == MUST_NOT:
            said = [f"Do not read {what} as an explanation of this model."]
        elif self.blocked and not (failed or self.of(PASS)):
            said = [f"This model could not be judged: {self.blocked[0].said}."]
        else:
            count = f"{len(open_)} of {len(self.rows)} objections are open"
            said = [f"It is not decided whether {what} may be read: {count}."]
        reasons = "; ".join(f"{row.objection.says[0].lower()}{row.objection.says[1:]}" for row in failed)
        if self.verdict == MUST_NOT:
            tested = plural(len(self.rows) - len(self.of(SKIPPED)), "test")
            said.append(
                f"They fail {len(failed)} of {tested} that an explanation must pass, and one failure is enough: "
                f"{reasons}."
                + (f" The {plural(len(open_), 'test')} still open cannot change that." if open_ else "")
            )
        elif failed:
            said.append(f"What speaks against it, though too weakly to decide: {reasons}.")
        if self.hiding is not None:
            said.append(
                f"The model looks deceptive: in {self.hiding.estimate:.0%} of the texts, the word it relies on "
                "most gets less attention than half of the other words (chance: 50%). Models trained to hide what "
                "they use behave like this (Pruthi et al. 2020)."
            )
        return [*said, self.recommended]

    @property
    def recommended(self) -> str:
        """The way to explain this model that the rules recommend: the cheapest that is faithful enough."""
        border = rules()["repair"]["faithful"]
        own = self.readings[self.readings["ranking"] == self.subject].iloc[0]
        if self.verdict == MAY:
            return f"Read {own['name']}: it reaches {own['value']:.0%} of the effect that any ranking could."
        if self.blocked:
            return self._after(self.blocked[0])
        others = self.readings[(self.readings["ranking"] != self.subject) & (self.readings["value"] >= border)]
        free = others[others["ranking"] != "leave-one-out"].sort_values("value", ascending=False)
        if len(free):
            best = free.iloc[0]
            return (
                f"To explain this model, read {best['name']} instead: it reaches {best['value']:.0%} of the effect "
                f"that any ranking could ({own['name']}: {own['value']:.0%}), without training anything."
            )
        good = next((repair for repair in self.repairs if repair.recommended), None)
        good = good or next((repair for repair in self.repairs if repair.explained), None)
        if good is not None:
            return f"Train again with {_repaired(good)}"
        if len(others):
            return (
                "Remove one word at a time and watch the probability (leave-one-out): nothing cheaper explains "
                f"this model well. It reaches {others.iloc[0]['value']:.0%} of the effect that any ranking could."
            )
        return "No reading that was tried explains this model well: decide by removing words, text by text."

    def _after(self, gate: Gate) -> str:
        """What to do where a gate does not hold: the repair that was tried, or the one that the gate asks for."""
        free = self.readings[~self.readings["ranking"].isin([self.subject, "leave-one-out"])]
        if gate.name == "enough texts" and len(free):
            best = free.loc[free["value"].idxmax()]
            return f"So far {best['name']} explains this model best ({best['value']:.0%}). {gate.told}"
        if not gate.name.startswith("removals"):
            return gate.told
        said = "Removing words cannot tell how to explain this model: it fails when random words are removed. "
        good = next((repair for repair in self.repairs if repair.explained), None)
        if good is not None:
            return f"{said}Use the model after {_repaired(good)}"
        tried = next((repair for repair in self.repairs if "masking" in repair.name), None)
        if tried is None:
            return said + gate.told
        why = f"F1 changes by {tried.f1_change:+.3f}" if tried.sound else "it still fails then"
        return f"{said}After {tried.name} no reading explains it well either ({why}): use another model."

    @property
    def limits(self) -> list[str]:
        """What a reader must not conclude."""
        told = [
            "The verdict is about this model on texts like these, not about attention in general.",
            "An explanation is judged by what removing words does to the prediction. It may be faithful and still "
            "be hard to read.",
        ]
        skipped = self.of(SKIPPED)
        if skipped:
            told.append(
                f"{len(skipped)} of {len(self.rows)} objections were not tested: "
                f"{', '.join(r.objection.says.lower() for r in skipped)}."
            )
        return told + [note[0].upper() + note[1:] + ("" if note.endswith(".") else ".") for note in self.notes]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        made = {
            "attnlib": __version__, "rules": rules()["version"],
            "verdict": self.verdict, "exit_code": self.exit_code,
            "answer": self.answer, "facts": self.facts, "level": rules()["level"],
            "gates": [vars(gate) for gate in self.gates], "rows": [row.to_dict() for row in self.rows],
            "hiding": None if self.hiding is None else self.hiding.row(),
            "readings": self.readings,
            "repairs": [{name: getattr(repair, name) for name in REPAIR} for repair in self.repairs],
            "shortcut": None if self.shortcut is None else vars(self.shortcut),
            "plausibility": self.plausible, "limits": self.limits,
        }  # fmt: skip
        return _plain(made)

    def save(self, file: str | Path) -> Path:
        """Write the page, and `audit.json` next to it."""
        file = Path(file)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(self.to_dict(), indent=1, ensure_ascii=False, allow_nan=False)
        write(file, self.html())
        write(file.with_name("audit.json"), text)
        return file

    def html(self) -> str:
        """The page, self-contained."""
        title = f"{HEADS[self.verdict]}: {self.answer[0]}"
        return theme.fill("card_page.html.j2", card=self._repr_html_(), title=title, **theme.assets())

    def _repr_html_(self) -> str:
        return theme.fill(
            "card.html.j2",
            card=self,
            style=theme.read("card.css"),
            head=HEADS[self.verdict],
            kind=self.verdict.replace(" ", "-"),
            signs=SIGNS,
            rows=[(row, _numbers(row), picture(row)) for row in self.rows],
            readings=self.readings.to_dict("records"),
            names=NAMES | METRICS,
            removed=REMOVED,
            pictures=[_picture(example) for example in self.examples],
            level=f"{rules()['level']:.0%}",
            version=rules()["version"],
            faithful=rules()["repair"]["faithful"],
            f1_border=rules()["repair"]["f1"],
            attnlib=__version__,
        )

    def __repr__(self) -> str:
        lines = [f"{HEADS[self.verdict]} ({self.verdict}). {' '.join(self.answer)}"]
        lines += [f"  {SIGNS[r.status]} {r.objection.says}: {r.status} {_numbers(r)}".rstrip() for r in self.rows]
        return "\n".join(lines)


def _repaired(repair: Repaired) -> str:
    """What is to be read after a repair, and what it costs."""
    best = repair.attention if repair.recommended else repair.best
    return (
        f"{repair.name} and read {best['name']}: it then reaches {best['value']:.0%} of the effect that any "
        f"ranking could, and F1 changes by {repair.f1_change:+.3f}."
    )


def picture(row: Row) -> str:
    """The interval of a row on an axis with its two borders: the passing side green, the failing side red."""
    e, o = row.effect, row.objection
    if math.isnan(e.estimate) or math.isnan(e.low):
        return ""
    marks = [e.low, e.high, o.passes, o.fails]
    start, span = min(marks), max(max(marks) - min(marks), 1e-9)
    start, span = start - 0.12 * span, 1.24 * span

    def x(value: float) -> float:
        return round(MARGIN + (value - start) / span * (WIDTH - 2 * MARGIN), 1)

    good, bad = x(o.passes), x(o.fails)
    sides = {"good": (good, WIDTH - good), "bad": (0, bad)}
    if o.direction == "less":
        sides = {"good": (0, good), "bad": (bad, WIDTH - bad)}
    return theme.fill(
        "card_interval.svg.j2",
        width=WIDTH,
        height=HEIGHT,
        middle=HEIGHT / 2,
        sides=sides,
        dot=x(e.estimate),
        whisker=(x(e.low), x(e.high)),
        status=row.status.replace(" ", "-"),
        told=_numbers(row),
    )


def _numbers(row: Row) -> str:
    e = row.effect
    if math.isnan(e.estimate):
        return ""
    return e.text(min(max(digits(e.low, e.high), 2), 3)) if not math.isnan(e.low) else f"{e.estimate:.2f}"


def _picture(example: dict[str, Any]) -> str:
    right = "" if example["predicted"] == example["true"] else f", true class {example['true']}"
    head = f"predicted {example['predicted']} with p = {example['probability']:.2f}{right}"
    return text_heatmap(example["tokens"], example["rows"], head=head).html


def _plain(value: Any) -> Any:
    """Without NaN, which JSON does not have, and without numpy's types."""
    if isinstance(value, pd.DataFrame):
        value = value.to_dict("records")
    if isinstance(value, dict):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
