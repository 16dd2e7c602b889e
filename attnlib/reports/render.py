"""A run's folder as `report.html`, all runs as `index.html`: single files that load nothing from anywhere.

What a notebook shows is either escaped here (texts, errors, tables of tidy frames) or comes from this library,
which escapes what it does not know. Scripts of outputs never run: the page's policy allows its own script alone.
"""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import re
import warnings
from collections import Counter
from datetime import datetime
from functools import cache
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from attnlib.utils.files import FAILED, UNFINISHED
from attnlib.utils.text import duration, filesize

TEMPLATES = Path(__file__).resolve().parent / "templates"
DROPPED = {"injected-parameters", "remove_cell", "papermill-error-cell-tag"}
"""Tags of cells that a report leaves out: parameters are in its header, errors in a box of their own."""
WIDGET = "application/vnd.jupyter.widget-view+json"
PRIORITY = ["text/html", "image/svg+xml", "image/png", "image/jpeg", "text/markdown", "text/latex", "text/plain"]
VERDICTS = {"reproduced": "✓", "not reproduced": "✗", "undetermined": "?", "not tested": "–"}
"""A sign next to each colour, for those who do not see the colour."""
PAGE = {"#ffffff": "var(--c0)", "#000000": "currentColor", "#d9d9d9": "var(--c1)", "#666666": "var(--c2)"}
"""Colours of a chart that follow the page; series keep theirs."""
PAGE_STYLE = (
    "fill:currentColor;--c0:var(--paper,var(--jp-layout-color0,#fff));"
    "--c1:var(--line,var(--jp-border-color2,#d9d9d9));--c2:var(--soft,var(--jp-ui-font-color2,#666))"
)
"""Said once per chart: the colours of a report, else those of JupyterLab, else those it was drawn in."""


def report(folder: Path) -> str:
    """The HTML of a run's folder, from its `run.ipynb`, `run.json` and `claims.json`."""
    import nbformat

    from attnlib.reports.markdown import Heading, markdown

    notebook = nbformat.read(folder / "run.ipynb", as_version=4)
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    notebook.metadata.pop("widgets", None)
    headings: list[Heading] = []
    cells = []
    for cell in notebook.cells:
        tags = set(cell.metadata.get("tags", ()))
        if tags & DROPPED:
            continue
        if cell.cell_type == "markdown":
            cell.source = offline(markdown(cell.source, headings, folder=_images(), trusted=True))
        elif cell.cell_type == "code":
            for output in cell.outputs:
                if output.get("name") == "stderr":
                    output.text = placeless(output.text)
            kept = "remove_output" not in tags
            cell.outputs = [output for output in cell.outputs if kept and says_something(output)]
            cell.source = "" if "remove_input" in tags else cell.source
        cells.append(cell)
    notebook.cells = cells
    contents = [heading for heading in headings if heading.level in (2, 3)]
    page = {"run": run, "facts": facts(run), "contents": contents, "verdicts": summary(folder), **_assets()}
    html, _ = _exporter().from_notebook_node(notebook, resources={"page": page})
    return html


def index(out: Path) -> str:
    """The HTML of a list of all runs under `out`, by notebook and profile."""
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    runs = []
    for file in sorted(out.glob("*/*/run.json")):
        if UNFINISHED.fullmatch(file.parent.name):
            continue
        try:
            runs.append(_card(file.parent, out))
        except FileNotFoundError:
            continue  # another process puts a new report in its place just now: its own index will name it
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            reason = f"{type(error).__name__}: {error}"
            warnings.warn(f"{file.parent} is left out of the index: it cannot be read ({reason}).", stacklevel=2)
    jinja = Environment(loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined)
    return jinja.get_template("runs.html.j2").render(runs=runs, **_assets())


def _card(folder: Path, out: Path) -> dict[str, Any]:
    """What the index says of a run; any error where its files are damaged."""
    run = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    own = [f"{name} {_words(run['parameters'][name])}" for name in run.get("own") or ()]
    return {
        **{key: str(run[key]) for key in ("title", "notebook", "status")},
        "cell": run.get("cell") and f"{int(run['cell'])} of {int(run['total'])}",
        "folder": folder.name.removesuffix(FAILED),
        "own": ", ".join(own),
        "date": day(run["date"]),
        "took": duration(run["seconds"]),
        "link": folder.relative_to(out).as_posix() + "/report.html",
        "size": filesize((folder / "report.html").stat().st_size),
        "verdicts": summary(folder),
    }


def facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report's header."""
    said = (run.get("header") or {}).items()
    header = {name: value for name, value in said if value not in (None, "", "none", [])}
    found = [("Notebook", run["notebook"]), ("Profile", run["profile"])]
    found += [(name.replace("_", " ").capitalize(), _words(value)) for name, value in header.items()]
    found += [("Duration", duration(run["seconds"])), ("Date", day(run["date"]))]
    if run.get("commit"):
        found.append(("Commit", run["commit"].replace("+", " with changes")))
    return [*found, ("Versions", " · ".join(f"{name} {number}" for name, number in run["versions"].items()))]


def summary(folder: Path) -> dict[str, int]:
    """How many claims got which verdict."""
    file = folder / "claims.json"
    claims = json.loads(file.read_text(encoding="utf-8")) if file.exists() else []
    counts = Counter(claim["verdict"] for claim in claims)
    return {verdict: counts[verdict] for verdict in VERDICTS if counts[verdict]}


