"""The notebooks as they are committed: parameters, profiles, outputs, names. Running them is nbval's part."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from attnlib.reports import notebooks
from attnlib.utils import paths

NAMES = notebooks.names()
PROFILES = [(name, profile) for name in NAMES for profile in notebooks.profiles(name)]


def cells(name: str) -> list[dict]:
    return json.loads((paths.notebooks() / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]


def source(cell: dict) -> str:
    return "".join(cell["source"])


def test_there_is_a_way_in() -> None:
    assert NAMES[0] == "00_quickstart"


@pytest.mark.parametrize(("name", "profile"), PROFILES)
def test_every_parameter_file_fits_its_notebook(name: str, profile: str) -> None:
    (plan,) = notebooks.plan([name], profile, [])
    file = notebooks.profiles(name)[profile]
    stated = sum(bool(line.split("#")[0].strip()) and line[0] not in " -" for line in _lines(file))
    assert len(plan.changed) == stated, "a parameter file holds only what differs from the notebook's defaults"


def test_every_parameter_file_has_a_notebook() -> None:
    assert {folder.name for folder in paths.params().iterdir() if folder.is_dir()} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_has_a_title_parameters_and_the_plain_kernel(name: str) -> None:
    notebook = notebooks.read(name)
    assert notebook.title != name
    assert notebook.parameters
    assert all(parameter.comment for parameter in notebook.parameters.values()), "each says what it is"
    metadata = json.loads(notebook.path.read_text(encoding="utf-8"))["metadata"]
    assert metadata["kernelspec"]["name"] == "python3"
    assert "widgets" not in metadata
    assert "papermill" not in metadata


@pytest.mark.parametrize("name", NAMES)
def test_only_outputs_that_are_compared_are_kept(name: str) -> None:
    for cell in cells(name):
        tags = set(cell["metadata"].get("tags", ()))
        assert ("keep_output" in tags) == ("nbval-check-output" in tags), source(cell)
        if cell["cell_type"] == "code" and "keep_output" not in tags:
            assert cell["outputs"] == [], source(cell)
            assert cell["execution_count"] is None, source(cell)


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_writes_under_its_own_name(name: str) -> None:
    code = "\n".join(source(cell) for cell in cells(name) if cell["cell_type"] == "code")
    assert f'Output.of("{name}")' in code
    assert "output.claims(" in code


def _lines(file: Path | None) -> list[str]:
    return file.read_text(encoding="utf-8").splitlines() if file else []
