"""What a finished report shows, as files for a paper: tables as csv or LaTeX, figures as SVG, PNG or PDF."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path

from attnlib.reports.latex import heatmaps_latex, table_latex
from attnlib.reports.tabular import with_index
from attnlib.utils import files
from attnlib.utils.errors import ConfigError, UnknownName, one_of, unknown

TABLES = {"csv": "csv", "latex": "tex"}
FIGURES = ("svg", "png", "pdf")
FORMATS = (*TABLES, *FIGURES)


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
