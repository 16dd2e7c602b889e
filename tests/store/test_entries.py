"""The store: whole entries or none, whatever happens; damage is found, set aside and mended."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pandas as pd
import pytest
from filelock import FileLock, Timeout

from attnlib.store.entries import CorruptEntry, Store, StoreError
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.store.tasks import to_parquet

KEY = "ab" * 32
OTHER = "cd" * 32


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
    assert store.failures() == {}
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


def damage_delete(folder: Path) -> None:
    (folder / "frames/numbers.parquet").unlink()


def damage_truncate(folder: Path) -> None:
    path = folder / "frames/numbers.parquet"
    path.write_bytes(path.read_bytes()[:-7])


def damage_flip(folder: Path) -> None:
    path = folder / "frames/numbers.parquet"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def damage_done(folder: Path) -> None:
    (folder / "done.json").write_text('{"files": 3}')


def damage_done_binary(folder: Path) -> None:
    (folder / "done.json").write_bytes(b"\xff\x00\xff")


def damage_unfinished(folder: Path) -> None:
    (folder / "done.json").unlink()


@pytest.mark.parametrize(
    "damage",
    [damage_delete, damage_truncate, damage_flip, damage_done, damage_done_binary, damage_unfinished],
)
def test_a_damaged_entry_is_set_aside_and_computed_again(store: Store, damage) -> None:
    import grid_tasks

    runs = [MeasureSpec.of(grid_tasks.square, x=x) for x in range(3)]
    before = run_grid(runs, store=store).frame()
    key = run_grid(runs, store=store).keys[runs[1]]
    folder = store.folder(key)
    (folder / "frames/square.parquet").rename(folder / "frames/numbers.parquet")
    done = json.loads((folder / "done.json").read_text())
    done["files"]["frames/numbers.parquet"] = done["files"].pop("frames/square.parquet")
    (folder / "done.json").write_text(json.dumps(done))
    damage(folder)
    with pytest.warns(UserWarning, match="is damaged: .* moved to .*corrupt.* computed again"):
        result = run_grid(runs, store=store)
    assert (result.cached, result.computed) == (2, 1)
    pd.testing.assert_frame_equal(result.frame(), before)
    assert len(list((store.root / "corrupt").iterdir())) == 1
    log = Path(os.environ["GRID_LOG"]).read_text().split()
    assert sorted(log) == ["0", "1", "1", "2"]


def test_damage_found_while_reading_raises(store: Store) -> None:
    entry = store.put(KEY, files())
    damage_flip(entry.folder)
    with pytest.warns(UserWarning, match="does not match its checksum"), pytest.raises(CorruptEntry):
        entry.frame("numbers")
    assert store.get(KEY) is None
    store.put(KEY, files())
    assert store.get(KEY).frame("numbers")["value"][0] == 1.0


def test_an_entry_that_comes_while_one_looks_is_not_taken_for_damaged(store: Store, monkeypatch) -> None:
    store.put(KEY, files())
    read_bytes = Path.read_bytes

    def late(path: Path) -> bytes:
        """An entry that goes as it is read, and comes back a moment later."""
        patch.undo()
        store.remove(KEY)
        try:
            return read_bytes(path)
        finally:
            Store(store.root).put(KEY, files())

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", late)
        assert store.get(KEY).frame_names == ["numbers"]
    assert not (store.root / "corrupt").exists()


def test_an_entry_mended_by_another_process_is_not_set_aside(store: Store) -> None:
    read = store.put(KEY, files())
    damage_flip(read.folder)
    with pytest.warns(UserWarning, match="is damaged"):
        Store(store.root).get(KEY).damaged("found by another process")
    Store(store.root).put(KEY, files(7.0))
    with pytest.raises(CorruptEntry, match="cannot be read"):
        read.read("gone.parquet")
    assert store.get(KEY).frame("numbers")["value"][0] == 7.0


def test_readers_and_writers_of_one_key_never_see_damage(tmp_path: Path) -> None:
    """Entries that come and go under the eyes of readers in other processes: whole or absent, never set aside."""
    program = f"""
        from pathlib import Path
        from attnlib.store.entries import Store
        store = Store({str(tmp_path)!r})
        print("ready", flush=True)
        while not Path({str(tmp_path / "stop")!r}).exists():
            store.get({KEY!r})
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    readers = [subprocess.Popen(command, **pipes) for _ in range(2)]
    store = Store(tmp_path)
    try:
        for reader in readers:
            assert reader.stdout.readline() == "ready\n"
        for _ in range(200):
            store.put(KEY, files())
            store.remove(KEY)
    finally:
        (tmp_path / "stop").touch()
        said = [reader.communicate(timeout=180) for reader in readers]
    assert said == [("", "")] * 2
    assert not (tmp_path / "corrupt").exists()


