"""Tables and heat maps as LaTeX: `booktabs` for the one, `xcolor` for the other."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from attnlib.reports.tabular import column_cells, is_number
from attnlib.utils.extras import needs

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
    kinds = "".join("r" if is_number(frame[c]) else "l" for c in frame)
    cells = [[escaped(text) for text in column_cells(frame[c], digits)] for c in frame]
    lines = [
        r"% \usepackage{booktabs}",
        rf"\begin{{tabular}}{{{kinds}}}",
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
    page = needs("bs4", "notebooks").BeautifulSoup(html, "html.parser")
    maps = page.select('div[role="figure"][aria-label*="coloured by"]')
    return [_map(tokens) for one in maps if (tokens := one.select("span[title]"))]


def _map(tokens: Iterable[Any]) -> str:
    """One box per token: a span with a title and a background, or with a number per row in spans of their own."""
    lines = [r"% \usepackage{xcolor}", r"\begin{flushleft}\setlength{\fboxsep}{1.5pt}"]
    for token in tokens:
        word = rf"\strut {escaped(token.bdi.get_text())}"
        own = _blended(token["style"])
        numbers = [_box(_blended(row["style"]), row.get_text()) for row in token.select('[style*="tabular-nums"]')]
        rows = "".join(rf"\\{number}" for number in numbers)
        lines.append(rf"\shortstack{{{word}{rows}}}" if own is None else rf"\colorbox[RGB]{{{own}}}{{{word}}}")
    return "\n".join([*lines, r"\end{flushleft}"]) + "\n"


def _box(colour: str | None, text: str) -> str:
    small = rf"\tiny {escaped(text)}"
    return small if colour is None else rf"\colorbox[RGB]{{{colour}}}{{{small}}}"


def _blended(style: str) -> str | None:
    """The background of a style on white paper, as `r,g,b`; None where it has none."""
    found = re.search(r"background:rgba\((\d+),(\d+),(\d+),([\d.]+)\)", style)
    if found is None:
        return None
    strength = float(found[4])
    return ",".join(str(round(255 - strength * (255 - int(found[k])))) for k in (1, 2, 3))
