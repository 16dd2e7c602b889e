"""What a page says about its run: facts, papers, versions, time."""

from __future__ import annotations

import platform
import re
from datetime import datetime
from typing import Any

from attnlib import __version__
from attnlib.utils import extras
from attnlib.utils.text import duration


def facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report's header."""
    said = (run.get("header") or {}).items()
    header = {name: value for name, value in said if value not in (None, "", "none", []) and name != "paper_url"}
    found = [("Notebook", run["notebook"]), ("Profile", run["profile"])]
    found += [(name.replace("_", " ").capitalize(), words(value)) for name, value in header.items()]
    found += [("Duration", duration(run["seconds"])), ("Date", day(run["date"]))]
    if run.get("commit"):
        found.append(("Commit", run["commit"].replace("+", " with changes")))
    return [*found, ("Versions", " · ".join(f"{name} {number}" for name, number in run["versions"].items()))]


def papers(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Citation and address of the papers that a run is about, as its header names them."""
    header = run.get("header") or {}
    cited, addresses = (_listed(header.get(name)) for name in ("citation", "paper_url"))
    safe = [address if re.match(r"https?://", address) else "" for address in addresses]
    return list(zip(cited, safe + [""] * len(cited), strict=False))


def _listed(value: Any) -> list[str]:
    return [str(one) for one in (value if isinstance(value, list) else [value]) if one not in (None, "")]


def versions() -> dict[str, str]:
    """Versions that the numbers may depend on."""
    own = {"attnlib": __version__, "Python": platform.python_version()}
    return own | extras.versions("torch", "numpy", "transformers")


def day(date: str) -> str:
    """`16 November 2025, 14:05 UTC`."""
    moment = datetime.fromisoformat(date)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def words(value: Any) -> str:
    """A value of the header as a reader would write it."""
    if isinstance(value, dict):
        return " · ".join(
            f"{key} {item:,}" if type(item) is int else f"{key} {words(item)}" for key, item in value.items()
        )
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return "none" if value is None else str(value)
