"""Assembled corpora in the cache: tokenised once, under the hash of their raw texts, the settings and the code."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable
from dataclasses import fields, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from attnlib.config import DataConfig
from attnlib.data.cached import cached
from attnlib.data.preprocess import Preprocessing
from attnlib.data.texts import Ragged, Texts
from attnlib.data.types import SPLITS, Corpus, RawCorpus
from attnlib.data.vocabulary import Vocabulary

FEW = 500
"""Fewer texts than this are tokenised again every time."""
RAGGED = ("tokens", "query", "rationale", "sentences")
"""Fields of a text that hold several values."""


def tokenised(raw: RawCorpus, config: DataConfig, assembled: Callable[[RawCorpus, DataConfig], Corpus]) -> Corpus:
    """`assembled(raw, config)`, from the cache where it has been made before."""
    digest, count = hashlib.sha256(f"{rules()} {replace(raw, rows=[])!r} {config!r}".encode()), 0
    for row in raw.rows:
        digest.update(repr(row).encode())
        count += row.tokens is None
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
