"""A run's folder as `report.html`: a single file that loads nothing from anywhere.

What a notebook shows is either escaped here (texts, errors, tables of tidy frames) or comes from this library,
which escapes what it does not know. Scripts of outputs never run: the page's policy allows its own script alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from attnlib.reports import matrix, theme
from attnlib.reports.series import day, facts, papers, words
from attnlib.reports.theme import highlight, inline_svg, offline
from attnlib.utils import paths
from attnlib.utils.extras import needs
from attnlib.viz.prose import emphasised

DROPPED = {"injected-parameters", "remove_cell"}
"""Tags of cells that a report leaves out: parameters are in its header."""
PRIORITY = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex"]
MOVED = {"short": ("in-short", "In short"), "claims": ("ledger", "Claims")}
"""Parts of a notebook that its report shows at the top: their anchor and heading there."""
BESIDE = {"run.ipynb": "the executed notebook", "params.yaml": "its parameters", "tables": "all tables",
          "figures": "all figures"}  # fmt: skip
"""What may lie beside a report, and what it is."""


def report(folder: Path) -> str:
    """The HTML of a run's folder, from its `run.ipynb`, `run.json`, `claims.json` and `short.json`."""
    nbformat, _ = needs("nbformat", "notebooks"), needs("nbconvert", "notebooks")
    from nbconvert.filters.ansi import ansi2html, strip_ansi

    from attnlib.reports.markdown import Heading, markdown, maths

    notebook = nbformat.read(folder / "run.ipynb", as_version=4)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    claims, short = matrix.load(folder), matrix.load(folder, "short")
    opening = {"short": short, "claims": claims}
    headings = [Heading(2, title, anchor) for part, (anchor, title) in MOVED.items() if opening[part]]
    cells, anchors, said, title = [], set(), [], f"<h1>{escape(run['title'])}</h1>"
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", ()))
        if tags & DROPPED:
            continue
        if cell.cell_type == "markdown":
            cell.source = offline(markdown(cell.source, headings, folder=paths.notebooks(), trusted=True))
            if not cells and cell.source.startswith("<h1"):
                head, end, cell.source = cell.source.partition("</h1>")
                title = head + end
        elif cell.cell_type == "code":
            said += [output.text for output in cell.outputs if output.get("name") == "stderr"]
            kept = [output for output in cell.outputs if _shown(output)] if "remove_output" not in tags else []
            cell.outputs = [_placed(output, claims, anchors) for output in kept]
            cell.source = "" if "remove_input" in tags else cell.source
        cells.append(cell)
    empty = _empty(cells)
    cells = [cell for cell in cells if not any(cell is one for one in empty)]
    top = theme.fill(
        "top.html.j2",
        run=run,
        facts=facts(run),
        notes=theme.notes(said),
        papers=papers(run),
        date=day(run["date"]),
        ledger=matrix.matrix_html(claims, anchors) if claims else "",
        short=theme.fill("short.html.j2", sentences=[emphasised(one) for one in short], style="") if short else "",
        tally=matrix.tally(claims),
        signs=matrix.VERDICTS,
        words=words,
    )
    moved = {heading.html: heading for heading in headings if heading.anchor in {a for a, _ in MOVED.values()}}
    explores = any(_explores(output) for cell in cells for output in cell.get("outputs", ()))
    drawn = count()
    html = theme.fill(
        "report.html.j2",
        run=run,
        title=title,
        top=top,
        contents=[
            h
            for h in headings
            if h.level in (2, 3)
            and moved.get(h.html, h) is h  # a moved part once
            and not any(f'id="{h.anchor}"' in cell.source for cell in empty)
        ],
        number=re.match(r"\d*", run["notebook"])[0],
        beside=[(what, name) for name, what in BESIDE.items() if (folder / name).exists()],
        cells=cells,
        best=lambda data: next((kind for kind in PRIORITY if kind in data), ""),
        offline=offline,
        terminal=lambda text: offline(ansi2html(text)),
        plain=strip_ansi,
        svg=lambda text: inline_svg(text, f"svg{next(drawn)}"),
        markdown=lambda text: offline(markdown(text, trusted=False)),
        latex=lambda text: maths(text.strip().strip("$"), block=True),
        highlight=highlight,
        **theme.assets(explorer=explores),
    )
    return theme.minus(html)


def _shown(output: Any) -> bool:
    """Whether a report shows an output of a cell where it stands; what was printed loses its reprs here."""
    if output.output_type == "stream":
        output.text = "" if output.name == "stderr" else theme.without_reprs(output.text)
    moved = output.get("metadata", {}).get("attnlib", {}).get("part") in MOVED
    return theme.says_something(output) and not moved


def _empty(cells: Sequence[Any]) -> list[Any]:
    """Cells with a heading alone and nothing to see before the next heading of its level, or above."""
    found: list[Any] = []
    seen: int | None = None  # the level of the heading that comes next; 0: something else; None: the end
    for cell in reversed(cells):
        level = re.match(r"\s*<h(\d)", cell.source) if cell.cell_type == "markdown" else None
        alone = level and re.fullmatch(r"\s*<h(\d).*?</h\1>\s*", cell.source, re.DOTALL)
        if alone and (seen is None or 0 < seen <= int(level[1])):
            found.append(cell)
        elif level:
            seen = int(level[1])
        elif cell.cell_type == "markdown" or cell.get("outputs"):
            seen = 0
    return found


def _explores(output: Any) -> bool:
    return 'class="attnlib-explorer"' in "".join(output.get("data", {}).get("text/html", ""))


def _placed(output: Any, claims: Sequence[matrix.Claim], anchors: set[str]) -> Any:
    """An output as the report shows it: a figure or table linked to its claims."""
    mark = output.get("metadata", {}).get("attnlib", {})
    if name := mark.get("name"):
        anchors.add(f"{mark['kind']}-{name}")
        body, end, rest = output.data["text/html"].rpartition("</figure>")
        output.data["text/html"] = body + matrix.back_links(claims, name) + end + rest
    return output
