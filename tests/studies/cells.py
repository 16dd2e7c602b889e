"""Run the cells of a notebook in this process, with other parameters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnlib import paths


def run_cells(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **changes: Any) -> dict[str, Any]:
    """The names that the notebook leaves behind; what it writes goes to `folder`, and runs to a store there."""
    monkeypatch.setenv("ATTNLIB_OUT", str(folder / "out"))
    monkeypatch.setenv("ATTNLIB_STORE", str(folder / "store"))
    monkeypatch.setenv("ATTNLIB_EXECUTOR", "serial")
    names: dict[str, Any] = {"__name__": "cells"}
    cells = json.loads((paths.notebooks() / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    for cell in (cell for cell in cells if cell["cell_type"] == "code"):
        exec("".join(cell["source"]), names)
        if "parameters" in cell["metadata"].get("tags", ()):
            assert set(changes) <= set(names), "a parameter that the notebook does not have"
            names |= changes
    return names
