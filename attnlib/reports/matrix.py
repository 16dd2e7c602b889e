"""The ledger as a compact matrix: per claim a verdict, a size, the effect with its interval, and what it rests on.

The same rows appear in a notebook, at the top of its report and, for all notebooks, in the index.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attnlib.reports import theme
from attnlib.reports.tabular import p_said
from attnlib.utils.errors import ConfigError, unknown
from attnlib.utils.text import plural
from attnlib.viz.prose import interval

VERDICTS = {"reproduced": "✓", "not reproduced": "✗", "undetermined": "?", "not tested": "–"}
"""Answers to the direction of a claim; a sign next to each colour, for those who do not see the colour."""
SIZES = {"as large": "=", "smaller": "<", "larger": ">", "negligible": "≈", "no printed value": ""}
"""Answers to its size, against the effect that the paper prints or, where the direction is open, against none."""
FIELDS = ("id", "paper", "claim", "where", "setting", "effect", "low", "high", "n", "verdict")
"""What every claim has. Others may be missing: claims.json of an earlier version knows fewer."""
Claim = Mapping[str, Any]


def checked(claims: Iterable[Claim]) -> list[Claim]:
    """The claims, or an error that says which one lacks what."""
    rows = list(claims)
    for row in rows:
        if missing := [field for field in FIELDS if field not in row]:
            lacks = f"Claim {row.get('id', '?')!r} lacks {', '.join(missing)}."
            raise ConfigError(f"{lacks} A claim has {', '.join(FIELDS)}.")
        if row["verdict"] not in VERDICTS:
            raise ConfigError(f"Claim {row['id']!r}: {unknown('verdict', row['verdict'], VERDICTS)}")
        if (size := row.get("size")) and size not in SIZES:
            raise ConfigError(f"Claim {row['id']!r}: {unknown('size', size, SIZES)}")
    counts = Counter(str(row["id"]) for row in rows)
    if twice := sorted(name for name, count in counts.items() if count > 1):
        raise ConfigError(f"Claims share an id: {', '.join(twice)}. Give each its own.")
    return rows


def load(folder: Path, name: str = "claims") -> list[Any]:
    """The claims of a run's folder, or the sentences that open its report (`short`); none where it has no file."""
    file = folder / f"{name}.json"
    return json.loads(file.read_bytes()) if file.exists() else []


