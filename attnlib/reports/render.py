"""A run's folder as `report.html`: a single file that loads nothing from anywhere.

What a notebook shows is either escaped here (texts, errors, tables of tidy frames) or comes from this library,
which escapes what it does not know. The page's policy allows its own script alone, and no address outside. Maths
becomes MathML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from html import escape
from itertools import count
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import nbformat
from nbconvert.filters.ansi import ansi2html, strip_ansi
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from attnlib.reports import matrix, theme
from attnlib.reports.series import day, facts, papers, words
from attnlib.viz.prose import emphasised

DROPPED = {"injected-parameters", "remove_cell"}
"""Tags of cells that a report leaves out: parameters are in its header."""
PRIORITY = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown"]
MOVED = {"short": ("in-short", "In short"), "claims": ("ledger", "Claims")}
"""Parts of a notebook that its report shows at the top: their anchor and heading there."""


def report(folder: Path) -> str:
    """The HTML of a run's folder, from its `run.ipynb`, `run.json`, `claims.json` and `short.json`."""
    notebook = nbformat.read(folder / "run.ipynb", as_version=4)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    opening = {part: matrix.load(folder, part) for part in MOVED}
    claims, short = opening["claims"], opening["short"]
    contents = [("2", *MOVED[part]) for part in MOVED if opening[part]]
    headings = {anchor for _, anchor, _ in contents}
    cells, anchors, title = [], set(), f"<h1>{escape(run['title'])}</h1>"
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", ()))
        if tags & DROPPED:
            continue
        if cell.cell_type == "markdown":
            cell.source = markdown(cell.source, headings, trusted=True)
            if not cells and cell.source.startswith("<h1"):
                head, end, cell.source = cell.source.partition("</h1>")
                title = head + end
            known = {text for _, _, text in contents}
            found = re.findall(r'<h([23]) id="([^"]+)">(.*?)<a class="anchor"', cell.source)
            contents += [heading for heading in found if heading[2] not in known]
        elif cell.cell_type == "code":
            kept = [output for output in cell.outputs if _shown(output)] if "remove_output" not in tags else []
            cell.outputs = [_placed(output, claims, anchors) for output in kept]
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
    shown = [output.get("data", {}).get("text/html", "") for cell in cells for output in cell.get("outputs", ())]
    drawn = count()
    html = theme.fill(
        "report.html.j2",
        run=run,
        title=title,
        top=top,
        contents=contents,
        number=re.match(r"\d*", run["notebook"])[0],
        cells=cells,
        best=_best,
        terminal=ansi2html,
        plain=strip_ansi,
        svg=lambda text: theme.inline_svg(text, f"svg{next(drawn)}"),
        markdown=lambda text: markdown(text, trusted=False),
        **theme.assets(explorer=any('class="attnlib-explorer"' in html for html in shown)),
    )
    return theme.minus(html)


def _best(data: dict[str, Any]) -> str:
    """The type of an output that a report shows; what Python says of an object and widgets are not for readers."""
    return next((kind for kind in PRIORITY if kind in data), "")


def _shown(output: Any) -> bool:
    """Whether a report shows an output of a cell where it stands."""
    if output.output_type == "stream":
        return output.name == "stdout" and bool(output.text.strip())
    moved = output.get("metadata", {}).get("attnlib", {}).get("part") in MOVED
    return output.output_type == "error" or (bool(_best(output.data)) and not moved)


def _placed(output: Any, claims: Sequence[matrix.Claim], anchors: set[str]) -> Any:
    """An output as the report shows it: a figure or table linked to its claims."""
    mark = output.get("metadata", {}).get("attnlib", {})
    if name := mark.get("name"):
        anchors.add(f"{mark['kind']}-{name}")
        body, end, rest = output.data["text/html"].rpartition("</figure>")
        output.data["text/html"] = body + matrix.back_links(claims, name) + end + rest
    return output


def maths(latex: str, *, block: bool = False) -> str:
    """LaTeX as MathML; what the converter does not know is shown as its source."""
    from latex2mathml.converter import convert

    source = re.sub(r"\\arg\s*\\(min|max)\b", r"\\arg\1", latex.strip())
    try:
        found = convert(source, display="block" if block else "inline")
        tree = ElementTree.fromstring(re.sub(r'\sxmlns="[^"]*"', "", found))  # HTML knows the namespace by itself
        if any(not re.fullmatch(r"m[a-z]+", node.tag) or "\\" in (node.text or "") for node in tree.iter()):
            raise ValueError("not understood")
        html = ElementTree.tostring(tree, encoding="unicode")
    except Exception:  # its errors have no common base, and a formula must never cost the report
        html = f"<code>{escape(latex.strip())}</code>"
    return f'<span class="maths">{html}</span>' if block else html  # a div would end the paragraph it is in


def markdown(source: str, anchors: set[str] | None = None, *, trusted: bool) -> str:
    """Markdown as HTML. Raw HTML passes only in the kit's own texts (`trusted`).

    anchors: those of headings, which grow, and stay unique over a whole notebook.
    """
    renderer = _Renderer(set() if anchors is None else anchors, trusted)
    return MarkdownWithMath(renderer=renderer).render(source)


class _Renderer(IPythonRenderer):
    def __init__(self, anchors: set[str], trusted: bool) -> None:
        super().__init__(escape=not trusted, allow_harmful_protocols=False)
        self.anchors = anchors

    def heading(self, text: str, level: int, **attrs: object) -> str:
        stem = re.sub(r"[^\w]+", "-", re.sub(r"<[^>]*>|&#?\w+;", "", text).lower()).strip("-") or "section"
        names = (stem, *(f"{stem}-{n}" for n in range(2, 1000)))
        anchor = next(name for name in names if name not in self.anchors)
        self.anchors.add(anchor)
        mark = f'<a class="anchor" href="#{anchor}" aria-label="Link to this section">#</a>'
        return f'<h{level} id="{anchor}">{text}{mark if level > 1 else ""}</h{level}>\n'

    def block_math(self, body: str) -> str:
        return maths(body, block=True)

    def inline_math(self, body: str) -> str:
        return maths(body)

    def latex_environment(self, name: str, body: str) -> str:
        return maths(rf"\begin{{{name}}}{body}\end{{{name}}}", block=True)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if re.match(r"#|https?://", url):
            return super().link(text, url, title)
        return f'<span class="place">{text}</span>'  # a path that leads nowhere from a file sent by mail
