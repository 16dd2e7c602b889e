"""The reports as a static site: what `make gallery` puts into `reports/gallery`, for any web server or none.

A gallery is a copy of finished reports and an index of its own, which opens with the question, the series' answer
and an explorer to play with, and links to the API reference where `make docs` has put it. `gallery.json` says what
each report was made from, so that a test can tell when a notebook has moved on.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path
from typing import Any

from attnlib.reports import series
from attnlib.reports.export import shown
from attnlib.utils import files, paths
from attnlib.utils.errors import DataError
from attnlib.utils.text import filesize

LARGEST = 10 * 2**20
"""Bytes: a repository carries the gallery along."""
KEPT = ("report.html", "run.json", "claims.json", "short.json")


def gallery(out: Path, to: Path, profile: str = "cpu") -> dict[str, Any]:
    """Copy the finished reports of a profile from `out` to `to`, in place of those there: `gallery.json`."""
    found = [one for one in series.finished(out) if one.run["status"] == "done" and one.folder.name == profile]
    if not found:
        raise DataError(f"There is no finished report of profile {profile!r} in {out}. `make reports` makes them.")
    size = sum((one.folder / name).stat().st_size for one in found for name in KEPT if (one.folder / name).exists())
    if size > LARGEST:
        raise DataError(f"The reports weigh {filesize(size)}; a gallery may weigh {filesize(LARGEST)}.")
    for old in [path for path in to.glob("*") if path.name != "reference"]:
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    held = {}
    for one in found:
        folder = to / one.run["notebook"] / profile
        folder.mkdir(parents=True)
        for name in KEPT:
            if (one.folder / name).exists():
                shutil.copyfile(one.folder / name, folder / name)
        notebook = paths.notebooks() / f"{one.run['notebook']}.ipynb"
        parameters = json.dumps(one.run["parameters"], sort_keys=True)
        held[one.run["notebook"]] = {
            "structure": structure(notebook),
            "parameters": hashlib.sha256(parameters.encode()).hexdigest()[:16],
            "commit": one.run.get("commit"),
            "date": one.run["date"],
        }
    series.relink(to)
    files.write(to / "index.html", series.index(to, explorer=explorer_of(found)))
    files.write(to / "gallery.json", json.dumps(held, indent=1) + "\n")
    return held


def structure(notebook: Path) -> str:
    """A hash of what a reader of the report would miss: the cells of the notebook, in order, and its headings."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    parts = []
    for cell in cells:
        lines = "".join(cell["source"]).splitlines()
        headings = [line for line in lines if line.startswith("#")] if cell["cell_type"] == "markdown" else []
        parts.append((cell["cell_type"], cell.get("id"), headings))
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:16]


def explorer_of(found: list[series.Finished]) -> str:
    """The first explorer of the reports, as HTML; empty where none has one."""
    pages = (html for one in sorted(found, key=lambda one: one.run["notebook"]) for html in shown(one.folder))
    return next((html for html in pages if html.startswith('<div class="attnlib-explorer"')), "")
