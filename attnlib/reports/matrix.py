"""The ledger as a compact matrix: per claim a verdict, a size, the effect with its interval, and what it rests on.

The same rows appear in a notebook, at the top of its report and, for all notebooks, in the index.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from attnlib.reports import theme
from attnlib.reports.tabular import p_value
from attnlib.utils.text import plural
from attnlib.viz.prose import interval

VERDICTS = {"reproduced": "✓", "not reproduced": "✗", "undetermined": "?", "not tested": "–"}
"""Answers to the direction of a claim; a sign next to each colour, for those who do not see the colour."""
SIZES = {"as large": "=", "smaller": "<", "larger": ">", "negligible": "≈", "no printed value": ""}
"""Answers to its size, against the effect that the paper prints or, where the direction is open, against none."""
MORE = (
    "size unit direction border paper_effect paper_where texts trainings n_of df p test case note settles figure"
).split()
"""What a claim may have besides what every claim has."""
Claim = Mapping[str, Any]


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
    rows = [_row(claim, number, anchors, shared) for number, claim in enumerate(claims, start=1)]
    return _filled(rows, shared=shared, style=theme.read("ledger.css") if style else "")


def series_html(link: str, claims: Sequence[Claim]) -> str:
    """The claims of a report on another page; `link` leads to the report."""
    rows = [_row(claim, number) for number, claim in enumerate(claims, start=1)]
    return _filled([row | {"link": f"{link}#claim-{row['id']}", "details": {}} for row in rows], brief=True)


def back_links(claims: Sequence[Claim], name: str) -> str:
    """Links from a figure or table to the claims that it supports; nothing where there are none."""
    found = [(k, c) for k, c in enumerate(claims, start=1) if c.get("figure") == name]
    return theme.fill("backlinks.html.j2", claims=found) if found else ""


def _filled(rows: list[dict[str, Any]], *, shared: str = "", style: str = "", brief: bool = False) -> str:
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["paper"], []).append(row)
    return theme.fill(
        "ledger.html.j2",
        groups=list(groups.items()) if len(groups) > 1 else [("", rows)],
        shared=shared,
        style=style,
        brief=brief,
        verdicts=VERDICTS,
        sizes=SIZES,
    )


def _row(claim: Claim, number: int, anchors: Collection[str] = (), shared: str = "") -> dict[str, Any]:
    """A claim as its row shows it; `shared`: the setting of all claims, which is said below them."""
    row = dict.fromkeys(MORE) | dict(claim)
    places = digits(row["low"], row["high"])
    estimate = _number(row["effect"], places)
    spread = "" if row["low"] is None else f"[{_number(row['low'], places)}, {_number(row['high'], places)}]"
    printed = "" if row["paper_effect"] is None else _number(row["paper_effect"], places)
    where = f" ({row['paper_where']})" if printed and row["paper_where"] else ""
    test = [f"df = {row['df']:.1f}"] if row["df"] is not None else []
    test += [f"p = {p_value(row['p'])}".replace("= <", "<")] if row["p"] is not None else []
    details = {
        "What would settle it": row["settles"],
        "Note": row["note"],
        "Decided by": row["test"],
        "Least favourable case, shown here": row["case"],
        "Measured on": "" if row["setting"] == shared else row["setting"],
        "The paper's value": f"{printed}{where}",
        "Test": ", ".join(test),
    }
    pairs = [(row["texts"], "text"), (row["trainings"], "training")]
    counts = [plural(count, noun) for count, noun in pairs if count]
    if not counts and row["n"]:
        counts = [f"{row['n']:,} {row['n_of'] or ''}".strip()]
    places_here = (f"{kind}-{row['figure']}" for kind in ("figure", "table"))
    return row | {
        "number": number,
        "link": "",
        "estimate": estimate,
        "spread": spread,
        "printed": printed,
        "counts": [] if row["verdict"] == "not tested" else counts,
        "plot": "" if row["effect"] is None else _plot(row, estimate, spread, printed),
        "shown": next((anchor for anchor in places_here if anchor in anchors), ""),
        "details": {name: text for name, text in details.items() if text},
    }


def _plot(row: dict[str, Any], estimate: str, spread: str, printed: str) -> str:
    """The effect on its own axis: dot and 95% interval, the claim's border, the paper's value as a diamond.

    The claimed side of the border is shaded: right of it (`greater`), left of it (`less`), or between -border
    and border (`within`).
    """
    border, direction = row["border"] or 0.0, row["direction"]
    borders = [-border, border] if direction == "within" else [border]
    told = [f"effect {estimate}"] + [f"95% CI {spread}"] * bool(spread)
    told += ["border " + " and ".join(f"{value:.3g}" for value in borders)]
    told += [f"the paper's {printed}"] * bool(printed)
    claimed = (None if direction == "less" else borders[0], None if direction == "greater" else borders[-1])
    return interval(
        row["effect"],
        (row["low"], row["high"]) if spread else None,
        borders,
        {"claimed": claimed} if direction else {},
        kind=row["verdict"],
        told=", ".join(told),
        paper=row["paper_effect"],
    )


def digits(low: float | None, high: float | None) -> int:
    """Decimals that an interval justifies: two digits of its width.

    >>> digits(0.05, 0.19), digits(-0.045, 0.007), digits(3.0, 41.0)
    (2, 3, 0)
    """
    width = 0.0 if low is None or high is None else abs(high - low)
    return min(max(1 - math.floor(math.log10(width)), 0), 4) if width > 0 else 3


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{round(value, places) + 0.0:,.{places}f}"
