"""Derived files in the cache folder: made once, verified, shared by processes, and safe to delete."""

from __future__ import annotations

import json
import logging
import shutil
from collections.abc import Callable
from dataclasses import fields
from functools import lru_cache
from pathlib import Path

import numpy as np
from filelock import FileLock

from attnlib.data.preprocess import Preprocessing
from attnlib.data.texts import Ragged, Texts
from attnlib.data.types import SPLITS, Corpus
from attnlib.data.vocabulary import Vocabulary
from attnlib.utils import files, paths
from attnlib.utils.errors import DataError

log = logging.getLogger(__name__)
SUMS = "sha256.json"
"""The file of a folder that lists the SHA-256 of all others."""
PLACE = "/"
"""Where that file says for which key the folder was made."""
RAGGED = ("tokens", "query", "rationale", "sentences")
"""Fields of a text that hold several values."""


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
                (work / SUMS).write_text(json.dumps({PLACE: key, **sums}), encoding="utf-8")
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
        own = sums.pop(PLACE, folder.name) == folder.name
        return own and all(content_key(folder / name) == digest for name, digest in sums.items())
    except (OSError, ValueError, AttributeError):
        return False


def save(corpus: Corpus, folder: Path) -> None:
    """Write `texts.npz`, words as numbers, and `corpus.json`, everything else."""
    arrays = {}
    for split in SPLITS:
        texts = getattr(corpus, split)
        arrays[f"{split}.labels"] = texts.labels
        for name in RAGGED:
            if (part := getattr(texts, name)) is not None:
                arrays |= {f"{split}.{name}.values": part.values, f"{split}.{name}.ends": part.ends}
                arrays |= {} if part.there is None else {f"{split}.{name}.there": part.there}
    np.savez(folder / "texts.npz", **arrays)
    values = {
        **{f.name: getattr(corpus, f.name) for f in fields(Corpus) if f.name not in (*SPLITS, "known")},
        "preprocessing": corpus.preprocessing.model_dump(mode="json"),
        "ids": [getattr(corpus, split).ids for split in SPLITS],
        "words": corpus.train.words,
        "vocabulary": corpus.vocabulary.to_json(),
        "known": corpus.known is not None,
        "fingerprint": corpus.fingerprint,
    }
    (folder / "corpus.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def load(folder: Path) -> Corpus:
    """The inverse of `save`."""
    values = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    words, splits = values.pop("words"), {}
    with np.load(folder / "texts.npz", allow_pickle=False) as file:
        arrays = dict(file)
    for split, ids in zip(SPLITS, values.pop("ids"), strict=True):
        parts = {}
        for name in RAGGED:
            if (held := arrays.get(f"{split}.{name}.values")) is not None:
                parts[name] = Ragged(held, arrays[f"{split}.{name}.ends"], arrays.get(f"{split}.{name}.there"))
        splits[split] = Texts(words, labels=arrays[f"{split}.labels"], ids=ids, **parts)
    vocabulary = Vocabulary.from_json(values.pop("vocabulary"))
    ready = {"vocabulary": vocabulary, "fingerprint": values.pop("fingerprint")}
    values["known"] = vocabulary if values["known"] else None
    values["preprocessing"] = Preprocessing(**values["preprocessing"])
    corpus = Corpus(**splits, **values | {name: tuple(values[name]) for name in ("classes", "notes")})
    vars(corpus).update(ready)  # fills the cached properties
    return corpus
