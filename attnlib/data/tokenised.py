"""Assembled corpora in the cache: tokenised once, under the hash of their raw texts, the settings and the code."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import fields, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.config import DataConfig
from attnlib.data.cached import cached
from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import SPLITS, Corpus, Example, RawCorpus
from attnlib.data.vocabulary import Vocabulary

FEW = 500
"""Fewer texts than this are tokenised again every time."""
ENCODED = ("tokens", "query")
"""Fields that hold words, saved as numbers."""


def tokenised(raw: RawCorpus, config: DataConfig, assembled: Callable[[RawCorpus, DataConfig], Corpus]) -> Corpus:
    """`assembled(raw, config)`, from the cache where it has been made before."""
    if sum(row.tokens is None for row in raw.rows) < FEW:
        return assembled(raw, config)
    digest = hashlib.sha256(f"{_code()} {replace(raw, rows=[])!r} {config!r}".encode())
    for row in raw.rows:
        digest.update(repr(row).encode())
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

    places: dict[str, int] = {}
    columns: dict[str, list[Any]] = {f.name: [] for f in fields(Example)}
    for _, example in corpus.items():
        for name, column in columns.items():
            value = getattr(example, name)
            if name in ENCODED and value is not None:
                value = [places.setdefault(word, len(places)) for word in value]
            column.append(value)
    kinds = {"label": pa.int32(), "id": pa.string(), "rationale": pa.list_(pa.bool_())}
    arrays = {name: pa.array(cells, kinds.get(name, pa.list_(pa.int32()))) for name, cells in columns.items()}
    parquet.write_table(pa.table(arrays), folder / "texts.parquet")
    values = {
        **{f.name: getattr(corpus, f.name) for f in fields(Corpus) if f.name not in (*SPLITS, "known")},
        "preprocessing": corpus.preprocessing.model_dump(mode="json"),
        "sizes": {split: len(getattr(corpus, split)) for split in SPLITS},
        "words": list(places),
        "vocabulary": corpus.vocabulary.to_json(),
        "known": corpus.known is not None,
        "fingerprint": corpus.fingerprint,
    }
    (folder / "corpus.json").write_text(json.dumps(values, ensure_ascii=False), encoding="utf-8")


def load(folder: Path) -> Corpus:
    """The inverse of `save`."""
    import pyarrow.parquet as parquet

    values = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
    table = parquet.read_table(folder / "texts.parquet")
    words = np.array([*values.pop("words"), None], dtype=object)[:-1]
    columns = []
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        if hasattr(column, "offsets"):
            columns.append(_tuples(column, words if name in ENCODED else None))
        else:
            columns.append(column.to_pylist())
    examples = (Example(*cells) for cells in zip(*columns, strict=True))
    splits = {split: tuple(next(examples) for _ in range(n)) for split, n in values.pop("sizes").items()}
    vocabulary = Vocabulary.from_json(values.pop("vocabulary"))
    ready = {"vocabulary": vocabulary, "fingerprint": values.pop("fingerprint")}
    values["known"] = vocabulary if values["known"] else None
    values["preprocessing"] = Preprocessing(**values["preprocessing"])
    corpus = Corpus(**splits, **values | {name: tuple(values[name]) for name in ("classes", "notes")})
    vars(corpus).update(ready)  # fills the cached properties
    return corpus


def _tuples(column: Any, words: np.ndarray | None) -> list[tuple | None]:
    """The lists of an arrow array as tuples, their numbers as `words` where given."""
    flat = column.values.to_numpy(zero_copy_only=False)
    cells = (flat if words is None else words[flat]).tolist()
    ends = column.offsets.to_numpy().tolist()
    there: Sequence[bool] = column.is_valid().to_pylist()
    return [tuple(cells[a:b]) if ok else None for a, b, ok in zip(ends, ends[1:], there, strict=False)]


@cache
def _code() -> str:
    """What else decides the words: the code of this room, spaCy's rules and Unicode's tables."""
    code = [p.read_text(encoding="utf-8") for p in sorted(Path(__file__).parent.glob("*.py"))]
    return f"{hashlib.sha256(repr(code).encode()).hexdigest()} {version('spacy')} {unicodedata.unidata_version}"
