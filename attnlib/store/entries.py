"""The store: one folder per finished run, addressed by its key, written atomically.

    STORE/ab/abcd…/   spec.json  environment.json  frames/*.parquet  model/*  done.json
    STORE/tmp/        what is being written or removed
    STORE/locks/      who computes what right now
    STORE/corrupt/    entries that failed their check, set aside
    STORE/failures/   tracebacks of runs that failed for good
    STORE/moves.lock  held while an entry comes or goes

An entry is written in `tmp`, flushed to the disk, gets `done.json` with the checksum of every file last, and is
renamed into place: killed at any moment, a store holds whole entries and leftovers in `tmp`, never half an entry.
Readers take no lock, so an entry may come or go while they look; only the very folder that was found damaged is set
aside, never one that took its place meanwhile (`done.json` says when it is another).
Locks are the operating system's, so they end with the process that held them, however it ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError
from attnlib.utils.files import clear, trouble, working, write

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from attnlib.training.fitted import Fitted

DONE = "done.json"


class StoreError(AttnlibError, OSError):
    """The store cannot be written or read at all."""


class CorruptEntry(AttnlibError):
    """An entry failed its check. It has been set aside; computing it again is safe."""


class Entry:
    """One finished run. Files are checked against their checksums when they are read.

    done   `done.json` as it was read, b"" where it was missing: which entry this is
    fault  what is wrong with it at first sight
    """

    def __init__(
        self, store: Store, key: str, files: Mapping[str, tuple[int, str]], done: bytes, fault: str = ""
    ) -> None:
        self.store, self.key, self.files, self.done, self.fault = store, key, files, done, fault
        self.folder = store.folder(key)

    def __repr__(self) -> str:
        return f"Entry({self.key[:12]}, {', '.join(sorted(self.files))})"

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(size for size, _ in self.files.values())

    @property
    def spec(self) -> dict[str, Any]:
        """The run, as written: its configs, identity and columns."""
        return json.loads(self.read("spec.json"))

    @property
    def environment(self) -> dict[str, Any]:
        """Versions, platform, device, seconds, and when it was finished."""
        return json.loads(self.read("environment.json"))

    @property
    def frame_names(self) -> list[str]:
        return sorted(n[len("frames/") : -len(".parquet")] for n in self.files if n.startswith("frames/"))

    def frame(self, name: str) -> pd.DataFrame:
        """One of the run's frames."""
        return self.table(name).to_pandas()

    def table(self, name: str) -> pa.Table:
        """The same as Arrow has it: what many small frames are joined from in a fraction of the time."""
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        file = f"frames/{name}.parquet"
        if file not in self.files:
            raise StoreError(f"Run {self.key[:12]} holds no frame {name!r}; it holds {self.frame_names}.")
        try:
            return ParquetFile(pa.BufferReader(self.read(file))).read(use_threads=False)
        except (OSError, ValueError) as error:  # pyarrow's errors derive from these
            raise self.damaged(f"{file} is not readable parquet: {error}") from error

    def read(self, name: str) -> bytes:
        """A file's bytes, checked."""
        try:
            data = (self.folder / name).read_bytes()
        except OSError as error:
            raise self.damaged(f"{name} cannot be read: {error}") from error
        if hashlib.sha256(data).hexdigest() != self.files[name][1]:
            raise self.damaged(f"{name} does not match its checksum")
        return data

    def damaged(self, reason: str) -> CorruptEntry:
        """Set this entry aside with a warning, unless another has taken its place; returns the error to raise."""
        self.store._set_aside(self.key, lambda now: reason if now.done == self.done else "")
        return CorruptEntry(f"Run {self.key[:12]} in {self.store.root} is damaged: {reason}.")

    def verify(self, prefix: str = "") -> None:
        """Check every file whose name starts with `prefix`; raises CorruptEntry."""
        for name in self.files:
            if name.startswith(prefix):
                self.read(name)

    def model_files(self) -> dict[str, bytes]:
        """The files of a trained model, checked: what travels to a worker without a shared disk."""
        return {n[len("model/") :]: self.read(n) for n in self.files if n.startswith("model/")}

    def fitted(self) -> Fitted:
        """The trained model."""
        from attnlib.training.fitted import load_model

        if not any(n.startswith("model/") for n in self.files):
            raise StoreError(f"Run {self.key[:12]} holds no model; it holds {sorted(self.files)}.")
        self.verify("model/")
        return load_model(self.folder / "model")