def test_a_lock_is_exclusive_and_ends_with_its_holder(store: Store) -> None:
    lock = store.lock(KEY)
    assert Store(store.root).lock(KEY) is None
    assert store.lock(OTHER) is not None
    store.unlock(lock)
    program = f"""
        import sys, time
        from attnlib.store.entries import Store
        lock = Store({str(store.root)!r}).lock({KEY!r})
        print("held" if lock else "refused", flush=True)
        time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline().strip() == b"held"
            assert store.lock(KEY) is None
        finally:
            process.kill()
    again = store.lock(KEY)
    assert again is not None
    store.unlock(again)


def test_rubbish_of_the_dead_is_swept_and_the_living_keep_theirs(store: Store) -> None:
    program = f"""
        import time
        from attnlib.store.entries import Store
        store = Store({str(store.root)!r})
        with store._workspace() as folder:
            (folder / "half").mkdir()
            (folder / "half" / "weights").write_bytes(b"x" * 100)
            print("written", flush=True)
            time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout.readline().strip() == b"written"
            assert Store(store.root).sweep() == []
            assert list((store.root / "tmp").glob("*/half/weights"))
        finally:
            process.kill()
    Store(store.root)  # opening sweeps
    assert list((store.root / "tmp").iterdir()) == []


def test_a_folder_of_another_machine_is_left_for_a_day(store: Store) -> None:
    folder = store.root / "tmp" / "0000beef-1-aa"
    folder.mkdir(parents=True)
    assert store.sweep() == []
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(folder, (long_ago, long_ago))
    assert store.sweep() == [folder]


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are POSIX")
def test_a_full_disk_leaves_finished_runs_and_no_half_ones(store: Store) -> None:
    store.put(OTHER, files())
    program = f"""
        import resource, sys
        from attnlib.store.entries import Store, StoreError
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            Store({str(store.root)!r}).put({KEY!r}, {{"spec.json": b"{{}}", "model/weights": b"x" * 200_000}})
        except StoreError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, check=True
    )
    assert "cannot be written" in done.stdout
    assert "ATTNLIB_STORE" in done.stdout
    assert store.get(KEY) is None
    assert store.get(OTHER).frame("numbers") is not None
    Store(store.root)
    assert list((store.root / "tmp").rglob("weights")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="mounts a small disk")
def test_a_disk_that_is_really_full(tmp_path: Path, small_disk: Path) -> None:
    store = Store(small_disk / "store")
    store.put(OTHER, files())
    with pytest.raises(StoreError) as caught:
        store.put(KEY, {"spec.json": b"{}", "model/weights": b"x" * 2_000_000})
    said = str(caught.value)
    assert f"the disk {small_disk} is full" in said
    assert "2.0 MB are needed" in said
    assert "ATTNLIB_STORE" in said
    assert store.get(KEY) is None
    assert store.get(OTHER).frame("numbers") is not None
    assert list((store.root / "tmp").rglob("weights")) == []


@pytest.mark.parametrize("step", ["lock", "record_failure", "put"])
def test_no_step_of_the_store_gives_a_bare_error(store: Store, monkeypatch, step: str) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", full)
        with pytest.raises(StoreError, match=r"is full.*ATTNLIB_STORE"):
            getattr(store, step)(KEY, *({"lock": (), "put": (files(),)}.get(step, ({},))))


def test_a_store_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match=r"is not a folder.*ATTNLIB_STORE"):
        Store(tmp_path / "store")


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root may write anywhere")
def test_a_store_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match=r"cannot be written.*ATTNLIB_STORE"):
            Store(tmp_path / "deep").put(KEY, files())
    finally:
        tmp_path.chmod(0o700)


def test_killed_while_writing_an_entry_is_whole_or_absent(tmp_path: Path) -> None:
    """SIGKILL after a growing number of system calls in `put`, so that every step is hit."""
    program = """
        import os, signal, sys
        from attnlib.store import entries as runs
        steps, limit = 0, int(sys.argv[2])
        def step():
            global steps
            steps += 1
            if steps == limit:
                os.kill(os.getpid(), signal.SIGKILL)
        write, flush, rename = runs._write, runs._flush_folder, runs.Path.rename
        def torn(path, data):
            step()
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[: len(data) // 2])
            step()
            write(path, data)
        def renaming(self, target):
            step()
            result = rename(self, target)
            step()
            return result
        runs._write = torn
        runs._flush_folder = lambda p: (step(), flush(p))
        runs.Path.rename = renaming
        runs.Store(sys.argv[1]).put("ab" * 32, {"spec.json": b"{}", "a": b"a" * 5000, "b/c": b"c" * 5000})
        print("finished", steps)
    """
    seen = set()
    script = tmp_path / "put.py"
    script.write_text(textwrap.dedent(program))
    for limit in range(1, 40, 2):
        root = tmp_path / f"store{limit}"
        done = subprocess.run(
            [sys.executable, script, root, str(limit)], capture_output=True, text=True, check=False
        )
        store = Store(root)
        assert list((root / "tmp").iterdir()) == [] if (root / "tmp").exists() else True
        entry = store.get("ab" * 32)
        if entry is not None:
            entry.verify()
        if done.returncode != -signal.SIGKILL:
            assert done.stdout.startswith("finished")
            seen.add("finished")
            break
        seen.add("whole" if entry is not None else "absent")
        store.put("ab" * 32, {"spec.json": b"{}"})  # the next call simply goes on
        assert store.get("ab" * 32) is not None
        shutil.rmtree(root)
    assert seen == {"absent", "whole", "finished"}


def test_find_by_prefix(store: Store) -> None:
    store.put(KEY, files())
    store.put(OTHER, files())
    assert store.find("ab").key == KEY
    with pytest.raises(StoreError, match=r"No run .* start with 'ff'"):
        store.find("ff")
    with pytest.raises(StoreError, match="2 runs"):
        store.find("")


def test_removing_is_complete(store: Store) -> None:
    store.put(KEY, files())
    store.remove(KEY)
    store.remove(KEY)
    assert store.get(KEY) is None
    assert list(store) == []


def test_failures_go_when_the_run_succeeds(store: Store) -> None:
    attempt = {"error": "ValueError", "message": "", "traceback": "…"}
    store.record_failure(KEY, {"task": "a:b", "run": {}, "attempts": [attempt]})
    assert store.failures()[KEY]["attempts"][0]["traceback"] == "…"
    store.put(KEY, files())
    assert store.failures() == {}


def test_a_sweep_that_comes_first_costs_a_name_and_no_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process may take a new lock file for rubbish before its maker holds it: lock and remove it."""
    store, other = Store(tmp_path), Store(tmp_path)
    acquire, sweeps = FileLock.acquire, []

    def swept(lock: FileLock, *args, **kwargs):
        if lock.lock_file.startswith(str(tmp_path / "tmp")) and len(sweeps) < 3:
            sweeps.append(lock.lock_file)
            Path(lock.lock_file).touch()
            if len(sweeps) == 1:
                raise Timeout(lock.lock_file)  # the other holds it
            taken = acquire(lock, *args, **kwargs)
            Path(lock.lock_file).unlink()  # the other removed it before we held it
            return taken
        return acquire(lock, *args, **kwargs)

    monkeypatch.setattr(FileLock, "acquire", swept)
    entry = store.put("ab" * 32, {"spec.json": b"{}"})
    assert entry.read("spec.json") == b"{}"
    assert len(sweeps) == 3
    monkeypatch.undo()
    other.sweep()
    assert store.put("cd" * 32, {"spec.json": b"{}"}).key == "cd" * 32