def versions() -> dict[str, str]:
    """Of what the numbers may depend on; read from the installed packages, nothing is imported."""
    found = {"attnlib": _attnlib(), "Python": platform.python_version()}
    for package in ("torch", "numpy", "transformers"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def offline(html: str) -> str:
    """HTML whose tags load nothing: attributes and styles with an external address are taken out."""
    return re.sub(r"<[a-zA-Z][^<>]*>", lambda tag: _LOADS.sub("", tag[0]), html)


_LOADS = re.compile(
    r"""\s(?:src|srcset|href|xlink:href|action|formaction|poster|data|background|cite|longdesc|ping)\s*=\s*"""
    r"""(?:"\s*(?:[a-z][a-z0-9+.-]*:)?//[^"]*"|'\s*(?:[a-z][a-z0-9+.-]*:)?//[^']*'|(?:[a-z][a-z0-9+.-]*:)?//[^\s>]*)"""
    r"""|\sxmlns(?::\w+)?\s*=\s*(?:"[^"]*"|'[^']*')""",
    re.IGNORECASE,
)


def placeless(text: str) -> str:
    """What a notebook wrote to standard error, for readers of its report.

    Warnings of other libraries are left out: they speak to programmers. Ours stay, without file, line and category.
    """
    text = _WARNING.sub(lambda found: "" if _LIBRARY.search(found["file"]) else found["said"] + "\n", text)
    return re.sub(r"(?<![\w.:/])(?:/(?!/)[\w.+-]+){2,}/(?=[\w.+-])", "", text)


_WARNING = re.compile(r"^(?P<file>\S[^:\n]*\.py):\d+: \w*Warning: (?P<said>.*)\n(?:  .*\n)?", re.MULTILINE)
_LIBRARY = re.compile(r"site-packages|dist-packages|[\\/]lib[\\/]python")


def says_something(output: Any) -> bool:
    """Whether an output of a cell is meant for readers: not a widget, not the bare repr of an object."""
    data = output.get("data")
    if output.output_type == "stream":
        return bool(output.text.strip())
    if data is None:
        return True
    return WIDGET not in data and not (set(data) == {"text/plain"} and _REPR.fullmatch(data["text/plain"].strip()))


_REPR = re.compile(
    r"\[*\(*<[^<>]*(?: at 0x[0-9a-f]+|Axes[^<>]*|Figure[^<>]*)>.*|(?:Text|Axes|Figure)\(.*\)", re.DOTALL
)


def inline_svg(svg: str, prefix: str) -> str:
    """An SVG file as part of a page: without its XML head and metadata, its ids made unique by `prefix`.

    Black, white and the greys of axes become the colours of the page, of a report or of JupyterLab, light or dark.
    """
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE[^>]*>|<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href=", "href=")
    svg = re.sub(r'\sid="([^"]+)"', rf' id="{prefix}-\1"', svg)
    svg = re.sub(r'\shref="#([^"]+)"', rf' href="#{prefix}-\1"', svg)
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r"(?<=fill: |roke: )#[0-9a-f]{6}", lambda found: PAGE.get(found[0], found[0]), svg)
    return offline(svg).strip().replace("<svg ", f'<svg style="{PAGE_STYLE}" ', 1)


def day(date: str) -> str:
    """`16 November 2025, 14:05 UTC`."""
    moment = datetime.fromisoformat(date)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def _exporter() -> Any:
    from nbconvert.exporters.templateexporter import TemplateExporter
    from nbconvert.filters import ansi2html, strip_ansi

    from attnlib.reports.markdown import markdown, maths

    counter = iter(range(10**9))
    exporter = TemplateExporter(
        template_name="report", extra_template_basedirs=[str(TEMPLATES)], file_extension=".html", preprocessors=[]
    )
    exporter.default_preprocessors = []
    exporter.display_data_priority = PRIORITY
    for name, action in {
        "offline": offline,
        "terminal": lambda text: offline(ansi2html(text)),
        "plain": lambda text: escape(strip_ansi(text)),
        "svg": lambda text: inline_svg(text, f"svg{next(counter)}"),
        "markdown": lambda text: offline(markdown(text, trusted=False)),
        "latex": lambda text: maths(text.strip().strip("$"), block=True),
        "python": highlight,
        "value": lambda value: escape(_words(value)),
    }.items():
        exporter.register_filter(name, action)
    return exporter


def highlight(code: str) -> str:
    """Python as HTML with Pygments' short classes."""
    from pygments import highlight as colour
    from pygments.formatters import HtmlFormatter
    from pygments.lexers import get_lexer_by_name

    return colour(code, get_lexer_by_name("ipython3"), HtmlFormatter(nowrap=True))


@cache
def _assets() -> dict[str, str]:
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return {"style": style, "script": script, "policy": policy, "signs": VERDICTS}


def _images() -> Path:
    from attnlib.utils import paths

    return paths.notebooks()


def _attnlib() -> str:
    from attnlib import __version__

    return __version__


def _words(value: Any) -> str:
    """A value of the header as a reader would write it."""
    if isinstance(value, dict):
        return " · ".join(
            f"{key} {item:,}" if type(item) is int else f"{key} {_words(item)}" for key, item in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    return "none" if value is None else str(value)