class Store:
    """Finished runs below `root` (default: `attnlib.utils.paths.store()`). Several processes may share it.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = al.Store(folder)
    ...     entry = store.put("3fa9c1".ljust(64, "0"), {"spec.json": b"{}"})
    ...     print(store.find("3fa9").key == entry.key, store.get("0" * 64))
    True None
    """

    def __init__(self, root: str | os.PathLike[str] | None = None) -> None:
        self.root = Path(root).expanduser().resolve() if root is not None else paths.store()
        try:
            os.scandir(self.root).close()
        except FileNotFoundError:
            return  # made when something is written
        except OSError as error:
            folder = isinstance(error, NotADirectoryError)
            what = "is not a folder" if folder else f"cannot be read: {error.strerror}"
            raise StoreError(f"The store {self.root} {what}. Set ATTNLIB_STORE to a folder of yours.") from error
        self.sweep()

    def __repr__(self) -> str:
        return f"Store({str(self.root)!r})"

    def folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def get(self, key: str) -> Entry | None:
        """The entry, or None. One whose files are missing or of another size is set aside with a warning."""
        found = self._look(key)
        return self._set_aside(key, lambda now: now.fault) if found is not None and found.fault else found

    def _look(self, key: str) -> Entry | None:
        """What is in an entry's place now. An entry that comes or goes meanwhile may look damaged."""
        folder = self.folder(key)
        if not folder.exists():
            return None
        done, files, fault = b"", {}, ""
        try:
            done = (folder / DONE).read_bytes()
            said = json.loads(done)
            files = {name: (int(size), str(digest)) for name, (size, digest) in said["files"].items()}
            if said["key"] != key:
                fault = f"it is the result of another run, {said['key'][:12]}"
            for name, (size, _) in files.items():
                if (found := (folder / name).stat().st_size) != size:
                    fault = f"{name} has {found:,} bytes instead of {size:,}"
        except FileNotFoundError as error:
            fault = f"{Path(error.filename).relative_to(folder)} is missing"
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            fault = f"{DONE} cannot be read: {error}"
        return Entry(self, key, files, done, fault)

    def put(self, key: str, files: Mapping[str, bytes]) -> Entry:
        """Write an entry. Where another process was faster, its entry stays and this one is dropped."""
        with self._writing(needed=sum(map(len, files.values()))), self._workspace(key) as draft:
            checks = {}
            for name, data in files.items():
                _write(draft / name, data)
                checks[name] = (len(data), hashlib.sha256(data).hexdigest())
            done = json.dumps({"key": key, "written": secrets.token_hex(8), "files": checks}, indent=1)
            for folder in [*(p for p in draft.rglob("*") if p.is_dir()), draft]:
                _flush_folder(folder)
            _write(draft / DONE, done.encode())
            _flush_folder(draft)
            self.get(key)  # a damaged entry there is set aside
            home = self.folder(key)
            home.parent.mkdir(parents=True, exist_ok=True)
            with self._moves():
                if not home.exists():
                    draft.rename(home)
            _flush_folder(home.parent)
        (self.root / "failures" / f"{key}.json").unlink(missing_ok=True)
        entry = self.get(key)
        if entry is None:
            raise StoreError(f"Run {key[:12]} vanished from {self.root} as soon as it was written.")
        return entry

    def lock(self, key: str) -> FileLock | None:
        """The right to compute a run, or None while another process has it. Ask `get` again after taking it."""
        folder = self.root / "locks"
        lock = _lock(folder / f"{key}.lock")
        with self._writing():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                lock.acquire(blocking=False)
            except Timeout:
                return None
        return lock

    def unlock(self, lock: FileLock) -> None:
        """Release the lock. Its file is removed too: whoever waits for it asks `get` again."""
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()

    def _set_aside(self, key: str, fault: Callable[[Entry], str]) -> Entry | None:
        """Move an entry to `corrupt` and warn, if `fault` still finds one while nothing can come or go; otherwise
        return what is there."""
        target = self.root / "corrupt" / f"{key}-{secrets.token_hex(3)}"
        try:
            with self._moves():
                now = self._look(key)
                if now is None or not (reason := fault(now)):
                    return now
                target.parent.mkdir(exist_ok=True)
                self.folder(key).rename(target)
        except OSError as error:
            raise StoreError(f"Run {key[:12]} is damaged, and cannot be moved out of the way: {error}.") from error
        message = f"Run {key[:12]} in {self.root} is damaged: {reason}. It was moved to {target}."
        warnings.warn(f"{message} It will be computed again.", stacklevel=4)
        return None

    def _moves(self) -> FileLock:
        """Held while an entry comes or goes. A new lock each time, so that threads exclude each other too."""
        return _lock(self.root / "moves.lock")

    def __iter__(self) -> Iterator[str]:
        """Keys of all finished runs."""
        for folder in sorted(self.root.glob("[0-9a-f][0-9a-f]/*")):
            if len(folder.name) == 64 and folder.is_dir():
                yield folder.name

    def described(self) -> Iterator[tuple[Entry, dict[str, Any], dict[str, Any]]]:
        """Every finished run with its spec and environment; a damaged one is set aside with a warning."""
        for key in self:
            with suppress(CorruptEntry):
                if (entry := self.get(key)) is not None:
                    yield entry, entry.spec, entry.environment

    def find(self, prefix: str) -> Entry:
        """The one entry whose key starts with `prefix`."""
        found = [key for key in self if key.startswith(prefix)]
        if len(found) != 1:
            state = "No run" if not found else f"{len(found)} runs"
            raise StoreError(f"{state} in {self.root} start with {prefix!r}. `attnlib runs list` prints the keys.")
        entry = self.get(found[0])
        if entry is None:
            raise CorruptEntry(f"Run {found[0][:12]} was damaged and has been set aside.")
        return entry

    def record_failure(self, key: str, record: Mapping[str, Any]) -> Path:
        """Keep the traceback of a run that failed; it is removed when the run succeeds."""
        path = self.root / "failures" / f"{key}.json"
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, json.dumps(record, indent=1, ensure_ascii=False, default=str))
        return path

    def failures(self) -> dict[str, dict[str, Any]]:
        """Key -> record of the runs that failed and have not succeeded since."""
        found = {}
        for path in sorted((self.root / "failures").glob("*.json")):
            try:
                record = json.loads(path.read_text("utf-8"))
                complete = {"task", "run"} <= record.keys()
                complete &= all({"error", "message", "traceback"} <= a.keys() for a in record["attempts"] or [{}])
            except (OSError, ValueError, TypeError, AttributeError, LookupError):
                continue  # cut short or edited: there is nothing to learn from it
            if complete:
                found[path.stem] = record
        return found

    def remove(self, key: str) -> None:
        """Delete an entry: out of sight in one step, then file by file."""
        with self._writing(), self._workspace(key) as grave, suppress(FileNotFoundError), self._moves():
            self.folder(key).rename(grave / key)

    def sweep(self, *, locks: bool = False) -> None:
        """Remove what dead processes left in `tmp`, and on demand their `locks`; those of live ones stay."""
        for path in (self.root / "locks").glob("*.lock") if locks else ():
            if (held := self.lock(path.stem)) is not None:
                self.unlock(held)
        clear(self.root / "tmp")

    @contextmanager
    def _writing(self, needed: int | None = None) -> Iterator[None]:
        """What the disk refuses becomes an error that says which disk, why, and how to continue."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            said = trouble(error, self.root, "choose another folder with ATTNLIB_STORE", needed=needed)
            raise StoreError(f"{said} Finished runs are kept: the same call continues from there.") from error

    @contextmanager
    def _workspace(self, key: str) -> Iterator[Path]:
        """A folder in `tmp`, gone afterwards, or swept when this process is."""
        folder = working(self.root / "tmp" / key)
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _lock(file: Path) -> FileLock:
    """A lock that another user may take over when its holder is gone: who may write to the folder may lock it."""
    return FileLock(file, thread_local=False, mode=0o666)


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(path: Path) -> None:
    if os.name == "posix":  # elsewhere folders cannot be opened
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
