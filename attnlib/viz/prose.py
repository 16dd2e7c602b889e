"""What is computed from data and said on a page: sentences, and effects with their intervals, as escaped HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from html import escape
from itertools import chain

_BOLD = re.compile(r"\*\*(.+?)\*\*")
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])+)\]\((#[\w.-]+|(?:\.\./)+[\w./-]+(?:#[\w.-]+)?)\)")
"""`[words](#figure-flips)`, or a report next to this one: nothing outside can be linked to."""
WIDTH, HEIGHT, MARGIN = 150, 24, 8
"""Size of the picture of an interval, in pixels."""


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


def emphasised(sentence: str) -> str:
    """A sentence as HTML: `**words**` are bold, `[words](#anchor)` a link, `[0.05, 0.19]` stays on one line.

    A link leads to a place of the page or to another report (`../../01_tasc/cpu/report.html`); all else is shown as
    it is.

    >>> emphasised("**Yes**: [0.2 [0.1, 0.3]](#figure-flips) < 1")
    '<b>Yes</b>: <a href="#figure-flips">0.2 [0.1,\xa00.3]</a> &lt; 1'
    """
    whole = re.sub(r"(?<=\[)(-?[\d.]+), (-?[\d.]+)(?=\])", "\\1,\N{NO-BREAK SPACE}\\2", sentence)
    return _LINK.sub(r'<a href="\2">\1</a>', _BOLD.sub(r"<b>\1</b>", escape(whole, quote=False)))


def plain(sentence: str) -> str:
    """The same without any marks, for a terminal."""
    return _LINK.sub(r"\1", _BOLD.sub(r"\1", sentence))


def say(*sentences: str) -> Html:
    """One paragraph per group of sentences, marked up as in `emphasised`."""
    html = "".join(f"<p>{emphasised(sentence)}</p>" for sentence in sentences)
    return Html(f'<div class="prose" style="max-width:46rem">{html}</div>', "\n".join(map(plain, sentences)))


def interval(
    effect: float,
    ends: tuple[float, float] | None,
    borders: Sequence[float],
    sides: Mapping[str, tuple[float | None, float | None]],
    *,
    kind: str,
    told: str,
    paper: float | None = None,
) -> str:
    """An effect on its own axis, as SVG: dot, interval, the borders that judge it, the paper's value as a diamond.

    sides  parts of the axis to shade: class -> where it starts and ends; None is the end of the axis
    kind   the verdict, as a class of the picture; told: the same in words

    >>> drawn = interval(0.1, (0.0, 0.2), [0.0], {"claimed": (0.0, None)}, kind="reproduced", told="0.1 [0.0, 0.2]")
    >>> drawn.count("<line"), drawn.count("<circle")
    (4, 1)
    """
    found = (effect, paper, *(ends or ()), *borders, *chain(*sides.values()))
    marks = [value for value in found if value is not None]
    start, span = min(marks), (max(marks) - min(marks)) or 1.0

    def x(value: float) -> float:
        return round(MARGIN + (value - start) / span * (WIDTH - 2 * MARGIN), 1)

    def upright(name: str, at: float, low: float, high: float, more: str = "") -> str:
        return f'<line class="{name}" x1="{at}" x2="{at}" y1="{low}" y2="{high}"{more}/>'

    middle, parts = HEIGHT / 2, []
    for name, (first, last) in sides.items():
        left, right = 0 if first is None else x(first), WIDTH if last is None else x(last)
        parts.append(f'<rect class="{name}" x="{left}" y="0" width="{right - left}" height="{HEIGHT}"/>')
    parts += [upright("border", x(at), 0, HEIGHT, ' stroke-dasharray="3 2"' * (at != 0)) for at in borders]
    if ends is not None:
        low, high = map(x, ends)
        parts.append(f'<line class="ours" x1="{low}" x2="{high}" y1="{middle}" y2="{middle}"/>')
        parts += [upright("ours", at, middle - 4, middle + 4) for at in (low, high)]
    parts.append(f'<circle class="dot" cx="{x(effect)}" cy="{middle}" r="4"/>')
    if paper is not None:
        parts.append(f'<path class="paper" d="M{x(paper)} {middle - 6}l6 6 -6 6 -6 -6z"/>')
    said = escape(told)
    return (
        f'<svg class="interval {kind.replace(" ", "-")}" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{said}"><title>{said}</title>{"".join(parts)}</svg>'
    )
