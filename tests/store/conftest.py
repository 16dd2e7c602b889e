"""Fixtures of the store: an empty one, and tasks that workers can import and that count how often they ran."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from attnlib.store.entries import Store


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setenv("GRID_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")  # workers on the CPU, wherever the tests run
    for name in ("ATTNLIB_EXECUTOR", "ATTNLIB_JOBS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


@pytest.fixture
def executions(tmp_path: Path) -> Callable[[], Counter[str]]:
    """How often each task ran so far."""

    def count() -> Counter[str]:
        path = tmp_path / "log"
        return Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()

    return count
