"""What a finished report shows, as files for a paper: tables as csv or LaTeX, figures as SVG, PNG or PDF.

LaTeX takes `booktabs` for tables and `xcolor` for heat maps.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.reports.tabular import column_cells, is_number, with_index
from attnlib.utils import files
from attnlib.utils.errors import ConfigError, UnknownName, one_of, unknown
from attnlib.utils.extras import needs

if TYPE_CHECKING:
    import pandas as pd

TABLES = {"csv": "csv", "latex": "tex"}
FIGURES = ("svg", "png", "pdf")
FORMATS = (*TABLES, *FIGURES)
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


def folder_of(report: Path, reports: Path = Path("reports")) -> Path:
    """The folder of a report, named by it, by its report.html, or as `01_tasc/cpu` within `reports`."""
    for place in (report, report.parent if report.name == "report.html" else report, reports / report):
        if (place / "run.json").is_file():
            return place
    raise ConfigError(
        f"{report} is no finished report. Name its folder, such as reports/01_tasc/cpu, as `attnlib run` wrote it."
    )


def export(folder: Path, to: str, out: Path | None = None, only: Collection[str] = ()) -> list[Path]:
    """Write every table or figure of a report (or `only` some, by name) in a format; returns the files.

    to    csv, latex (tables with booktabs; heat maps as coloured words), svg, png or pdf
    out   where to; None: `<report>/export`
    """
    one_of("format", to, FORMATS)
    found = _tables(folder, to) if to in TABLES else _figures(folder, to)
    for name in only:
        if name not in found:
            kind = "table" if to in TABLES else "figure"
            raise UnknownName(unknown(f"{kind} of this report", name, sorted(found)))
    out = folder / "export" if out is None else out
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name in dict.fromkeys(only) or found:
        written.append(out / f"{name}.{TABLES.get(to, to)}")
        files.write(written[-1], found[name])
    return written


def _tables(folder: Path, to: str) -> dict[str, str]:
    import pandas as pd

    found = {}
    for file in sorted((folder / "tables").glob("*.parquet")):
        frame = with_index(pd.read_parquet(file))
        found[file.stem] = frame.to_csv(index=False) if to == "csv" else table_latex(frame)
    if to == "latex":
        maps = [one for html in shown(folder) for one in heatmaps_latex(html)]
        found |= {f"heatmap_{number}": text for number, text in enumerate(maps, start=1)}
    return found


def shown(folder: Path) -> list[str]:
    """The HTML that the cells of a run show, one text per output."""
    cells = json.loads((folder / "run.ipynb").read_bytes())["cells"]
    outputs = [output for cell in cells for output in cell.get("outputs", ())]
    return ["".join(output.get("data", {}).get("text/html", "")) for output in outputs]


def _figures(folder: Path, to: str) -> dict[str, bytes]:
    drawn = {file.stem: file.with_suffix(f".{to}") for file in sorted((folder / "figures").glob("*.svg"))}
    if lost := [name for name, file in drawn.items() if not file.is_file()]:
        raise ConfigError(
            f"This report has no {to} of {lost[0]}: it was made by an earlier version, or by hand. Run it again "
            "with `attnlib run`, or export svg."
        )
    return {name: file.read_bytes() for name, file in drawn.items()}


def escaped(text: str) -> str:
    r"""A text as LaTeX shows it: special characters escaped, letters of formulas in mathematics.

    >>> escaped("50% of α∇α")
    '50\\% of $\\alpha$$\\nabla$$\\alpha$'
    """
    return "".join(f"${MATHS[c]}$" if c in MATHS else SPECIAL.get(c, c) for c in text)


def table_latex(frame: pd.DataFrame, digits: int = 3) -> str:
    """A table as a `tabular` with the rules of booktabs: names to the left, numbers to the right, every column."""
    import pandas as pd

    kinds = "".join("r" if is_number(frame[c]) else "l" for c in frame)
    heads = [escaped(str(c).replace("_", " ")) for c in frame]
    cells = {k: [escaped(text) for text in column_cells(frame[c], digits)] for k, c in enumerate(frame)}
    rows = pd.DataFrame(cells).to_latex(index=False, escape=False, header=heads, column_format=kinds)
    return "% \\usepackage{booktabs}\n" + rows


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
