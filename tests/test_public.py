"""The public surface: lazy, complete, with an example each that runs; and the core without any extra."""

from __future__ import annotations

import ast
import doctest
import inspect
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
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
FILES = sorted((ROOT / "attnlib").rglob("*.py"))
OPTIONAL = (
    "jupyterlab ipykernel anywidget papermill nbformat nbconvert latex2mathml IPython jinja2 pygments "
    "distributed transformers tokenizers datasets captum"
).split()


@pytest.fixture(scope="module")
def shared() -> dict[str, Any]:
    names: dict[str, Any] = {}
    exec(SETUP, names)
    return names


@pytest.mark.parametrize("file", [f for f in FILES if "\n    >>> " in f.read_text()], ids=lambda file: file.stem)
def test_the_examples_of_a_module(file: Path, shared: dict[str, Any], tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path))
    module = import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    runner, said = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS), []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
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


def test_every_name_of_the_stub_is_public() -> None:
    tree = ast.parse(Path(al.__file__).with_suffix(".pyi").read_text(encoding="utf-8"))
    named = [name for node in tree.body if isinstance(node, ast.ImportFrom) for name in node.names]
    assert all(name.asname == name.name for name in named), "`as` makes a name public"
    assert al.__all__ == ["__version__", *(name.name for name in named)]
    with pytest.raises(AttributeError, match="no attribute 'fitt'"):
        al.fitt  # noqa: B018


def test_every_module_can_be_imported_by_its_name() -> None:
    """`import attnlib.rankings.base as b` goes by attributes, which a function of a package's name would hide."""
    hidden = []
    for module in walk_packages(al.__path__, "attnlib."):
        package, _, name = module.name.rpartition(".")
        found = import_module(module.name)
        if getattr(import_module(package), name) is not found:
            hidden.append(module.name)
    assert not hidden


def run(code: str, blocked: list[str]) -> subprocess.CompletedProcess[str]:
    """A program in a Python where some packages are as if they were not installed."""
    script = f"import sys\nfor name in {blocked!r}:\n    sys.modules[name] = None\n{code}"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)


def test_importing_the_kit_does_not_wait_for_torch() -> None:
    done = run("import attnlib, attnlib.config", ["torch", "pandas"])
    assert done.returncode == 0, done.stderr


def test_train_and_erase_without_any_extra() -> None:
    done = run(
        "import attnlib as al\n"
        "corpus = al.load_corpus('planted', n_train=60, n_dev=20, n_test=20)\n"
        "fitted = al.fit(corpus, al.ModelConfig(encoder='mlp'), al.TrainConfig(epochs=1))\n"
        "print(len(al.fraction_to_flip(fitted, corpus.test, 'alpha')))\n"
        "print(len(al.comprehensiveness(fitted, corpus.test, 'alpha')))\n",
        OPTIONAL,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[0] == "20"


@pytest.mark.parametrize(
    ("extra", "code"),
    [
        ("notebooks", "from attnlib.cli.main import main; main(['run', '01_tasc'])"),
        ("cluster", "from attnlib.store.executors import make_executor; make_executor('dask:tcp://127.0.0.1:1')"),
        ("hub", "import attnlib as al; al.load_corpus('hub:imdb')"),
    ],
)
def test_a_missing_extra_is_named(extra: str, code: str) -> None:
    done = run(code, OPTIONAL)
    assert done.returncode != 0
    assert f"attnlib[{extra}]" in done.stderr + done.stdout
