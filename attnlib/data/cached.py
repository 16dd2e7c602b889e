"""Derived files in the cache folder: made once, verified, shared by processes, and safe to delete."""

from __future__ import annotations

import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from filelock import FileLock

from attnlib.utils import files, paths

log = logging.getLogger(__name__)
SUMS = "sha256.json"
"""The file of a folder that lists the SHA-256 of all others."""
_temporary: dict[Path, tempfile.TemporaryDirectory] = {}


def cached(kind: str, key: str, make: Callable[[Path], object]) -> Path:
    """The folder `kind/key` of the cache, filled by `make(folder)` at the first call.

    The folder appears whole or not at all, and processes that ask for it at the same time wait for one of them.
    Files that are no longer what was written are made again. Where the cache cannot be written, the folder lives
    as long as this process, and the log says so.
    """
    folder = paths.cache() / kind / key
    if _whole(folder) or _whole(folder := _place(folder)):
        return folder
    with FileLock(f"{folder}.lock"):
        if not _whole(folder):  # another process may have made it while this one waited
            if folder.exists():
                log.warning("%s has changed since it was made; making it again.", folder)
            work = files.working(folder)
            try:
                make(work)
                sums = {p.relative_to(work).as_posix(): files.sha256(p) for p in work.rglob("*") if p.is_file()}
                (work / SUMS).write_text(json.dumps(sums), encoding="utf-8")
                files.replace(work, folder)
            finally:
                shutil.rmtree(work, ignore_errors=True)
    return folder


def content_key(path: Path) -> str:
    """The SHA-256 of a file, computed once per process unless the file changes."""
    found = path.stat()
    return _sha256(path, found.st_size, found.st_mtime_ns)


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, changed: int) -> str:
    return files.sha256(path)


def _whole(folder: Path) -> bool:
    """Whether all files are there, and are what was written."""
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        return all(content_key(folder / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def _place(folder: Path) -> Path:
    """The folder itself, or one of this process where its place cannot be written."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        files.check_writable(folder.parent)
    except OSError as error:
        if folder not in _temporary:
            log.warning("%s", files.trouble(error, folder.parent, "set ATTNLIB_CACHE; this process works without"))
            _temporary[folder] = tempfile.TemporaryDirectory(prefix="attnlib-")
        return Path(_temporary[folder].name) / folder.name
    return folder
