"""The store: one folder per finished run, addressed by its key, written atomically.

    STORE/ab/abcd…/   spec.json  environment.json  frames/*.parquet  model/*  done.json
    STORE/tmp/        what is being written or removed
    STORE/locks/      who computes what right now
    STORE/corrupt/    entries that failed their check, set aside
    STORE/failures/   tracebacks of runs that failed for good

An entry is written in `tmp`, gets `done.json` with its key and all checksums last, and is renamed into place:
killed at any moment, a store holds whole entries and leftovers in `tmp`. Readers take no lock. Locks are the
operating system's, so they end with the process that held them.
"""

from __future__ import annotations

import hashlib
import json
import os
import secrets
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError
from attnlib.utils.files import clear, trouble, working, write

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.training.fitted import Fitted

DONE = "done.json"


class StoreError(AttnlibError, OSError):
    """The store cannot be written or read."""


class CorruptEntry(AttnlibError):
    """An entry failed its check. It has been set aside; computing it again is safe."""


class Entry:
    """One finished run. Its files are checked against their checksums when they are read."""

    def __init__(self, store: Store, key: str) -> None:
        self.store, self.key, self.folder = store, key, store.folder(key)
        self.done = (self.folder / DONE).read_bytes()
        said = json.loads(self.done)
        self.files = {name: (int(size), str(digest)) for name, (size, digest) in said["files"].items()}
        if said["key"] != key:
            raise ValueError(f"it is the result of another run, {said['key'][:12]}")
        for name, (size, _) in self.files.items():
            if (found := (self.folder / name).stat().st_size) != size:
                raise ValueError(f"{name} has {found:,} bytes instead of {size:,}")

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
        import pyarrow as pa
        from pyarrow.parquet import ParquetFile

        file = f"frames/{name}.parquet"
        if file not in self.files:
            raise StoreError(f"Run {self.key[:12]} holds no frame {name!r}; it holds {self.frame_names}.")
        return ParquetFile(pa.BufferReader(self.read(file))).read(use_threads=False).to_pandas()

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
        with suppress(FileNotFoundError):
            if (self.folder / DONE).read_bytes() == self.done:
                self.store.set_aside(self.key, reason)
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

        if not self.model_files():
            raise StoreError(f"Run {self.key[:12]} holds no model; it holds {sorted(self.files)}.")
        return load_model(self.folder / "model")


class Store:
    """Finished runs below `root` (default: ATTNLIB_STORE). Several processes may share it.

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
            os.listdir(self.root)
        except FileNotFoundError:
            return  # made when something is written
        except OSError as error:
            said = f"The store {self.root} cannot be read: {error.strerror}."
            raise StoreError(f"{said} Set ATTNLIB_STORE to a folder of yours.") from error
        self.sweep()

    def folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def get(self, key: str) -> Entry | None:
        """The entry, or None. One whose files are missing or of another size is set aside with a warning."""
        reason = ""
        for _ in range(2):  # one that goes or comes while we look may seem damaged at first
            if not self.folder(key).exists():
                return None
            try:
                return Entry(self, key)
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                reason = str(error) or type(error).__name__
        self.set_aside(key, reason)
        return None

    def set_aside(self, key: str, reason: str) -> None:
        """Move a damaged entry to `corrupt`, with a warning."""
        target = self.root / "corrupt" / f"{key}-{secrets.token_hex(3)}"
        try:
            target.parent.mkdir(exist_ok=True)
            self.folder(key).rename(target)
        except FileNotFoundError:
            return  # another process has done it
        except OSError as error:
            raise StoreError(f"Run {key[:12]} is damaged, and cannot be moved out of the way: {error}.") from error
        message = f"Run {key[:12]} in {self.root} is damaged: {reason}. It was moved to {target}."
        warnings.warn(f"{message} It will be computed again.", stacklevel=3)

    def put(self, key: str, files: Mapping[str, bytes]) -> Entry:
        """Write an entry. Where another process was faster, its entry stays and this one is dropped."""
        with self._writing(needed=sum(map(len, files.values()))), self._workspace(key) as draft:
            checks = {}
            for name, data in files.items():
                _write(draft / name, data)
                checks[name] = (len(data), hashlib.sha256(data).hexdigest())
            _write(draft / DONE, json.dumps({"key": key, "files": checks}, indent=1).encode())
            self.get(key)  # a damaged entry there is set aside
            home = self.folder(key)
            home.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.rename(home)
            except OSError:
                if not home.exists():
                    raise
        (self.root / "failures" / f"{key}.json").unlink(missing_ok=True)
        return Entry(self, key)

    def lock(self, key: str) -> FileLock | None:
        """The right to compute a run, or None while another process has it. Ask `get` again after taking it."""
        folder = self.root / "locks"
        lock = FileLock(folder / f"{key}.lock", thread_local=False, mode=0o666)
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
        entry = self.get(found[0]) if len(found) == 1 else None
        if entry is None:
            state = f"{len(found)} runs" if len(found) > 1 else "No run"
            raise StoreError(f"{state} in {self.root} start with {prefix!r}. `attnlib runs list` prints the keys.")
        return entry

    def record_failure(self, key: str, record: Mapping[str, Any]) -> None:
        """Keep the traceback of a run that failed; it is removed when the run succeeds."""
        path = self.root / "failures" / f"{key}.json"
        with self._writing():
            path.parent.mkdir(parents=True, exist_ok=True)
            write(path, json.dumps(record, indent=1, ensure_ascii=False, default=str))

    def failures(self) -> dict[str, dict[str, Any]]:
        """Key -> record of the runs that failed and have not succeeded since."""
        found = {}
        for path in sorted((self.root / "failures").glob("*.json")):
            with suppress(OSError, ValueError, TypeError, AttributeError, LookupError):  # cut short or edited
                record = json.loads(path.read_text("utf-8"))
                if {"task", "run"} <= record.keys() and {"error", "message"} <= record["attempts"][-1].keys():
                    found[path.stem] = record
        return found

    def remove(self, key: str) -> None:
        """Delete an entry: out of sight in one step, then file by file."""
        with self._writing(), self._workspace(key) as grave, suppress(FileNotFoundError):
            self.folder(key).rename(grave / key)

    def sweep(self, *, locks: bool = False) -> None:
        """Remove what dead processes left in `tmp`, and on demand their `locks`; those of live ones stay."""
        for path in (self.root / "locks").glob("*.lock") if locks else ():
            if (held := self.lock(path.stem)) is not None:
                self.unlock(held)
        clear(self.root / "tmp")

    @contextmanager
    def _writing(self, needed: int = 0) -> Iterator[None]:
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


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
