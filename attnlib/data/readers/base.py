"""The register of corpora, and the files that users bring.

A reader is a function that returns a `RawCorpus`; its keyword parameters are the corpus's options:

    @register_corpus("mine", kind="raw", summary="…", source="…", citation="…", min_df=2)
    def mine(path: str | None = None, *, classes: int = 2) -> RawCorpus: ...

Readers import heavy libraries inside functions: `attnlib list corpora` answers at once.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import RawCorpus
from attnlib.utils.errors import DataError
from attnlib.utils.paths import neighbour, user_path
from attnlib.utils.registry import Registry

Reader = Callable[..., RawCorpus]


@dataclass(frozen=True)
class CorpusSpec:
    """A registered corpus: what it is, and the reader that gives its rows.

    kind      `generated`, `packaged` (fetched by name), `raw` (your files, given by `path=`) or `hub`
    prepared  fields of the RawCorpus that `loader` returns: how its texts are read unless the user says otherwise
    """

    name: str
    loader: Reader
    summary: str
    source: str
    citation: str
    kind: str = "raw"
    prepared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """The reader's own options."""
        return tuple(inspect.signature(self.loader).parameters)


corpora: Registry[CorpusSpec] = Registry(
    "corpus", hint="Or give the path of a csv, tsv, jsonl or parquet file, or 'hub:NAME'."
)


def register_corpus(
    name: str, *, kind: str, summary: str, source: str, citation: str, **prepared: Any
) -> Callable[[Reader], Reader]:
    """Decorator: the function below it reads the corpus `name`. `prepared`: fields of what it returns."""

    def add(reader: Reader) -> Reader:
        corpora.register(name)(CorpusSpec(name, reader, summary, source, citation, kind, prepared))
        return reader

    return add


def read_yaml(name: str) -> dict[str, Any]:
    """A yaml file of this folder."""
    return yaml.safe_load(Path(__file__).with_name(name).read_text(encoding="utf-8"))


_LISTED = read_yaml("corpora.yaml")


def listed(name: str) -> Callable[[Reader], Reader]:
    """`register_corpus` with what `corpora.yaml` says of the corpus."""
    entry = _LISTED[name]
    fields = entry.pop("prepared", {})
    if "preprocessing" in fields:
        fields["preprocessing"] = Preprocessing(**fields["preprocessing"])
    return register_corpus(name, **entry, **fields)


def find_source(path: str | Path | None, corpus: str) -> Path:
    """Where the files of a corpus are that its user brings."""
    if path is None:
        raise DataError(
            f'{corpus}: the files are not on this machine. Say where they are with path=… ("{{corpus: {corpus}, '
            "path: …}\" on the command line), or load a copy through 'hub:NAME' (needs the extra attnlib[hub])."
        )
    found = user_path(path)
    if not found.exists():
        raise DataError(f"{corpus}: {str(path)!r} does not exist.{neighbour(found)}")
    return found
