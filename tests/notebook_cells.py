"""The code of a notebook of the series, run in this process on small parameters of one's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from attnlib.utils import paths


def run_cells(name: str, folder: Path, **values: Any) -> dict[str, Any]:
    """All cells of the notebook `name`, with `values` in place of its parameters; returns what it defined.

    Stored models go to `folder / "store"`, results to `folder / "out"`; `claims.json` is there at the end.
    """
    notebook = nbformat.read(paths.notebooks() / f"{name}.ipynb", as_version=4)
    space: dict[str, Any] = {"__name__": "__main__"}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNLIB_OUT", str(folder / "out"))
        patch.setenv("ATTNLIB_STORE", str(folder / "store"))
        patch.setenv("ATTNLIB_EXECUTOR", "serial")
        patch.setenv("ATTNLIB_PROGRESS", "0")
        for number, cell in enumerate(notebook.cells):
            if cell.cell_type == "code":
                exec(compile(cell.source, f"{name}, cell {number}", "exec"), space)
                if "parameters" in cell.metadata.get("tags", ()):
                    shown = {option: value for option, value in values.items() if option in space}
                    more = {option: value for option, value in values.items() if option not in space}
                    assert not more or "options" in space, f"parameters that the notebook does not have: {more}"
                    space |= shown | ({"options": more} if more else {})
    return space


def ledger(folder: Path) -> dict[str, dict[str, Any]]:
    """The claims of a run, by id."""
    claims = json.loads((folder / "out" / "claims.json").read_text(encoding="utf-8"))
    return {claim["id"]: claim for claim in claims}
