"""Fixtures for the whole suite: small planted corpora, made once; registries that hold the kit's parts alone."""

from __future__ import annotations

import os
import sys
from importlib import import_module
from pathlib import Path

import pytest

os.environ.setdefault("ATTNLIB_PROGRESS", "0")
ROOT = Path(__file__).parents[1]
os.environ.setdefault("ATTNLIB_STRICT", "tests.limits")
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
sys.path.insert(0, str(ROOT / "tests"))
pytest_plugins = ["series_fixtures"]


@pytest.fixture(autouse=True)
def charts_hold_their_data(monkeypatch):
    """Every chart that a test draws passes `tests.limits.check`."""
    if "attnlib.viz.plots" not in sys.modules:  # a test without charts need not wait for matplotlib
        yield
        return
    from attnlib.viz.plots import Chart
    from tests.limits import check

    drawn, start = [], Chart.__init__

    def remember(self, **options):
        start(self, **options)
        drawn.append(self)

    monkeypatch.setattr(Chart, "__init__", remember)
    yield
    for chart in drawn:
        check(chart, chart.axes[0].get_title("left") if chart.axes else "")


@pytest.fixture(scope="session")
def the_kits_parts():
    """The registries with all that the kit itself registers: the rooms that hold parts are imported whole."""
    from attnlib.utils.registry import Registry

    for room in ("data", "models", "engine", "hf", "rankings", "erasure", "measures"):
        for file in sorted((ROOT / "attnlib" / room).rglob("*.py")):
            import_module(".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
    return {kind: registry for kind, registry in Registry.kinds.items() if registry.home.startswith("attnlib.")}


@pytest.fixture(autouse=True)
def parts_are_the_kits(the_kits_parts):
    """What a test registers, or a registry that it makes, is gone after it: parts belong to a run's identity."""
    from attnlib.utils.registry import Registry

    held = {kind: dict(registry._items) for kind, registry in the_kits_parts.items()}
    yield
    Registry.kinds.clear()
    Registry.kinds.update(the_kits_parts)
    for kind, items in held.items():
        the_kits_parts[kind]._items = items


@pytest.fixture(scope="session")
def planted():
    """Two classes, known decisive words, negation and distractors; 240/60/60 texts of 8 to 20 words."""
    from attnlib.data import load_corpus

    return load_corpus("planted", n_train=240, n_dev=60, n_test=60, vocabulary=60, longest=20)


@pytest.fixture(scope="session")
def planted_qa():
    """Stories with a question each, four places; 240/60/60."""
    from attnlib.data import load_corpus

    return load_corpus("planted", task="qa", n_train=240, n_dev=60, n_test=60)
