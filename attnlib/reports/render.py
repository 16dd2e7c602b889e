"""A run's folder as `report.html`: a single file that loads nothing from anywhere.

What a notebook shows is either escaped here (texts, errors, tables of tidy frames) or comes from this library,
which escapes what it does not know. Scripts of outputs never run: the page's policy allows its own script alone.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any

from attnlib.reports import matrix, theme
from attnlib.reports.series import day, facts, navigation, papers, words
from attnlib.reports.theme import highlight, inline_svg, offline, placeless, says_something
from attnlib.utils import paths
from attnlib.utils.extras import needs
from attnlib.viz.prose import emphasised

DROPPED = {"injected-parameters", "remove_cell"}
"""Tags of cells that a report leaves out: parameters are in its header."""
PRIORITY = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain"]
MOVED = {"short": ("in-short", "In short"), "claims": ("ledger", "Claims")}
"""Parts of a notebook that its report shows at the top: their anchor and heading there."""


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
    cells, anchors, title = [], set(), f"<h1>{escape(run['title'])}</h1>"
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
            for output in cell.outputs:
                if output.get("name") == "stderr":
                    output.text = placeless(output.text)
            kept = "remove_output" not in tags
            cell.outputs = [_placed(o, claims, anchors) for o in cell.outputs if kept and says_something(o)]
            cell.source = "" if "remove_input" in tags else cell.source
        cells.append(cell)
    top = theme.fill(
        "top.html.j2",
        run=run,
        facts=facts(run),
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
    return theme.fill(
        "report.html.j2",
        run=run,
        title=title,
        top=top,
        contents=[h for h in headings if h.level in (2, 3) and moved.get(h.html, h) is h],  # a moved part once
        series=navigation(folder, run),
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


def _explores(output: Any) -> bool:
    return 'class="attnlib-explorer"' in "".join(output.get("data", {}).get("text/html", ""))


def _placed(output: Any, claims: Sequence[matrix.Claim], anchors: set[str]) -> Any:
    """An output as the report shows it: linked to its claims, or, if it is shown at the top, a link to there."""
    mark = output.get("metadata", {}).get("attnlib", {})
    if part := MOVED.get(mark.get("part")):
        output.data["text/html"] = (
            f'<p class="note">See <a href="#{part[0]}">{part[1]}</a> at the top of this report.</p>'
        )
    elif name := mark.get("name"):
        anchors.add(f"{mark['kind']}-{name}")
        body, end, rest = output.data["text/html"].rpartition("</figure>")
        output.data["text/html"] = body + matrix.back_links(claims, name) + end + rest
    return output
