"""The register of corpora, and what readers share: finding files, lines, csv rows, rows made on demand.

A reader is a function that returns a `RawCorpus`; its keyword parameters are the corpus's options:

    @register_corpus("mine", kind="raw", summary="…", source="…", citation="…", min_df=2)
    def mine(path: str | None = None, *, classes: int = 2) -> RawCorpus: ...

`corpora.yaml` says the same of the kit's own (`@listed("sst")`). `attnlib.data.corpora` imports the modules that
register, so they must import heavy libraries inside functions: `attnlib list corpora` answers at once.
"""

from __future__ import annotations

import csv
import inspect
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, TypeVar

import yaml

from attnlib.data.preprocess import Preprocessing
from attnlib.data.readers.archives import decode, gunzipped, read_members
from attnlib.data.types import RawCorpus
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.paths import neighbour, user_path
from attnlib.utils.registry import Registry

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
LONGEST_CELL = 2**31 - 1
"""Characters; the csv module's own limit of 128 KB is less than a long review page."""

BLOCK = 1024
"""Rows made at once."""

T = TypeVar("T")
Kind = Literal["generated", "packaged", "raw", "hub"]
Task = Literal["classification", "query"]
Reader = Callable[..., RawCorpus]


@dataclass(frozen=True)
class CorpusSpec:
    """A registered corpus: what it is, and the reader that gives its rows.

    kind  `generated` here, `packaged` (fetched from the Python package index by name), `raw` (files you have,
          given by `path=`) or `hub` (through HF datasets)
    prepared  fields of the RawCorpus that `loader` returns: how its texts are read unless the user says otherwise
    """

    name: str
    loader: Reader
    summary: str
    source: str
    citation: str
    task: Task = "classification"
    kind: Kind = "raw"
    prepared: Mapping[str, Any] = field(default_factory=dict)

    @property
    def options(self) -> tuple[str, ...]:
        """The reader's own options."""
        return tuple(inspect.signature(self.loader).parameters)


corpora: Registry[CorpusSpec] = Registry(
    "corpus", hint="Or give the path of a csv, tsv, jsonl or parquet file, or 'hub:NAME'."
)


def register_corpus(
    name: str,
    *,
    kind: Kind,
    summary: str,
    source: str,
    citation: str,
    task: Task = "classification",
    **prepared: Any,
) -> Callable[[Reader], Reader]:
    """Decorator: the function below it reads the corpus `name`. `prepared`: fields of what it returns."""

    def add(reader: Reader) -> Reader:
        corpora.register(name)(CorpusSpec(name, reader, summary, source, citation, task, kind, prepared))
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


class Blocks(Sequence[T]):
    """`size` items, of which `read(start, stop)` gives some; the block that was read last is kept.

    So a source of millions stays in arrow, and rows and cells are made when they are asked for.
    """

    def __init__(self, size: int, read: Callable[[int, int], list[T]]) -> None:
        self._size, self._read = size, read
        self._first, self._kept = 0, []

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, place: int | slice) -> T | list[T]:
        if isinstance(place, slice):
            return [self[i] for i in range(self._size)[place]]
        i = range(self._size)[place]
        if not self._first <= i < self._first + len(self._kept):
            self._first = i - i % BLOCK
            self._kept = self._read(self._first, min(self._first + BLOCK, self._size))
        return self._kept[i - self._first]

    def __iter__(self) -> Iterator[T]:
        for start in range(0, self._size, BLOCK):
            yield from self._read(start, min(start + BLOCK, self._size))


def joined(parts: Sequence[Sequence[T]]) -> Blocks[T]:
    """Several sequences, one after the other, without a copy."""
    starts = list(accumulate(map(len, parts), initial=0))

    def read(start: int, stop: int) -> list[T]:
        found: list[T] = []
        for first, part in zip(starts, parts, strict=False):
            found += part[max(0, start - first) : max(0, stop - first)]
        return found

    return Blocks(starts[-1], read)


def find_source(path: str | Path | None, folder: str, corpus: str) -> Path:
    """Where the files of a raw corpus are: `path`, else `folder` in the development data, if there is one."""
    if path is not None:
        found = user_path(path)
        if not found.exists():
            raise DataError(f"{corpus}: {str(path)!r} does not exist.{neighbour(found)}")
        return found
    data = paths.development_data()
    if data is not None and (data / folder).exists():
        return data / folder
    raise DataError(
        f"{corpus}: the files are not on this machine. Say where they are with path=…, or load a copy through "
        "'hub:NAME' (needs the extra attnlib[hub])."
    )


def files(
    path: str | Path | None, folder: str, corpus: str, pattern: str
) -> Iterator[tuple[str, re.Match[str], str]]:
    """Where it was found, the match of its name, and the text of every file whose path matches `pattern`.

    `path` is a folder, an archive, or a folder that holds one archive; `folder` is its place in the
    development data. The pattern is searched in the POSIX path relative to the folder or archive; gzipped
    files are opened.
    """
    source = find_source(path, folder, corpus)
    inside = sorted(source.iterdir()) if source.is_dir() else []
    if not source.is_dir() and not source.name.endswith(ARCHIVES):
        raise DataError(
            f"{corpus}: {source} is a single file. Give path= the folder that holds it, or an archive "
            f"({', '.join(ARCHIVES)})."
        )
    wanted = re.compile(pattern).search
    found = False
    for place in (source, *(p for p in inside if p.name.endswith(ARCHIVES) and p.is_file())):
        for name, data in read_members(place, wanted):
            found = True
            where = f"{place}/{name}" if place.is_dir() else f"{place}, {name}"
            yield where, wanted(name), decode(gunzipped(data, where) if name.endswith(".gz") else data, where)
        if found:
            return
    shown = ", ".join([p.name for p in inside[:8]] + ["…"] * (len(inside) > 8)) if source.is_dir() else source.name
    raise DataError(
        f"{corpus}: {source} holds no file that looks like /{pattern}/. Found: {shown or 'nothing'}. "
        "Give path= the folder or archive as its publisher lays it out."
    )


def one_each(
    found: Iterable[tuple[str, re.Match[str], str]], corpus: str, needed: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """By the pattern's group `key`: where a file is and its text; each key once, all the needed ones."""
    result: dict[str, tuple[str, str]] = {}
    for where, match, text in found:
        first, _ = result.setdefault(key := match["key"], (where, text))
        if first != where:
            raise DataError(f"{corpus}: both {first} and {where} look like {key!r}. Give path= just one of them.")
    if absent := [key for key in needed if key not in result]:
        have = ", ".join(where for where, _ in result.values())
        raise DataError(f"{corpus}: no file for {', '.join(absent)}; found only {have}.")
    return result


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and content of every line. Only line feeds end a line: texts contain other separators."""
    for number, line in enumerate(text.removesuffix("\n").split("\n") if text else (), start=1):
        yield number, line.removesuffix("\r")


def csv_rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the line on which it ends, and cells of every csv row; blank rows are passed over."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: not proper csv ({error}).") from None


def choice(corpus: str, option: str, value: object, allowed: Sequence[object]) -> None:
    """Refuse a value of an option that is not among the allowed."""
    if value not in allowed or isinstance(value, bool):
        shown = ", ".join(map(repr, allowed))
        raise ConfigError(f"{corpus}: {option} must be one of {shown}; got {value!r}.")
