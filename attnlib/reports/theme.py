"""The look of reports: templates, style sheets, the one script of a page, and the policy that allows no other."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.utils.extras import needs

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).resolve().parent / "templates"


def fill(template: str, **values: Any) -> str:
    """A template of the kit with its values, all of them escaped."""
    return _environment().get_template(template).render(**values)


@cache
def assets(explorer: bool = False) -> dict[str, str]:
    """Style sheet, script and content security policy of a page; with the explorer's script where it has one."""
    script = read("report.js")
    if explorer:
        from attnlib.viz.explorer import script as explorer_script  # it loads torch, which most pages do not need

        script += explorer_script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    return {"style": read("report.css") + read("ledger.css"), "script": script, "policy": policy}


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
