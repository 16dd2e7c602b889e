"""Every example in a docstring of the package is run, with the names that the reference gives to all of them."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from attnlib.utils.paths import ROOT
from tests.reference import SETUP


def modules() -> list[str]:
    """Those of the package with an example: a prompt at the start of an indented line."""
    files = [f for f in sorted((ROOT / "attnlib").rglob("*.py")) if "\n    >>> " in f.read_text(encoding="utf-8")]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec("\n".join(line.removeprefix(">>> ") for line in SETUP.splitlines()), names)
    return names


@pytest.mark.parametrize("module", modules())
def test_the_examples_of_a_module(module: str, shared: dict[str, Any], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path))
    found = doctest.DocTestFinder(exclude_empty=True).find(import_module(module))
    runner, said = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    for test in found:
        test.globs |= shared
        runner.run(test, out=said.append)
    assert runner.tries, "the file has examples, and none was found"
    assert not runner.failures, "".join(said)
