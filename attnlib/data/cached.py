"""Derived files in the cache folder: made once, verified, shared by processes, and safe to delete."""

from __future__ import annotations

import json
import logging
import shutil
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import SPLITS, Corpus, Example, Vocabulary
from attnlib.utils import files, paths
from attnlib.utils.errors import DataError

log = logging.getLogger(__name__)
SUMS = "sha256.json"
"""The file of a folder that lists the SHA-256 of all others."""


def cached(kind: str, key: str, make: Callable[[Path], object]) -> Path:
    """The folder `kind/key` of the cache, filled by `make(folder)` at the first call.

    The folder appears whole or not at all, and processes that ask for it at the same time wait for one of them.
    Files that are no longer what was written are made again.
    """
    folder = paths.cache() / kind / key
    if _whole(folder):
        return folder
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        files.check_writable(folder.parent)
    except OSError as error:
        raise DataError(files.trouble(error, folder.parent, "name another with ATTNLIB_CACHE")) from None
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
    """Whether all files are there, and are what was written in this place."""
    try:
        sums = json.loads((folder / SUMS).read_text(encoding="utf-8"))
        return all(content_key(folder / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def save(corpus: Corpus, folder: Path) -> None:
    """Write `corpus.json`: texts as lists of words, and everything else."""
    values = {f.name: getattr(corpus, f.name) for f in fields(Corpus)}
    for split in SPLITS:
        values[split] = [[getattr(text, name) for name in Example.__slots__] for text in values[split]]
    values |= {"preprocessing": corpus.preprocessing.model_dump(), "known": corpus.known is not None}
    ready = {"vocabulary": corpus.vocabulary.to_json(), "fingerprint": corpus.fingerprint}
    (folder / "corpus.json").write_text(json.dumps([values, ready]), encoding="utf-8")


def load(folder: Path) -> Corpus:
    """The inverse of `save`."""
    values, ready = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    for split in SPLITS:
        values[split] = tuple(_example(*held) for held in values[split])
    ready["vocabulary"] = Vocabulary.from_json(ready["vocabulary"])
    values["known"] = ready["vocabulary"] if values["known"] else None
    values["preprocessing"] = Preprocessing(**values["preprocessing"])
    corpus = Corpus(**values | {name: tuple(values[name]) for name in ("classes", "notes")})
    vars(corpus).update(ready)  # fills the cached properties
    return corpus


def _example(tokens: list[str], *held: Any) -> Example:
    return Example(tuple(map(sys.intern, tokens)), *(tuple(v) if isinstance(v, list) else v for v in held))
