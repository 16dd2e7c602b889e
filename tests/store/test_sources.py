"""The source of what is not the kit's: its hash changes with what a function does, and with nothing else."""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from attnlib.rankings.scores import METHODS
from attnlib.store.keys import DATA
from attnlib.store.sources import NoSource, is_kit, source_of
from attnlib.utils.registry import Registry

MODULE = """
import torch
from mine import helper
from mine.deep import scale
FACTOR = 2
TABLE = {}

def listed(f):
    TABLE[f.__name__] = f
    return f

class Base:
    power = 1
    def up(self, x):
        return x ** self.power

class Ranking(Base):
    @property
    def twice(self):
        return 2

@listed
def inner(x):
    return x + 1

def of(sign):
    def closed(x):
        return sign * x
    return closed

@torch.no_grad()
def rank(x, by=3):
    from mine.late import late
    return TABLE["inner"](x) + FACTOR * helper.half(x) + scale(x) + late(x) + Ranking().up(by) + lambdas[0](x)

lambdas = [lambda x: x - 1]

def figure(x):
    return x
"""
FILES = {
    "__init__.py": "",
    "study.py": MODULE,
    "helper.py": "def half(x):\n    return x / 2\n",
    "deep.py": "def scale(x):\n    return 10 * x\n",
    "late.py": "def late(x):\n    return x\n",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "mine").mkdir()
    for name, text in FILES.items():
        (tmp_path / "mine" / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield tmp_path / "mine"
    forget()


def forget() -> None:
    importlib.invalidate_caches()
    for name in [module for module in sys.modules if module.split(".")[0] == "mine"]:
        del sys.modules[name]


def hashed() -> str:
    forget()
    return source_of(importlib.import_module("mine.study").rank).digest


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("study.py", "by=3", "by=4"),
        ("study.py", "FACTOR = 2", "FACTOR = 3"),
        ("study.py", "return x + 1", "return x + 2"),
        ("study.py", "power = 1", "power = 2"),
        ("study.py", "lambda x: x - 1", "lambda x: x + 1"),
        ("helper.py", "x / 2", "x / 3"),
        ("deep.py", "10 * x", "11 * x"),
        ("late.py", "return x", "return -x"),
    ],
)
def test_what_changes_the_hash(folder: Path, file: str, old: str, new: str) -> None:
    before = hashed()
    assert hashed() == before
    text = (folder / file).read_text()
    assert text.count(old) == 1
    (folder / file).write_text(text.replace(old, new))
    assert hashed() != before


def test_what_is_loaded_counts_though_its_file_was_edited_since(folder: Path) -> None:
    """Else a result of the code that runs would be kept as one of the code in the file."""
    before = hashed()
    for file, text in (
        ("deep.py", "def scale(x):\n    return 0\n"),
        ("helper.py", FILES["helper.py"] + "STEP = 2\n"),
    ):
        (folder / file).write_text(text)
        stale = source_of(sys.modules["mine.study"].rank).digest
        assert len({before, stale, hashed()}) == 3


def made(text: str, **names: Any) -> Any:
    """A function as a cell of a notebook makes it: without a file."""
    scope = {"__name__": "__main__", "torch": torch, **names}
    exec(textwrap.dedent(text), scope)
    return scope["f"]


def digest(text: str, **names: Any) -> str:
    return source_of(made(text, **names)).digest


def test_functions_of_a_notebook() -> None:
    text = "def f(case):\n    return -case.trace.alpha"
    assert digest(text) == digest(text + "  # a comment", unused=3)
    assert digest(text) != digest(text.replace("-", ""))
    assert digest("f = lambda x: x in {'a', 'b', 'c'}") != digest("f = lambda x: x in {'a', 'b', 'd'}")
    text = "def g(x):\n    return weights * x\n@torch.no_grad()\ndef f(case):\n    return g(case)"
    one, other = torch.ones(3), torch.tensor([1.0, 1.0, 2.0])
    assert digest(text, weights=one) == digest(text, weights=one.clone())
    assert digest(text, weights=one) != digest(text, weights=other)
    assert digest(text, weights=2) != digest(text.replace("g(case)", "-g(case)"), weights=2)
    text = "def of(sign):\n    def h(x): return sign * x\n    return h\nf = of(1)"
    assert digest(text) != digest(text.replace("of(1)", "of(-1)"))


