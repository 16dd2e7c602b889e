"""What pages say about runs: the facts of one, and the index of all with the series' answer."""

from __future__ import annotations

import json
import re
import shutil
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from attnlib.reports import matrix, theme
from attnlib.utils import files
from attnlib.utils.errors import DataError
from attnlib.utils.files import UNFINISHED
from attnlib.utils.text import duration, plural
from attnlib.viz.prose import emphasised

SENTENCES = 2
"""Of *In short*, in the index."""
PROFILES = ("paper", "gallery", "cpu", "smoke")
"""Which run of a notebook the index takes its claims from, where there are several."""
KEPT = ("report.html", "run.json", "claims.json", "short.json")
"""Files of a run that a gallery shows."""


@dataclass(frozen=True)
class Finished:
    """A run's folder under `out`, its `run.json`, its claims and *In short*; `link` leads there from the index."""

    folder: Path
    run: dict[str, Any]
    claims: list[matrix.Claim]
    short: list[str]

    @property
    def link(self) -> str:
        return f"{self.folder.parent.name}/{self.folder.name}/report.html"

    @property
    def sentences(self) -> list[str]:
        """The first ones of *In short* for the index, as HTML."""
        said = (emphasised(sentence) for sentence in self.short[:SENTENCES])
        return [one.replace('href="#', f'href="{self.link}#').replace('href="../../', 'href="') for one in said]


def index(out: Path, explorer: str = "") -> str:
    """The HTML of the index: the series' answer, each report's with its claims, and a list of all runs under `out`.

    explorer  HTML of an explorer to show above them
    """
    runs = list(finished(out))
    chosen: dict[str, Finished] = {}
    for profile in reversed(PROFILES):
        done = (one for one in runs if one.folder.name == profile and one.run["status"] == "done" and one.claims)
        chosen |= {one.run["notebook"]: one for one in done}
    series = [chosen[name] for name in sorted(chosen, key=lambda name: (not name.endswith("_verdict"), name))]
    html = theme.fill(
        "runs.html.j2",
        runs=runs,
        series=series,
        first=chosen[min(chosen)] if chosen else None,
        answer=answer([claim for one in series for claim in one.claims], [one.run["profile"] for one in series]),
        ledger=lambda one: matrix.series_html(one.link, one.claims),
        tally=matrix.tally,
        day=day,
        duration=duration,
        signs=matrix.VERDICTS,
        explorer=explorer,
        **theme.assets(explorer=bool(explorer)),
    )
    return theme.minus(html)


def answer(claims: Sequence[matrix.Claim], profiles: Sequence[str]) -> str:
    """What the series found, in a sentence."""
    if not claims:
        return ""
    verdicts = ", ".join(f"{count} {verdict}" for verdict, count in matrix.tally(claims).items())
    tested = f"tested on the {' and '.join(dict.fromkeys(profiles))} profile"
    return f"{plural(len(claims), 'claim')}, {tested}: {verdicts}."


def finished(out: Path) -> Iterator[Finished]:
    """The runs under `out`; a damaged one is left out with a warning."""
    for file in sorted(out.glob("*/*/run.json")):
        folder = file.parent
        if UNFINISHED.fullmatch(folder.name):
            continue
        try:
            run = json.loads(file.read_text(encoding="utf-8"))
            yield Finished(folder, run, matrix.load(folder), matrix.load(folder, "short"))
        except (OSError, ValueError) as error:
            warnings.warn(f"{folder} is left out of the index: it cannot be read ({error}).", stacklevel=3)


def gallery(out: Path, to: Path, profile: str = "cpu") -> list[str]:
    """Copy the finished reports of a profile from `out` to `to`, in place of what is there; their names.

    A static site for any web server or none, which `make gallery` puts into `reports/gallery`: the reports, and an
    index with an explorer to play with.
    """
    found = [one for one in finished(out) if one.run["status"] == "done" and one.folder.name == profile]
    if not found:
        raise DataError(f"There is no finished report of profile {profile!r} in {out}. `make reports` makes them.")
    for old in to.glob("*"):
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    for one in found:
        target = to / one.folder.parent.name / profile
        shutil.copytree(one.folder, target, ignore=lambda _, names: set(names) - set(KEPT))
    files.write(to / "index.html", index(to, explorer=explorer_of(found)))
    return [one.run["notebook"] for one in found]


def explorer_of(found: list[Finished]) -> str:
    """The first explorer of the reports, as HTML; empty where none has one."""
    for one in found:
        for cell in json.loads((one.folder / "run.ipynb").read_bytes())["cells"]:
            for output in cell.get("outputs", ()):
                html = "".join(output.get("data", {}).get("text/html", ""))
                if html.startswith('<div class="attnlib-explorer"'):
                    return html
    return ""


def facts(run: dict[str, Any]) -> list[tuple[str, str]]:
    """The lines of a report's header."""
    said = {name: value for name, value in run["header"].items() if name != "paper_url"}
    told = [(name.replace("_", " ").capitalize(), words(v)) for name, v in said.items() if v not in (None, "", [])]
    found = [("Notebook", run["notebook"]), ("Profile", run["profile"]), *told]
    found += [("Duration", duration(run["seconds"])), ("Date", day(run["date"]))]
    if run.get("commit"):
        found.append(("Commit", run["commit"].replace("+", " with changes")))
    return [*found, ("Versions", words(run["versions"]))]


def papers(run: dict[str, Any]) -> list[tuple[str, str]]:
    """Citation and address of the papers that a run is about, as its header names them."""
    given = [run["header"].get(name) or [] for name in ("citation", "paper_url")]
    cited, addresses = (one if isinstance(one, list) else [one] for one in given)
    safe = [address if re.match(r"https?://", address) else "" for address in addresses]
    return list(zip(map(str, cited), safe + [""] * len(cited), strict=False))


def day(date: str) -> str:
    """`16 November 2025, 14:05 UTC`."""
    moment = datetime.fromisoformat(date)
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def words(value: Any) -> str:
    """A value of the header as a reader would write it."""
    if isinstance(value, dict):
        return " · ".join(f"{k} {v:,}" if type(v) is int else f"{k} {words(v)}" for k, v in value.items())
    if isinstance(value, list):
        return ", ".join(map(words, value))
    return "none" if value is None else str(value)
