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
    for function in (codehash.code_of, codehash._file, codehash._parse, codehash._whole, codehash._neutral):
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


def rooms(task: str) -> dict[str, str]:
    """Parts of the kit, by module, without its name in front."""
    return {name.removeprefix("attnlib."): value for name, value in codehash.code_of(task).items()}


def test_a_trained_model_depends_on_models_and_training_and_on_nothing_built_on_them() -> None:
    parts = rooms("attnlib.training.fit:fit")
    needed = "config utils.device training.fit:fit training.fitted training.optimise data.batching data.vocabulary "
    needed += "models models.classifier models.projections models.bert"
    assert set(needed.split()) <= set(parts)
    assert {name.split(".")[0] for name in parts} <= {
        "config",
        "quirks",
        "utils",
        "stats",
        "data",
        "models",
        "training",
    }
    assert not [name for name in parts if name.startswith(("data.readers", "data.corpora", "utils.files"))]


MEASURES = (
    "attnlib.studies.sparsity.measures:readings",
    "attnlib.studies.mutual_information.measures:apart",
    "attnlib.studies.tying_mlm.measures:behaviour",
)


@pytest.mark.parametrize("task", MEASURES)
def test_a_measure_depends_on_what_it_measures_with_and_not_on_what_shows_it(task: str) -> None:
    """Its models have the code of models and training in their keys."""
    parts = rooms(task)
    study = task.split(".")[2]
    assert [name for name in parts if name.startswith("measures.")]
    assert {f"studies.{study}.{task.rpartition('.')[2]}"} == {n for n in parts if n.startswith(f"studies.{study}")}
    beside = ("viz", "reports", "cli", "store", "data.readers", "data.corpora")
    assert not [name for name in parts if name.startswith(beside)]


def test_an_adversary_is_not_trained_again_for_an_edit_of_rankings() -> None:
    parts = rooms("attnlib.measures.adversary:adversary")
    assert "measures.adversary" in {name.partition(":")[0] for name in parts}
    assert "measures.retention" not in parts


@pytest.mark.parametrize("line", ["import attnlib as al", "from attnlib import fraction_to_flip"])
def test_a_task_on_the_public_surface_depends_on_the_whole_core(house: Path, line: str) -> None:
    (house / "mine.py").write_text(f"def flips(fitted, corpus):\n    {line}\n")
    clear()
    parts = rooms("house.mine:flips")
    assert {"erasure.flips", "importance.scores", "measures.retention", "models.bert", "stats"} <= set(parts)
    assert not [name for name in parts if name.startswith(("viz", "reports", "studies"))]


def test_one_name_of_the_kit_is_one_room(house: Path) -> None:
    (house / "mine.py").write_text("from attnlib import stats\ndef flips(x):\n    return stats.jsd(x, x)\n")
    clear()
    assert {name.split(".")[0] for name in rooms("house.mine:flips")} == {"house", "stats"}


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
