"""The store when things go wrong: processes killed, disks full, folders swept while others write there."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from attnlib.store.entries import Store, StoreError

KEY = "ab" * 32
OTHER = "cd" * 32
FILES = {"spec.json": b"{}", "frames/numbers": b"1" * 1000}


def python(program: str) -> list[str]:
    return [sys.executable, "-c", textwrap.dedent(program)]


@contextmanager
def until_killed(program: str) -> Iterator[str]:
    """A process that says a word, and is killed at the end."""
    with subprocess.Popen(python(program), stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


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
    with until_killed(program) as said:
        assert said == "held"
        assert store.lock(KEY) is None
    again = store.lock(KEY)
    assert again is not None
    store.unlock(again)


def test_rubbish_of_the_dead_is_swept_and_the_living_keep_theirs(store: Store) -> None:
    program = f"""
        import time
        from attnlib.store.entries import Store
        store = Store({str(store.root)!r})
        with store._workspace("ab") as folder:
            (folder / "half").mkdir()
            (folder / "half" / "weights").write_bytes(b"x" * 100)
            print("written", flush=True)
            time.sleep(600)
    """
    with until_killed(program) as said:
        assert said == "written"
        Store(store.root)
        assert list((store.root / "tmp").glob("*/half/weights"))
    Store(store.root)  # opening sweeps
    assert list((store.root / "tmp").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits on file sizes are POSIX")
def test_a_full_disk_leaves_finished_runs_and_no_half_ones(store: Store) -> None:
    store.put(OTHER, FILES)
    program = f"""
        import resource, sys
        from attnlib.store.entries import Store, StoreError
        resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
        try:
            Store({str(store.root)!r}).put({KEY!r}, {{"spec.json": b"{{}}", "model/weights": b"x" * 200_000}})
        except StoreError as error:
            print(error)
    """
    done = subprocess.run(python(program), capture_output=True, text=True, check=True)
    assert "cannot be written" in done.stdout
    assert "ATTNLIB_STORE" in done.stdout
    assert store.get(KEY) is None
    store.get(OTHER).verify()
    Store(store.root)
    assert list((store.root / "tmp").rglob("weights")) == []


def test_a_store_that_is_a_file_says_so(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("")
    with pytest.raises(StoreError, match=r"Not a directory.*ATTNLIB_STORE"):
        Store(tmp_path / "store")


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
        write, rename = runs._write, runs.Path.rename
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
        runs.Path.rename = renaming
        runs.Store(sys.argv[1]).put("ab" * 32, {"spec.json": b"{}", "a": b"a" * 5000, "b/c": b"c" * 5000})
        print("finished", steps)
    """
    seen = set()
    script = tmp_path / "put.py"
    script.write_text(textwrap.dedent(program))
    for limit in range(1, 40):
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
