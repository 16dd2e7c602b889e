"""Text coloured by numbers, one per token: escaped HTML that shows itself in a notebook. Pure functions.

Colours are translucent and the text keeps the page's own colour, so the same HTML reads well on light and on dark
pages; every number is in the tooltip, so colour is never the only channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from attnlib.utils.errors import DataError

BLUE, ORANGE = (0, 114, 178), (213, 94, 0)
"""Okabe & Ito's blue and vermillion: told apart with every common colour blindness."""
STRONGEST = 0.75
"""Opacity of the strongest colour: text keeps a contrast above 4.5 on a white page and on a black one."""
LIMIT = 150
"""Tokens shown of a long text."""


class Html:
    """HTML that shows itself in a notebook; `text` is what a terminal prints."""

    def __init__(self, html: str, text: str = "") -> None:
        self.html = html
        self.text = text

    def _repr_html_(self) -> str:
        return self.html

    def __str__(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text or f"Html({len(self.html)} characters)"

    def __add__(self, other: Html) -> Html:
        return Html(self.html + other.html, "\n".join(part for part in (self.text, other.text) if part))


@dataclass(frozen=True)
class Scale:
    """From a number to a colour: blue grows from `low` to `high`, or orange below `centre` and blue above it."""

    low: float
    high: float
    centre: float | None = None
    low_name: str = ""
    high_name: str = ""

    @classmethod
    def of(cls, values: np.ndarray) -> Scale:
        """0 to the largest value; symmetric about 0 as soon as a value is negative."""
        finite = values[np.isfinite(values)]
        top = float(np.abs(finite).max()) if finite.size else 1.0
        return cls(-top, top, 0.0) if (finite < 0).any() else cls(0.0, top)

    @classmethod
    def probability(cls, classes: int = 2, low_name: str = "", high_name: str = "") -> Scale:
        """0 to 1 around the chance level of that many classes."""
        return cls(0.0, 1.0, 1.0 / classes, low_name, high_name)

    def strength(self, value: float) -> float:
        """Position of a value in [-1, 1]; 0 has no colour."""
        start = self.low if self.centre is None else self.centre
        end = self.low if value < start else self.high
        if not np.isfinite(value) or end == start:
            return 0.0
        position = min(abs((value - start) / (end - start)), 1.0)
        return -position if value < start else position

    def colour(self, value: float) -> str:
        """CSS colour."""
        strength = self.strength(value)
        red, green, blue = ORANGE if strength < 0 else BLUE
        return f"rgba({red},{green},{blue},{abs(strength) * STRONGEST:.3f})"

    def legend(self, label: str) -> str:
        """A strip of the scale between its two ends, as HTML."""
        stops = [self.low, self.high] if self.centre is None else [self.low, self.centre, self.high]
        strip = ",".join(self.colour(stop) for stop in stops)
        ends = [
            f"{number(end)} ({escape(name)})" if name else number(end)
            for name, end in ((self.low_name, self.low), (self.high_name, self.high))
        ]
        return (
            f'<span style="display:inline-block;margin-right:1.5em">{escape(label)}: {ends[0]} '
            f'<span style="display:inline-block;width:6em;height:.7em;border:1px solid rgba(128,128,128,.6);'
            f'background:linear-gradient(90deg,{strip});vertical-align:-.05em"></span> {ends[1]}</span>'
        )


def number(value: float) -> str:
    """Three digits that fit a small cell: 0.412, -1.24, 12.4; – where there is none."""
    if not np.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1000:
        return str(int(value))
    size = abs(value)
    return f"{value:.3f}" if size < 1 else f"{value:.2f}" if size < 10 else f"{value:.4g}"


def text_heatmap(
    tokens: Sequence[str],
    values: Sequence[float] | np.ndarray | Mapping[str, Sequence[float] | np.ndarray],
    *,
    label: str = "weight",
    scales: Mapping[str, Scale] | Scale | None = None,
    head: str | Html = "",
    erased: Sequence[int] = (),
    marked: Sequence[bool] | None = None,
    unknown_words: Sequence[bool] | None = None,
    numbers: bool | None = None,
    limit: int = LIMIT,
) -> Html:
    """One text, coloured.

    values         one number per token, or several rows of them by name: one row colours the words
                   themselves, several are aligned under their words as numbers (`numbers` overrides this)
    scales         by row name; default: `Scale.of` the row
    head           a line above the text: a plain string is escaped, `Html` is used as it is
    erased         positions to show as removed
    marked         tokens to underline: a rationale
    unknown_words  tokens to show with a dotted line: not in the model's vocabulary
    limit          tokens shown; the rest is counted. Word pieces (`##ing`) are joined to their word
    """
    rows = _rows(tokens, values, label)
    if scales is None or isinstance(scales, Scale):
        scales = dict.fromkeys(rows, scales) if scales else {}
    scales = {name: scales.get(name) or Scale.of(row) for name, row in rows.items()}
    for name, marks in (("marked", marked), ("unknown_words", unknown_words)):
        if marks is not None and len(marks) != len(tokens):
            raise DataError(f"{name} has {len(marks)} entries, the text {len(tokens)} tokens. Give one per token.")
    limit = max(limit, 1)
    gone = {int(i) for i in erased}
    cells = []
    numbers = len(rows) > 1 if numbers is None else numbers
    for i, token in enumerate(tokens[:limit]):
        look = ""
        if i in gone:
            look += "text-decoration:line-through;opacity:.55;"
        elif marked is not None and marked[i]:
            look += "text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:3px;"
        if unknown_words is not None and unknown_words[i]:
            look += "border-bottom:1px dotted currentColor;"
        cells.append(_cell(token, {n: row[i] for n, row in rows.items()}, scales, look, i in gone, numbers))
    hidden = len(tokens) - limit
    if hidden > 0:
        rest = [f"{row[limit:].sum():.0%} of the {n}" for n, row in rows.items() if _is_distribution(row)]
        told = f" with {' and '.join(rest)}" if rest else ""
        cells.append(f'<span style="font-style:italic;opacity:.8">… {hidden:,} more tokens{escape(told)}</span>')
    strip = "display:block;white-space:nowrap;font-size:.75em;line-height:1.7em;opacity:.85"
    names = "".join(f'<span style="{strip}">{escape(name)}</span>' for name in rows)
    gutter = f'<div style="flex:none;text-align:right"><span style="display:block">&nbsp;</span>{names}</div>'
    below = "".join(scales[name].legend(name) for name in rows)
    if marked is not None and any(marked[:limit]):
        told = "<u>underlined</u>: marked as decisive"
        below += f'<span style="display:inline-block;margin-right:1.5em">{told}</span>'
    if unknown_words is not None and any(unknown_words[:limit]):
        below += '<span style="border-bottom:1px dotted currentColor">dotted</span>: unknown to the model'
    below = f'<div style="font-size:.78em;margin-top:.35em;opacity:.85">{below}</div>'
    head = head if isinstance(head, Html) else Html(escape(head), head)
    above = f'<div style="margin-bottom:.3em">{head}</div>' if head.html else ""
    html = (
        f'<div role="figure" aria-label="{escape(head.text or "text")}, coloured by {escape(", ".join(rows))}" '
        f'style="margin:.6em 0 1.1em 0;padding-left:.8em;border-left:3px solid rgba(128,128,128,.35)">{above}'
        f'<div style="display:flex;gap:.4em;line-height:{1.7 if numbers else 1.9}em">{gutter if numbers else ""}'
        f'<div style="overflow-wrap:anywhere;min-width:0">{"".join(cells)}</div></div>'
        f"{below}</div>"
    )
    return Html(html, _as_text(tokens, rows, head.text))


def _rows(tokens: Sequence[str], values: object, label: str) -> dict[str, np.ndarray]:
    given = dict(values) if isinstance(values, Mapping) else {label: values}
    rows = {str(name): np.asarray(row, dtype=float) for name, row in given.items()}
    for name, row in rows.items():
        if row.shape != (len(tokens),):
            raise DataError(
                f"Row {name!r} has the shape {row.shape}, the text {len(tokens)} tokens. Give one number per token."
            )
    return rows


def _cell(token: str, values: dict[str, float], scales: dict, look: str, gone: bool, numbers: bool) -> str:
    piece = token.startswith("##") and len(token) > 2
    shown = token[2:] if piece else token
    shown = shown if shown.strip() else "⏎" if "\n" in shown else "␣"
    title = f"{shown}: " + ", ".join(f"{name} {number(value)}" for name, value in values.items())
    title = escape(f"{title} (erased)" if gone else title)
    gap = "0" if piece else ".3em"
    word = f"<bdi>{escape(shown)}</bdi>"
    if not numbers:
        (name, value), *_ = values.items()
        back = "" if gone else f"background:{scales[name].colour(value)};"
        space = "" if piece else " "
        return (
            f'{space}<span title="{title}" style="{back}padding:.1em .2em;border-radius:.2em;'
            f'box-decoration-break:clone;{look}">{word}</span>'
        )
    look_of = {n: "opacity:.4" if gone else f"background:{scales[n].colour(v)}" for n, v in values.items()}
    strips = "".join(
        f'<span style="display:block;font-size:.75em;line-height:1.7em;padding:0 .25em;min-width:2.6em;'
        f'font-variant-numeric:tabular-nums;{look_of[name]}">{number(value)}</span>'
        for name, value in values.items()
    )
    return (
        f'<span title="{title}" style="display:inline-block;vertical-align:top;text-align:center;'
        f'margin:0 0 .5em {gap}"><span style="display:block;line-height:1.7em;padding:0 .1em">'
        f'<span style="{look}">{word}</span></span>{strips}</span>'
    )


def _is_distribution(row: np.ndarray) -> bool:
    return bool(np.isfinite(row).all() and (row >= 0).all() and abs(row.sum() - 1) < 1e-3)


def _as_text(tokens: Sequence[str], rows: dict[str, np.ndarray], head: str) -> str:
    lines = [head] if head else []
    for name, row in rows.items():
        lines.append(f"{name}: " + " ".join(f"{t}[{number(v)}]" for t, v in zip(tokens, row, strict=True)))
    return "\n".join(lines)