def tally(claims: Iterable[Claim]) -> dict[str, int]:
    """How many claims got which verdict; verdicts without claims are left out."""
    counts = Counter(claim["verdict"] for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def matrix_html(claims: Sequence[Claim], anchors: Collection[str] = (), *, style: bool = False) -> str:
    """The ledger of one notebook.

    anchors  ids of the figures and tables on the page, to link to
    style    whether to include the style sheet, for a page that does not have it
    """
    settings = {claim["setting"] for claim in claims if claim["verdict"] != "not tested"}
    shared = settings.pop() if len(settings) == 1 and len(claims) > 1 else ""
    rows = [MatrixRow(claim, number, anchors, shared) for number, claim in enumerate(claims, start=1)]
    return _filled(rows, shared=shared, style=theme.read("ledger.css") if style else "")


def series_html(runs: Iterable[tuple[str, Sequence[Claim]]]) -> str:
    """Claims on another page than their reports, grouped by paper: (link to a report, its claims) of each."""
    rows = [
        MatrixRow(c, k, link=f"{link}#claim-{c['id']}")
        for link, found in runs
        for k, c in enumerate(found, start=1)
    ]
    return _filled(rows, brief=True)


def back_links(claims: Sequence[Claim], name: str) -> str:
    """Links from a figure or table to the claims that it supports; nothing where there are none."""
    found = [(k, c) for k, c in enumerate(claims, start=1) if c.get("figure") == name]
    return theme.fill("backlinks.html.j2", claims=found) if found else ""


def _filled(rows: list[MatrixRow], *, shared: str = "", style: str = "", brief: bool = False) -> str:
    groups: dict[str, list[MatrixRow]] = {}
    for row in rows:
        groups.setdefault(row.paper, []).append(row)
    return theme.fill(
        "ledger.html.j2",
        groups=list(groups.items()) if len(groups) > 1 else [("", rows)],
        shared=shared,
        style=style,
        brief=brief,
        verdicts=VERDICTS,
        sizes=SIZES,
        drawn=any(row.plot for row in rows),
        printed=any(row.paper_effect is not None for row in rows),
    )


@dataclass(frozen=True)
class MatrixRow:
    """A claim as its row shows it.

    link  to the claim in its report, from a page that only lists it; such a row has no details
    """

    claim: Claim
    number: int
    anchors: Collection[str] = ()
    shared: str = ""
    link: str = ""

    def __getattr__(self, field: str) -> Any:
        """A field of the claim; None where it has no such field."""
        if field.startswith("_"):
            raise AttributeError(field)
        return self.claim.get(field)

    @property
    def estimate(self) -> tuple[str, str]:
        """The effect and its interval, with the digits that the interval justifies."""
        places = digits(self.low, self.high)
        told = _number(self.effect, places)
        if self.low is None or self.high is None:
            return told, ""
        return told, f"[{_number(self.low, places)}, {_number(self.high, places)}]"

    @property
    def printed(self) -> str:
        """The effect that the paper prints."""
        return "" if self.paper_effect is None else _number(self.paper_effect, digits(self.low, self.high))

    @property
    def counts(self) -> list[str]:
        """What the effect is estimated from."""
        pairs = [(self.texts, "text"), (self.trainings, "training")]
        if self.verdict == "not tested":
            return []
        known = [plural(count, noun) for count, noun in pairs if count]
        return known or ([f"{self.n:,} {self.n_of or ''}".strip()] if self.n else [])

    @property
    def plot(self) -> str:
        """The effect on its own axis: dot and 95% interval, the claim's border, the paper's value as a diamond.

        The claimed side of the border is shaded: right of it (`greater`), left of it (`less`), or between -border
        and border (`within`). Nothing is drawn where there is no effect.
        """
        low, high, paper, border = self.low, self.high, self.paper_effect, self.border or 0.0
        if self.effect is None:
            return ""
        borders = [-border, border] if self.direction == "within" else [border]
        effect, spread = self.estimate
        told = [f"effect {effect}", f"border {' and '.join(f'{value:.3g}' for value in borders)}"]
        if spread:
            told.insert(1, f"95% CI {spread}")
        if paper is not None:
            told.append(f"the paper's {self.printed}")
        start = None if self.direction == "less" else borders[0]
        end = None if self.direction == "greater" else borders[-1]
        return interval(
            self.effect,
            (low, high) if spread else None,
            borders,
            {"claimed": (start, end)} if self.direction else {},
            kind=self.verdict,
            told=", ".join(told),
            paper=paper,
        )

    @property
    def figure_link(self) -> str:
        """Where the page shows the figure or table of this claim."""
        found = (f"{kind}-{self.figure}" for kind in ("figure", "table"))
        return next((anchor for anchor in found if self.figure and anchor in self.anchors), "")

    @property
    def summary(self) -> str:
        """The question that the details answer first."""
        if self.verdict == "not tested" and self.note:
            return "Why not tested"
        return "What would settle it" if self.verdict == "undetermined" and self.settles else "How it was decided"

    @property
    def details(self) -> list[tuple[str, str]]:
        """What folds away: (what it is, text), the answer to `summary` first."""
        paper = f"{self.printed} ({self.paper_where})" if self.printed and self.paper_where else self.printed
        test = [f"df = {self.df:.1f}"] if self.df is not None else []
        test += [p_said(self.p)] if self.p is not None else []
        told = {
            "What would settle it": self.settles,
            "Note": self.note,
            "Decided by": self.test,
            "Least favourable case, shown here": self.case,
            "Measured on": "" if self.setting == self.shared else self.setting,
            "The paper's value": paper,
            "Test": ", ".join(test),
        }
        return [(name, str(text)) for name, text in told.items() if text and not self.link]


def digits(low: float | None, high: float | None) -> int:
    """Decimals that an interval justifies: two digits of its width.

    >>> digits(0.05, 0.19), digits(-0.045, 0.007), digits(3.0, 41.0)
    (2, 3, 0)
    """
    width = 0.0 if low is None or high is None else abs(high - low)
    return min(max(1 - math.floor(math.log10(width)), 0), 4) if width > 0 else 3


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{round(value, places) + 0.0:,.{places}f}"
