"""The look of reports: templates, style sheets, the one script of a page, and the policy that allows no other.

And the outputs of notebooks, made fit for a page: nothing loaded, nothing about the machine, colours of the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib import viz
from attnlib.utils.extras import needs

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"
PAGE = {"#ffffff": "var(--c0)", "#000000": "currentColor", "#d9d9d9": "var(--c1)", "#666666": "var(--c2)"}
"""Colours of a chart that follow the page; series keep their own."""
PAGE_STYLE = (
    "fill:currentColor;--c0:var(--paper,var(--jp-layout-color0,#fff));"
    "--c1:var(--line,var(--jp-border-color2,#d9d9d9));--c2:var(--soft,var(--jp-ui-font-color2,#666))"
)
"""Said once per chart: the colours of a report, else those of JupyterLab, else those it was drawn in."""


def fill(template: str, **values: Any) -> str:
    """A template of the kit with its values, all of them escaped."""
    return _environment().get_template(template).render(**values)


@cache
def assets(explorer: bool = False) -> dict[str, str]:
    """Style sheet, script and content security policy of a page; with the explorer's script where it has one."""
    script = read("report.js")
    if explorer:
        script += explorer_script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return {"style": read("report.css") + read("ledger.css"), "script": script, "policy": policy}


@cache
def explorer_script() -> str:
    """The module of the explorer as a script of a page: it starts every explorer that the page holds."""
    source = Path(viz.__file__).with_name("explorer.js").read_text(encoding="utf-8")
    source = source.replace("export default { render };", "").replace("export ", "")
    start = 'document.querySelectorAll(".attnlib-explorer").forEach(frozen);'
    return (
        f'(function () {{\n"use strict";\n{source}\n'
        f'document.addEventListener("DOMContentLoaded", function () {{ {start} }});\n}})();'
    )


def read(name: str) -> str:
    """A file of the templates folder."""
    return (TEMPLATES / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    jinja2 = needs("jinja2", "notebooks")
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def minus(html: str) -> str:
    """A page with a minus sign before negative numbers, where programs write a hyphen; code stays as it is."""
    return _HYPHEN.sub(lambda found: "−" if found[0] == "-" else found[0], html)


_HYPHEN = re.compile(
    r"<(code|script|style)\b.*?</\1>|<[^<>]*>|(?<![\w)\]‐−-])-(?=\.?\d|∞)", re.DOTALL | re.IGNORECASE
)


def inline_svg(svg: str, prefix: str, label: str = "") -> str:
    """An SVG file as part of a page: without its XML head and metadata, its ids made unique by `prefix`.

    Black, white and the greys of axes become the colours of the page, of a report or of JupyterLab, light or dark.
    `label` says in words what there is to see.
    """
    svg = re.sub(r"<\?xml.*?\?>|<!DOCTYPE[^>]*>|<!--.*?-->|<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg).replace("xlink:href=", "href=")
    svg = re.sub(r'(?<=\sid=")(?=[^"]+")|(?<=\shref="#)|(?<=url\(#)', f"{prefix}-", svg)
    svg = re.sub(r"(?<=fill: |roke: )#[0-9a-f]{6}", lambda found: PAGE.get(found[0], found[0]), svg)
    said = f'role="img" aria-label="{escape(label)}" ' if label else ""
    return svg.strip().replace("<svg ", f'<svg {said}style="{PAGE_STYLE}" ', 1)
