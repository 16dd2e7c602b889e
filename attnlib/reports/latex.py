"""Tables and heat maps as LaTeX: `booktabs` for the one, `xcolor` for the other."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

from attnlib.reports.tabular import column_cells

if TYPE_CHECKING:
    import pandas as pd

SPECIAL = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "–": "--", "—": "---", "…": r"\dots{}", "\N{NO-BREAK SPACE}": "~",
}  # fmt: skip
MATHS = {
    "α": r"\alpha", "β": r"\beta", "δ": r"\delta", "Δ": r"\Delta", "λ": r"\lambda", "η": r"\eta", "τ": r"\tau",
    "∇": r"\nabla", "×": r"\times", "−": "-", "±": r"\pm", "≥": r"\geq", "≤": r"\leq", "∞": r"\infty",
    "·": r"\cdot", "→": r"\to", "√": r"\surd", "ŷ": r"\hat y", "∑": r"\sum", "Σ": r"\Sigma",
}  # fmt: skip


def escaped(text: str) -> str:
    r"""A text as LaTeX shows it: special characters escaped, letters of formulas in mathematics.

    >>> escaped("50% of α∇α")
    '50\\% of $\\alpha$$\\nabla$$\\alpha$'
    """
    return "".join(f"${MATHS[c]}$" if c in MATHS else SPECIAL.get(c, c) for c in text)


def table_latex(frame: pd.DataFrame, digits: int = 3) -> str:
    """A table as a `tabular` with the rules of booktabs: names to the left, numbers to the right, every column."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    numeric = [is_numeric_dtype(frame[c]) and not is_bool_dtype(frame[c]) for c in frame]
    cells = [[escaped(text) for text in column_cells(frame[c], digits)] for c in frame]
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{''.join('r' if right else 'l' for right in numeric)}}}",
        r"\toprule",
        " & ".join(escaped(str(c).replace("_", " ")) for c in frame) + r" \\",
        r"\midrule",
        *(" & ".join(row) + r" \\" for row in zip(*cells, strict=True)),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def heatmaps_latex(html: str) -> list[str]:
    """The heat maps of a page (`al.heatmap`), one LaTeX text each: coloured words, or numbers below their words."""
    reader = _Maps()
    reader.feed(html)
    return [_map(tokens) for tokens in reader.maps if tokens]


def _map(tokens: list[dict[str, Any]]) -> str:
    lines = [r"% \usepackage{xcolor}", r"\begin{flushleft}\setlength{\fboxsep}{1.5pt}"]
    for token in tokens:
        word = rf"\strut {escaped(token['word'])}"
        boxes = [(colour, escaped(said)) for colour, said in token["rows"]]
        if token["own"] is not None:
            lines.append(rf"\colorbox[RGB]{{{token['own']}}}{{{word}}}")
        else:
            rows = "".join(r"\\" + _box(colour, said) for colour, said in boxes)
            lines.append(rf"\shortstack{{{word}{rows}}}")
    return "\n".join([*lines, r"\end{flushleft}"]) + "\n"


def _box(colour: str | None, text: str) -> str:
    small = rf"\tiny {text}"
    return small if colour is None else rf"\colorbox[RGB]{{{colour}}}{{{small}}}"


class _Maps(HTMLParser):
    """Reads heat maps: a `role="figure"`, in it a span with a title per token, its colours in styles."""

    def __init__(self) -> None:
        super().__init__()
        self.maps: list[list[dict[str, Any]]] = []
        self.depth, self.inside, self.token, self.word = 0, False, None, False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "div" and given.get("role") == "figure" and "coloured by" in (given.get("aria-label") or ""):
            self.maps.append([])
        if tag == "bdi" and self.token is not None:
            self.word = True
        if tag != "span" or not self.maps:
            return
        style = given.get("style") or ""
        if self.token is not None:
            self.depth += 1
            if "tabular-nums" in style:
                self.token["rows"].append([_blended(style), ""])
        elif given.get("title"):
            self.token, self.depth = {"word": "", "rows": [], "own": _blended(style)}, 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "bdi":
            self.word = False
        if tag == "span" and self.token is not None:
            self.depth -= 1
            if not self.depth:
                self.maps[-1].append(self.token)
                self.token = None

    def handle_data(self, data: str) -> None:
        if self.token is None:
            return
        if self.word:
            self.token["word"] += data
        elif self.token["rows"]:
            self.token["rows"][-1][1] += data


def _blended(style: str) -> str | None:
    """The background of a style on white paper, as `r,g,b`; None where it has none."""
    found = re.search(r"background:rgba\((\d+),(\d+),(\d+),([\d.]+)\)", style)
    if found is None:
        return None
    strength = float(found[4])
    return ",".join(str(round(255 - strength * (255 - int(found[k])))) for k in (1, 2, 3))
