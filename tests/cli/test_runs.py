"""attnlib runs list, gc."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click.testing
import pytest

from attnlib.cli.main import main
from attnlib.store.entries import Store
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec

OLD = "0f" * 32


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Two squares, one failure, and an old entry made by other code."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1]))
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path))
    runs = [MeasureSpec.of("grid_tasks:fails_on_three", x=x, label={"seed": x}) for x in (1, 2, 3)]
    store = Store()
    run_grid(runs, store=store)
    finished = (datetime.now(UTC) - timedelta(days=40)).isoformat()
    code = {"attnlib": "older"}
    spec = {"task": "grid_tasks:square", "kind": "measure", "columns": {}, "run": {"x": 9}, "code": code}
    environment = {"finished": finished, "seconds": 90.0}
    store.put(OLD, {"spec.json": json.dumps(spec).encode(), "environment.json": json.dumps(environment).encode()})
    return store


def attn(*arguments: str, code: int = 0) -> str:
    result = click.testing.CliRunner().invoke(main, ["runs", *arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_list(store: Store) -> None:
    *rows, last = attn("list").splitlines()
    assert [row[:12] for row in rows][2] == OLD[:12], "the newest first"
    assert "1 min 30 s" in rows[2]
    assert last.startswith("3 runs (")


def test_gc_removes_what_is_asked_for_and_nothing_else(store: Store) -> None:
    store.remove(next(k for k in store if k != OLD))
    assert len(list(store)) == 2
    assert "would be removed: 0f0f0f0f0f0f" in attn("gc", "--older-than", "30", "--dry-run")
    assert len(list(store)) == 2
    assert "0 runs" in attn("gc", "--older-than", "42")
    assert OLD in list(store)
    assert "1 runs" in attn("gc", "--stale")
    assert len(list(store)) == 1
    assert OLD not in list(store)
    assert "1 runs" in attn("gc", "--older-than", "0")
    assert list(store) == []
