"""Every example in a docstring of the package is run, and every public name has one."""

from __future__ import annotations

import ast
import doctest
import inspect
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import attnlib as al
from attnlib.utils.paths import ROOT

SETUP = """
import attnlib as al
size = {"n_train": 240, "n_dev": 40, "n_test": 100, "vocabulary": 60, "longest": 12}
corpus = al.load_corpus("planted", **size, negation=0.0)
config = al.ModelConfig(encoder="mlp", embedding_size=16, hidden_size=16)
fitted = al.fit(corpus, config, al.TrainConfig(epochs=4, learning_rate=0.01), seed=0)
"""
"""What the examples share."""
GIVEN = {"Corpus", "Trace", "Fitted", "plots.Chart"}
"""What a function gives: nobody makes them."""


def modules() -> list[str]:
    """Those of the package with an example: a prompt at the start of an indented line."""
    files = [f for f in sorted((ROOT / "attnlib").rglob("*.py")) if "\n    >>> " in f.read_text(encoding="utf-8")]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files]


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(SETUP, names)
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


def public() -> Iterator[tuple[str, Any]]:
    """Functions and classes that `attnlib` and its modules `stats` and `plots` offer."""
    for name in al.__all__:
        thing = getattr(al, name)
        if not inspect.ismodule(thing):
            yield name, thing
            continue
        own = [key for key, value in vars(thing).items() if getattr(value, "__module__", "") == thing.__name__]
        for key in getattr(thing, "__all__", own):
            value = getattr(thing, key)
            if not key.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                yield f"{name}.{key}", value


NAMES = {name: thing for name, thing in public() if name != "__version__"}


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_has_an_example_that_calls_it(name: str) -> None:
    examples = "".join(example.source for example in doctest.DocTestParser().get_examples(NAMES[name].__doc__))
    assert examples
    assert name in GIVEN or f"al.{name}(" in examples or f"al.{name}." in examples


def test_the_stub_names_the_public_surface() -> None:
    stub = ast.parse(Path(al.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = {name.name for node in stub.body if isinstance(node, ast.ImportFrom) for name in node.names}
    assert named - {"stats", "plots"} == {name for name in NAMES if "." not in name}
