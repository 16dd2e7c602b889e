"""The script of the explorer: what a page that holds one needs, without the models that its data came from."""

from __future__ import annotations

from functools import cache
from pathlib import Path

MODULE = Path(__file__).with_name("explorer.js")


@cache
def script() -> str:
    """The module as a script for a page of its own: it starts every explorer that the page holds."""
    source = MODULE.read_text(encoding="utf-8").replace("export default { render };", "").replace("export ", "")
    start = 'document.querySelectorAll(".attnlib-explorer").forEach(frozen);'
    return (
        f'(function () {{\n"use strict";\n{source}\n'
        f'document.addEventListener("DOMContentLoaded", function () {{ {start} }});\n}})();'
    )
