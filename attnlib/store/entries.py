"""The store: one folder per finished run, addressed by its key, written atomically.

    STORE/ab/abcd…/   spec.json  environment.json  frames/*.parquet  model/*  done.json
    STORE/tmp/        what is being written or removed
    STORE/locks/      who computes what right now

An entry is written in `tmp`, gets `done.json` with its key and all checksums last, and is renamed into place:
killed at any moment, a store holds whole entries and leftovers in `tmp`. Locks end with the process that held them.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError
from attnlib.utils.files import clear, trouble, working

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.training.fitted import Fitted

DONE = "done.json"


class StoreError(AttnlibError, OSError):
    """The store cannot be written or read."""


class CorruptEntry(AttnlibError):
    """An entry failed its check. It has been removed; computing it again is safe."""


class Entry:
    """One finished run. Its files are checked against their checksums when they are read."""

    def __init__(self, store: Store, key: str, done: bytes) -> None:
        self.store, self.key, self.folder, self.done = store, key, store.folder(key), done
        said = json.loads(done)
        self.files = {name: (int(size), str(digest)) for name, (size, digest) in said["files"].items()}
        if said["key"] != key:
            raise ValueError(f"it is the result of another run, {said['key'][:12]}")
        self.size = sum(size for size, _ in self.files.values())

    @property
    def spec(self) -> dict[str, Any]:
        """The run: its configs, code and columns."""
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

        if name not in self.frame_names:
            raise StoreError(f"Run {self.key[:12]} holds no frame {name!r}; it holds {self.frame_names}.")
        data = pa.BufferReader(self.read(f"frames/{name}.parquet"))
        return ParquetFile(data).read(use_threads=False).to_pandas()

    def read(self, name: str) -> bytes:
        """A file's bytes. Where these are not what was written, the entry is removed, and CorruptEntry raised."""
        try:
            data = (self.folder / name).read_bytes()
            reason = f"{name} does not match its checksum"
        except OSError as error:
            data, reason = b"", f"{name} cannot be read: {error}"
        if hashlib.sha256(data).hexdigest() != self.files[name][1]:
            raise self.store.discard(self.key, self.done, reason)
        return data

    def verify(self, prefix: str = "") -> None:
        """Check every file whose name starts with `prefix`; raises CorruptEntry."""
        for name in self.files:
            if name.startswith(prefix):
                self.read(name)

    def model_files(self) -> tuple[tuple[str, bytes], ...]:
        """The files of a trained model: what travels to a worker without a shared disk."""
        return tuple((n[len("model/") :], self.read(n)) for n in self.files if n.startswith("model/"))

    def fitted(self) -> Fitted:
        """The trained model."""
        from attnlib.training.fitted import load_model

        self.verify("model/")
        return load_model(self.folder / "model")


class Store:
    """Finished runs below `root` (default: ATTNLIB_STORE), which several processes may share.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     store = al.Store(folder)
    ...     entry = store.put("3fa9c1".ljust(64, "0"), {"spec.json": b"{}"})
    ...     print(store.get(entry.key).key == entry.key, store.get("0" * 64))
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
        clear(self.root / "tmp")

    def folder(self, key: str) -> Path:
        return self.root / key[:2] / key

    def get(self, key: str) -> Entry | None:
        """The entry, or None. One that was never finished, or is of another key, is removed with a warning."""
        done = b""
        if self.folder(key).exists():
            try:
                done = (self.folder(key) / DONE).read_bytes()
                return Entry(self, key, done)
            except (OSError, ValueError, TypeError, LookupError, AttributeError) as error:
                self.discard(key, done, str(error))
        return None

    def discard(self, key: str, done: bytes, reason: str) -> CorruptEntry:
        """Remove a damaged entry with a warning, unless another process has put a new one in its place."""
        path = self.folder(key) / DONE
        said = f"Run {key[:12]} in {self.root} is damaged: {reason}."
        if (path.read_bytes() if path.exists() else b"") == done:
            self.remove(key)
            warnings.warn(f"{said} It was removed, and will be computed again.", stacklevel=3)
        return CorruptEntry(said)

    def put(self, key: str, files: Mapping[str, bytes]) -> Entry:
        """Write an entry. Where another process was faster, its entry stays and this one is dropped."""
        with self._writing(), self._workspace(key) as draft:
            checks = {name: (len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()}
            done = json.dumps({"key": key, "files": checks}, indent=1).encode()
            for name, data in {**files, DONE: done}.items():
                _write(draft / name, data)
            if (held := self.get(key)) is not None:  # else a damaged one is gone now
                return held
            home = self.folder(key)
            home.parent.mkdir(parents=True, exist_ok=True)
            try:
                draft.rename(home)
            except OSError:
                if not home.exists():
                    raise
            return Entry(self, key, (home / DONE).read_bytes())

    def lock(self, key: str) -> FileLock | None:
        """The right to compute a run, or None while another process has it. Ask `get` again after taking it."""
        lock = FileLock(self.root / "locks" / f"{key}.lock", thread_local=False)
        with self._writing():
            Path(lock.lock_file).parent.mkdir(parents=True, exist_ok=True)
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
        """Every finished run with its spec and environment; a damaged one is removed with a warning."""
        for key in self:
            with suppress(CorruptEntry):
                if (entry := self.get(key)) is not None:
                    yield entry, entry.spec, entry.environment

    def remove(self, key: str) -> None:
        """Delete an entry: out of sight in one step, then file by file."""
        with self._writing(), self._workspace(key) as grave, suppress(FileNotFoundError):
            self.folder(key).rename(grave / key)

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """What the disk refuses becomes an error that says which disk, why, and how to continue."""
        try:
            yield
        except StoreError:
            raise
        except OSError as error:
            said = trouble(error, self.root, "choose another folder with ATTNLIB_STORE")
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
