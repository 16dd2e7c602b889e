"""The hash of the code follows what a function uses: a change that matters changes it, no other does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from attnlib.store import codehash
from attnlib.utils.errors import ConfigError

FILES = {
    "__init__.py": "",
    "study.py": '''
"""A study."""
from house import lower
from house.tools import shared
from house.plots import draw
TABLE = {}
LIMIT = 3

def register(f):
    TABLE[f.__name__] = f
    return f

@register
def method(x):
    return helper(x)

def helper(x):
    """Help."""
    return x + LIMIT

def flips(x):
    return TABLE["method"](shared(x)) + lower.base(x)

def figure(x):
    return draw(x)
''',
    "tools.py": "from . import deep\ndef shared(x):\n    return deep.f(x)\ndef unused(x):\n    return x\n",
    "lower.py": "def base(x):\n    from house.late import g\n    return g(x)\n",
    "deep.py": """
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from house import typed
def f(x):
    return x
""",
    "late.py": "def g(x):\n    return x\n",
    "typed.py": "class T: ...\n",
    "plots.py": "def draw(x):\n    return x\n",
}


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "house"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield folder
    clear()
    for name in [m for m in sys.modules if m.split(".")[0] == "house"]:
        del sys.modules[name]


def clear() -> None:
    for function in (codehash.code_of, codehash._file, codehash._parse):
        function.cache_clear()


def hashed() -> str:
    clear()
    return codehash.code_hash("house.study:flips")


def test_what_is_followed(house: Path) -> None:
    clear()
    assert set(codehash.code_of("house.study:flips")) == {
        "house.study:flips",
        "house",
        "house.tools",
        "house.lower",
        "house.deep",
        "house.late",
    }


@pytest.mark.parametrize(
    ("file", "old", "new", "matters"),
    [
        ("study.py", "x + LIMIT", "x - LIMIT", True),
        ("study.py", "LIMIT = 3", "LIMIT = 4", True),
        ("study.py", "return helper(x)", "return 2 * helper(x)", True),  # reached through the decorator alone
        ("study.py", "return draw(x)", "return draw(2 * x)", False),
        ("study.py", "Help.", "Much help.", False),
        ("study.py", "x + LIMIT", "(x  +  LIMIT)  # why", False),
        ("tools.py", "return x", "return -x", True),  # unused, but of a module that is used
        ("deep.py", "return x", "return -x", True),
        ("late.py", "return x", "return -x", True),
        ("plots.py", "return x", "return -x", False),
        ("typed.py", "...", "x = 1", False),
        ("study.py", "def figure", "@register\ndef other(x):\n    return x\n\ndef figure", True),
        ("study.py", "def figure", "def other(x):\n    return x\n\ndef figure", False),
    ],
)
def test_what_changes_the_hash(house: Path, file: str, old: str, new: str, matters: bool) -> None:
    before = hashed()
    text = (house / file).read_text()
    assert old in text
    (house / file).write_text(text.replace(old, new))
    assert (hashed() != before) == matters


def test_a_trained_model_depends_on_models_and_training_and_not_on_readers_or_reports() -> None:
    parts = set(codehash.code_of("attnlib.training.fit:fit"))
    needed = {"config", "device", "fitted", "models", "models.classifier", "models.projections", "data.batching"}
    assert {f"attnlib.{name}" for name in needed} <= parts
    assert "attnlib.training.fit:fit" in parts
    beside = {
        "data.corpora",
        "data.tables",
        "data.planted",
        "stats",
        "plots",
        "report",
        "runs",
        "grid",
        "importance",
    }
    assert not {f"attnlib.{name}" for name in beside} & parts


def test_a_package_without_init_is_read_too(house: Path) -> None:
    (house / "__init__.py").unlink()
    clear()
    assert "house.tools" in codehash.code_of("house.study:flips")


def test_errors_name_the_nearest(house: Path) -> None:
    clear()
    with pytest.raises(ConfigError, match="Did you mean 'flips'"):
        codehash.code_of("house.study:flipz")
    with pytest.raises(ConfigError, match=r"no module 'house\.nowhere'"):
        codehash.code_of("house.nowhere:f")
    with pytest.raises(ConfigError, match="no module"):
        codehash.code_of("no_such_package.x:f")


def test_attnlib_counts_as_it_was_when_the_process_began(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is edited between its import and its first hash would store old results under new code."""
    task = "attnlib.studies.sparsity.measures:readings"
    before = codehash.code_hash(task)
    caches = [f for f in vars(codehash).values() if hasattr(f, "cache_clear")]
    for function in caches:
        function.cache_clear()
    monkeypatch.setattr(Path, "read_text", lambda *args, **options: "edited = True")
    assert codehash.code_hash(task) == before
    assert caches
