"""Text coloured by numbers, one per token, as escaped HTML. Pure functions.

Colours are translucent and the text keeps the page's own colour, so the same HTML reads well on light and on dark
pages; every number is in the tooltip, so colour is never the only channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from attnlib.data.checks import floats
from attnlib.utils.errors import DataError
from attnlib.viz.prose import Html

BLUE, ORANGE = (0, 114, 178), (213, 94, 0)
"""Okabe & Ito's blue and vermillion: told apart with every common colour blindness."""
STRONGEST = 0.75
"""Opacity of the strongest colour: text keeps a contrast above 4.5 on a white page and on a black one."""
LIMIT = 150
"""Tokens shown of a long text."""
LOOKS = {
    "marked": "text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:3px;",
    "unknown_words": "border-bottom:1px dotted currentColor;",
}


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
    """Three digits that fit a small cell: 0.412, −1.24, 12.4; – where there is none."""
    if not np.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1000:
        told = f"{value:z.0f}"
    else:
        told = f"{value:z.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.4g}"
    return told.replace("-", "−")


def text_heatmap(
    tokens: Sequence[str],
    values: Sequence[float] | np.ndarray | Mapping[str, Sequence[float] | np.ndarray],
    *,
    scales: Mapping[str, Scale] | None = None,
    head: str | Html = "",
    marked: Sequence[bool] | None = None,
    unknown_words: Sequence[bool] | None = None,
    limit: int = LIMIT,
) -> Html:
    """One text, coloured.

    values         one number per token, or several rows of them by name: one row colours the words
                   themselves, several are aligned under their words as numbers
    scales         by row name; default: `Scale.of` the row
    head           a line above the text: a plain string is escaped, `Html` is used as it is
    marked         tokens to underline: a rationale
    unknown_words  tokens to show with a dotted line: not in the model's vocabulary
    limit          tokens shown; the rest is counted. Word pieces (`##ing`) are joined to their word
    """
    given = values if isinstance(values, Mapping) else {"weight": values}
    rows = {str(name): floats(row, f"row {name!r}") for name, row in given.items()}
    none = np.zeros(len(tokens), bool)
    marks = {"marked": marked, "unknown_words": unknown_words}
    marks = {name: none if row is None else np.asarray(row, bool) for name, row in marks.items()}
    for name, row in {**rows, **marks}.items():
        if row.shape != (len(tokens),):
            raise DataError(f"{name!r} has the shape {row.shape}, the text {len(tokens)} tokens: one each.")
    scales = {name: (scales or {}).get(name) or Scale.of(row) for name, row in rows.items()}
    limit, cells, numbers = max(limit, 1), [], len(rows) > 1
    for i, token in enumerate(tokens[:limit]):
        look = "".join(LOOKS[name] for name, row in marks.items() if row[i])
        cells.append(_cell(token, {name: row[i] for name, row in rows.items()}, scales, look, numbers))
    hidden = len(tokens) - limit
    if hidden > 0:
        shares = {n: row for n, row in rows.items() if (row >= 0).all() and abs(row.sum() - 1) < 1e-3}
        rest = [f"{row[limit:].sum():.0%} of the {n}" for n, row in shares.items()]
        told = f" with {' and '.join(rest)}" if rest else ""
        cells.append(f'<span style="font-style:italic;opacity:.8">… {hidden:,} more tokens{escape(told)}</span>')
    strip = "display:block;white-space:nowrap;font-size:.75em;line-height:1.7em;opacity:.85"
    names = "".join(f'<span style="{strip}">{escape(name)}</span>' for name in rows)
    gutter = f'<div style="flex:none;text-align:right"><span style="display:block">&nbsp;</span>{names}</div>'
    below = "".join(scales[name].legend(name) for name in rows)
    if marks["marked"][:limit].any():
        told = "<u>underlined</u>: marked as decisive"
        below += f'<span style="display:inline-block;margin-right:1.5em">{told}</span>'
    if marks["unknown_words"][:limit].any():
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


def _cell(token: str, values: dict[str, float], scales: Mapping[str, Scale], look: str, numbers: bool) -> str:
    """A token in its colour, or (`numbers`) above its numbers in theirs."""
    piece = token.startswith("##") and len(token) > 2
    shown = token[2:] if piece else token
    shown = shown if shown.strip() else "⏎" if "\n" in shown else "␣"
    told = escape(f"{shown}: " + ", ".join(f"{name} {number(value)}" for name, value in values.items()))
    word = f"<bdi>{escape(shown)}</bdi>"
    colours = {name: scales[name].colour(value) for name, value in values.items()}
    if not numbers:
        (colour,) = list(colours.values())[:1]
        return (
            f'{"" if piece else " "}<span title="{told}" style="background:{colour};padding:.1em .2em;'
            f'border-radius:.2em;box-decoration-break:clone;{look}">{word}</span>'
        )
    strips = "".join(
        f'<span style="display:block;font-size:.75em;line-height:1.7em;padding:0 .25em;min-width:2.6em;'
        f'font-variant-numeric:tabular-nums;background:{colours[name]}">{number(value)}</span>'
        for name, value in values.items()
    )
    return (
        f'<span title="{told}" style="display:inline-block;vertical-align:top;text-align:center;'
        f'margin:0 0 .5em {"0" if piece else ".3em"}"><span style="display:block;line-height:1.7em;padding:0 .1em">'
        f'<span style="{look}">{word}</span></span>{strips}</span>'
    )


def _as_text(tokens: Sequence[str], rows: dict[str, np.ndarray], head: str) -> str:
    told = (" ".join(f"{t}[{number(v)}]" for t, v in zip(tokens, row, strict=True)) for row in rows.values())
    return "\n".join([head] * bool(head) + [f"{name}: {line}" for name, line in zip(rows, told, strict=True)])
