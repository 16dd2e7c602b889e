"""The card: the answer in plain words, one row per objection, what to do instead; one offline page."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from attnlib import __version__
from attnlib.auditing.rows import REMOVED
from attnlib.auditing.rules import EXIT, FAIL, MAY, MUST_NOT, OPEN, PASS, SKIPPED, Row, rules
from attnlib.auditing.trainings import Repaired
from attnlib.engine.explainable import Explainable
from attnlib.reports import theme
from attnlib.reports.matrix import digits
from attnlib.reports.output import jsonable
from attnlib.stats.inference import Effect
from attnlib.utils.files import write
from attnlib.utils.text import plural
from attnlib.viz.heatmap import text_heatmap
from attnlib.viz.prose import interval

SIGNS = {PASS: "✓", FAIL: "✗", OPEN: "?", SKIPPED: "–"}
HEADS = {MAY: "Yes", MUST_NOT: "No", "undetermined": "Not decided"}


@dataclass
class Card:
    """What an audit found. Shows itself in a notebook; `save` writes a page and `audit.json` (`to_dict`).

    verdict    may be read, must not be read, or undetermined; `exit_code` 0, 1 or 3
    hiding     how often the most decisive token lies in the lower half of attention, where that names a deception
    examples   tokens with the ranking under audit and leave-one-out, where they disagree most
    """

    verdict: str
    rows: list[Row]
    gates: list[Row]
    hiding: Effect | None
    readings: pd.DataFrame
    subject: str
    repairs: list[Repaired] = field(default_factory=list)
    examples: list[dict[str, Any]] = field(default_factory=list)
    facts: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    model: Explainable | None = field(default=None, repr=False)

    @property
    def exit_code(self) -> int:
        """0: may be read, 1: must not be read, 3: undetermined."""
        return EXIT[self.verdict]

    @property
    def answer(self) -> list[str]:
        """The answer in plain words: what was found, why, and what to do next."""
        blocked = [gate for gate in self.gates if gate.status != PASS]
        gate = max(blocked, key=lambda gate: len(gate.rows), default=None)  # that on which most rows rest
        shown = self.readings.sort_values("value", ascending=False, kind="stable").to_dict("records")
        values = {"gate": gate, "shown": shown, "faithful": rules()["repair"]["faithful"], "plural": plural}
        told = theme.fill("card_answer.txt.j2", card=self, **values)
        return [line for line in told.splitlines() if line]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the pictures, as plain values."""
        made = {
            "attnlib": __version__, "rules": rules()["version"], "level": rules()["level"],
            "verdict": self.verdict, "exit_code": self.exit_code, "answer": self.answer, "facts": self.facts,
            "gates": [gate.to_dict() | {"rows": gate.rows, "cure": gate.objection.cure} for gate in self.gates],
            "rows": [row.to_dict() for row in self.rows],
            "hiding": None if self.hiding is None else self.hiding.row(),
            "readings": self.readings.to_dict("records"), "notes": self.notes,
            "repairs": [repair.to_dict() for repair in self.repairs],
        }  # fmt: skip
        return jsonable(made)

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
            signs=SIGNS,
            rows=[(row, numbers(row), picture(row)) for row in self.rows],
            readings=self.readings.to_dict("records"),
            removed=REMOVED,
            pictures=[text_heatmap(e["tokens"], e["rows"], head=e["head"]).html for e in self.examples],
            rules=rules(),
            attnlib=__version__,
        )

    def __repr__(self) -> str:
        lines = [f"{HEADS[self.verdict]} ({self.verdict}). {' '.join(self.answer)}"]
        lines += [f"  {SIGNS[r.status]} {r.objection.says}: {r.status} {numbers(r)}".rstrip() for r in self.rows]
        return "\n".join(lines)


def picture(row: Row) -> str:
    """The interval of a row on an axis, the passing side green, the failing side red."""
    e, o = row.effect, row.objection
    if math.isnan(e.low):
        return ""
    more = o.direction == "greater"
    sides = {
        "good": (o.passes, None) if more else (None, o.passes),
        "bad": (None, o.fails) if more else (o.fails, None),
    }
    return interval(e.estimate, (e.low, e.high), (), sides, kind=row.status, told=numbers(row))


def numbers(row: Row) -> str:
    """`0.81 [0.74, 0.88]`, with digits enough to tell the ends apart."""
    e = row.effect
    if math.isnan(e.estimate):
        return ""
    return e.text(2 if math.isnan(e.low) else min(max(digits(e.low, e.high), 2), 3))