def test_classes_caches_and_partials() -> None:
    text = """
        import torch.nn as nn
        class f(nn.Module):
            size: int = 2
            def forward(self, x):
                return super().forward(x) * self.scale
            @property
            def scale(self):
                return 3
    """
    for old, new in (("= 2", "= 1"), ("return 3", "return 4"), ("* self", "/ self")):
        assert digest(text) != digest(text.replace(old, new))
    one, other = made("f = lambda x: x"), made("f = lambda x: -x")
    calm = contextlib.contextmanager(lambda: (yield))
    for wrap in (functools.cache, functools.partial, staticmethod, calm(), lambda f: [{"run": f}]):
        assert source_of(wrap(one)).digest == source_of(wrap(made("f = lambda x: x"))).digest
        assert source_of(wrap(one)).digest != source_of(wrap(other)).digest
    assert source_of(functools.partial(one, 1)).digest != source_of(functools.partial(one, 2)).digest


def test_the_parts_of_the_kit_are_known() -> None:
    parts = [part for kind, registry in Registry.kinds.items() if kind != DATA for part in registry.values()]
    assert len(parts) > len(METHODS) > 10
    assert all(source_of(part).is_kit for part in parts)
    assert not source_of(made("f = lambda x: x")).is_kit
    assert is_kit("attnlib.training.fit")
    assert not is_kit("attnlib.studies.tasc.grid")
    assert not is_kit("attnlibrary")


def test_what_is_imported_in_the_body_of_a_study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Studies of the user's lie below `attnlib.studies`, and are no part of the kit."""
    import attnlib.studies

    (tmp_path / "own").mkdir()
    measure = "def measure(x):\n    from attnlib.studies.own.helper import half\n    return half(x)\n"
    (tmp_path / "own" / "measures.py").write_text(measure)
    (tmp_path / "own" / "helper.py").write_text("def half(x):\n    return x / 2\n")
    monkeypatch.setattr(attnlib.studies, "__path__", [*attnlib.studies.__path__, str(tmp_path)])
    one = source_of(importlib.import_module("attnlib.studies.own.measures").measure)
    assert {"attnlib.studies.own.measures", "attnlib.studies.own.helper"} <= one.modules
    sys.modules["attnlib.studies.own.helper"].half.__defaults__ = (3,)
    assert source_of(sys.modules["attnlib.studies.own.measures"].measure).digest != one.digest
    for name in [name for name in sys.modules if name.startswith("attnlib.studies.own")]:
        del sys.modules[name]


def test_values_that_a_function_may_use_have_the_same_hash_in_every_process() -> None:
    text = """
        import collections, dataclasses, pathlib
        import numpy as np, pandas as pd, pydantic, torch
        class Config(pydantic.BaseModel):
            x: int = 1
        @dataclasses.dataclass
        class Data:
            a: list
        held = [Config(), Data, Data([1]), pathlib.Path("a"), collections.Counter("ab"), np.linalg, np.arange(3)]
        held += [np.add, torch.float32, pd.DataFrame({"a": ["x"]}), frozenset("abc"), slice(1)]
        held += [torch.ones(2, dtype=torch.bfloat16)]
        from attnlib.store.sources import source_of
        print([source_of(lambda: value).digest[:8] for value in held])
    """
    said = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", textwrap.dedent(text)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.add(done.stdout)
    assert len(said) == 1
    assert len(set(ast.literal_eval(*said))) == 13, "and each its own"


def test_what_has_no_source_says_why() -> None:
    with pytest.raises(NoSource, match="len is not written in Python"):
        source_of(len)
    with pytest.raises(NoSource, match="cannot be looked into"):
        source_of(made("f = lambda: lock", lock=threading.Lock()))
    assert "alpha" in source_of(made("def f(x):\n    return rank(x, 'alpha')")).texts
