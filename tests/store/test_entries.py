"""The store: whole entries or none, whatever happens; damage is found, removed and mended."""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest

from attnlib.store.entries import CorruptEntry, Store, StoreError
from attnlib.store.grid import run_grid
from attnlib.store.tasks import to_parquet
from tests.grid_tasks import squares

KEY = "ab" * 32


def files(value: float = 1.0) -> dict[str, bytes]:
    frame = pd.DataFrame({"value": [value, 2.0]})
    return {"spec.json": b'{"task": "t"}', "environment.json": b"{}", "frames/numbers.parquet": to_parquet(frame)}


def test_an_entry_comes_back_as_it_was_put(store: Store) -> None:
    assert store.get(KEY) is None
    entry = store.put(KEY, files())
    assert store.get(KEY).frame("numbers")["value"].tolist() == [1.0, 2.0]
    assert entry.spec == {"task": "t"}
    assert entry.frame_names == ["numbers"]
    assert entry.size == sum(len(data) for data in files().values())
    assert list(store) == [KEY]
    with pytest.raises(StoreError, match=r"no frame 'number'; it holds \['numbers'\]"):
        entry.frame("number")


def test_reading_writes_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path / "absent")
    assert store.get(KEY) is None
    assert list(store) == []
    assert not (tmp_path / "absent").exists()


def test_the_first_entry_stays(store: Store) -> None:
    store.put(KEY, files(1.0))
    store.put(KEY, files(5.0))
    assert store.get(KEY).frame("numbers")["value"][0] == 1.0
    assert not [p for p in (store.root / "tmp").rglob("*") if p.is_file() and p.suffix != ".lock"]


def test_writers_of_one_key_leave_one_whole_entry(tmp_path: Path) -> None:
    def write(value: float) -> None:
        Store(tmp_path).put(KEY, files(value))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(16)))
    entry = Store(tmp_path).get(KEY)
    entry.verify()
    assert entry.frame("numbers")["value"][0] in range(16)
    assert list((tmp_path / "tmp").iterdir()) == []


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data)


DAMAGE = {
    "deleted": lambda folder: (folder / "frames/square.parquet").unlink(),
    "truncated": lambda folder: os.truncate(folder / "frames/square.parquet", 100),
    "flipped": lambda folder: flip(folder / "frames/square.parquet"),
    "other checksums": lambda folder: (folder / "done.json").write_text('{"files": 3}'),
    "unfinished": lambda folder: (folder / "done.json").unlink(),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_removed_and_computed_again(store: Store, damage: str, executions) -> None:
    runs = squares(0, 1, 2)
    before = run_grid(runs, store=store)
    DAMAGE[damage](store.folder(before.keys[runs[1]]))
    with pytest.warns(UserWarning, match="is damaged: .* was removed, and will be computed again"):
        result = run_grid(runs, store=store)
    assert (result.cached, result.computed) == (2, 1)
    pd.testing.assert_frame_equal(result.frame(), before.frame())
    assert executions() == {"0": 1, "1": 2, "2": 1}


def test_an_entry_in_the_place_of_another_is_not_read(store: Store) -> None:
    """A folder that was copied over another holds the result of another run."""
    runs = squares(1, 2)
    before = run_grid(runs, store=store)
    one, two = (store.folder(before.keys[run]) for run in runs)
    shutil.rmtree(two)
    shutil.copytree(one, two)
    with pytest.warns(UserWarning, match=f"it is the result of another run, {one.name[:12]}"):
        after = run_grid(runs, store=store)
    assert (after.cached, after.computed) == (1, 1)
    pd.testing.assert_frame_equal(after.frame(), before.frame())


def test_damage_found_while_reading_raises(store: Store) -> None:
    entry = store.put(KEY, files())
    flip(entry.folder / "frames/numbers.parquet")
    with pytest.warns(UserWarning, match="does not match its checksum"), pytest.raises(CorruptEntry):
        entry.frame("numbers")
    assert store.get(KEY) is None
    store.put(KEY, files())
    assert store.get(KEY).frame("numbers")["value"][0] == 1.0


def test_an_entry_mended_by_another_process_is_not_removed(store: Store) -> None:
    read = store.put(KEY, files())
    store.remove(KEY)
    Store(store.root).put(KEY, files(7.0))
    with pytest.raises(CorruptEntry, match="does not match its checksum"):
        read.read("frames/numbers.parquet")
    assert store.get(KEY).frame("numbers")["value"][0] == 7.0
