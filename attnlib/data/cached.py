"""Derived files in the cache folder: made once, verified, shared by processes, and safe to delete.

Assembled corpora are among them, tokenised once, under the hash of their raw texts, the settings and the code.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import tempfile
import unicodedata
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from filelock import FileLock

from attnlib.config import DataConfig
from attnlib.data.preprocess import Preprocessing
from attnlib.data.texts import Ragged, Texts
from attnlib.data.types import SPLITS, Corpus, RawCorpus
from attnlib.data.vocabulary import Vocabulary
from attnlib.utils import files, paths

log = logging.getLogger(__name__)
SUMS = "sha256.json"
"""The file of a folder that lists the SHA-256 of all others."""
FEW = 500
"""Fewer texts than this are tokenised again every time."""
LONG = 100
"""Words of a text that comes in words from which to clean them takes as long as to tokenise a sentence."""
RAGGED = ("tokens", "query", "rationale", "sentences")
"""Fields of a text that hold several values."""
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


def tokenised(raw: RawCorpus, config: DataConfig, assembled: Callable[[RawCorpus, DataConfig], Corpus]) -> Corpus:
    """`assembled(raw, config)`, from the cache where it has been made before."""
    digest, count = hashlib.sha256(f"{rules()} {replace(raw, rows=[])!r} {config!r}".encode()), 0
    for row in raw.rows:
        digest.update(repr(row).encode())
        count += row.tokens is None or len(row.tokens) >= LONG
    if count < FEW:
        return assembled(raw, config)
    made: list[Corpus] = []

    def make(folder: Path) -> None:
        made.append(assembled(raw, config))
        save(made[0], folder)

    folder = cached("corpora", digest.hexdigest(), make)
    return made[0] if made else load(folder)


def save(corpus: Corpus, folder: Path) -> None:
    """Write `texts.parquet`, words as numbers, and `corpus.json`, everything else."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    parts = [_table(getattr(corpus, split)) for split in SPLITS]
    parquet.write_table(pa.concat_tables(parts), folder / "texts.parquet")
    values = {
        **{f.name: getattr(corpus, f.name) for f in fields(Corpus) if f.name not in (*SPLITS, "known")},
        "preprocessing": corpus.preprocessing.model_dump(mode="json"),
        "sizes": {split: len(getattr(corpus, split)) for split in SPLITS},
        "words": corpus.train.words,
        "vocabulary": corpus.vocabulary.to_json(),
        "known": corpus.known is not None,
        "fingerprint": corpus.fingerprint,
    }
    (folder / "corpus.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def load(folder: Path) -> Corpus:
    """The inverse of `save`."""
    import pyarrow.parquet as parquet

    values = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    table, words = parquet.read_table(folder / "texts.parquet"), values.pop("words")
    splits, start = {}, 0
    for split, n in values.pop("sizes").items():
        splits[split] = _texts(table.slice(start, n), words)
        start += n
    vocabulary = Vocabulary.from_json(values.pop("vocabulary"))
    ready = {"vocabulary": vocabulary, "fingerprint": values.pop("fingerprint")}
    values["known"] = vocabulary if values["known"] else None
    values["preprocessing"] = Preprocessing(**values["preprocessing"])
    corpus = Corpus(**splits, **values | {name: tuple(values[name]) for name in ("classes", "notes")})
    vars(corpus).update(ready)  # fills the cached properties
    return corpus


def _table(texts: Texts) -> Any:
    import pyarrow as pa

    columns = {"label": pa.array(texts.labels), "id": texts.ids}
    for name in RAGGED:
        part, kind = getattr(texts, name), pa.bool_() if name == "rationale" else pa.int32()
        if part is None:
            columns[name] = pa.nulls(len(texts), pa.large_list(kind))
        else:
            mask = None if part.there is None else pa.array(~part.there)
            columns[name] = pa.LargeListArray.from_arrays(part.ends, pa.array(part.values, kind), mask=mask)
    return pa.table(columns)


def _texts(table: Any, words: list[str]) -> Texts:
    columns = {name: table.column(name).combine_chunks() for name in table.column_names}
    parts = {}
    for name in RAGGED:
        column = columns[name]
        there = column.is_valid().to_numpy(zero_copy_only=False)
        ends = column.offsets.to_numpy()
        values = column.values.slice(ends[0], ends[-1] - ends[0]).to_numpy(zero_copy_only=False)
        if there.any():
            parts[name] = Ragged(values, ends - ends[0], None if there.all() else there)
    return Texts(words, labels=columns["label"].to_numpy(), ids=columns["id"], **parts)


@cache
def rules() -> str:
    """What else decides the words: the code of this room, spaCy's rules and Unicode's tables."""
    code = [p.read_text(encoding="utf-8") for p in sorted(Path(__file__).parent.glob("*.py"))]
    return f"{hashlib.sha256(repr(code).encode()).hexdigest()} {version('spacy')} {unicodedata.unidata_version}"
