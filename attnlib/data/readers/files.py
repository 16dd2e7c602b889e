"""Files to columns: csv, tsv, jsonl, json and parquet, plain or packed, as people really write them.

Nothing in a file is trusted: neither its depth, nor its size, nor its names.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlib.data.readers.archives import decode
from attnlib.data.readers.csv import delimited
from attnlib.data.readers.packed import raise_limit, read_packed, unpack_limit, unpacked_name
from attnlib.utils.errors import DataError, first_line
from attnlib.utils.paths import neighbour

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODINGS = "Say which encoding it has, such as encoding='latin-1' or encoding='cp1252'."


@dataclass
class Table:
    """Columns of equal length, in the file's order, and what reading found worth saying."""

    columns: dict[str, list[Any]]
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))


def is_table(path: Path) -> bool:
    """Whether the name is that of a table (`.gz`, `.bz2`, `.xz` or `.zip` behind a text format is fine)."""
    return path.name.lower().endswith(SUFFIXES) or unpacked_name(path).endswith(TEXT_SUFFIXES)


def file_stem(path: Path) -> str:
    """The name of a table without the endings of its format: `reviews.csv.gz` is `reviews`."""
    return path.name[: len(unpacked_name(path))].rsplit(".", 1)[0]


def read_table(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Table:
    """The columns of a file. Cells of csv and tsv are strings; blank cells are None everywhere."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.{neighbour(path)}")
    name = unpacked_name(path)
    notes: Sequence[str] = ()
    if name.endswith(".parquet"):
        columns = _parquet(path)
    else:
        text = _decoded(read_packed(path, TEXT_SUFFIXES), path, encoding)
        if not text.strip():
            raise DataError(f"{path.name} is empty: it has neither a header nor a row.")
        if name.endswith((".jsonl", ".ndjson", ".json")):
            columns = _records(text, path)
        else:
            favourite = "\t" if name.endswith((".tsv", ".tab")) else ","
            columns, notes = delimited(text, path, delimiter, favourite)
    table = Table(columns, list(notes))
    if not len(table):
        raise DataError(f"{path.name} holds no row of data: a table needs a text and a label in every row.")
    return table


def _decoded(data: bytes, path: Path, encoding: str | None) -> str:
    if encoding is None:
        encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        return decode(data, path.name, encoding, ENCODINGS)
    except DataError:
        raise
    except UnicodeError as error:
        raise DataError(f"{path.name} is not {encoding}: {error}. {ENCODINGS}") from None
    except (LookupError, TypeError, AttributeError, ValueError):
        raise DataError(f"Unknown encoding {encoding!r}. Common ones: utf-8, latin-1, cp1252, utf-16.") from None


def _records(text: str, path: Path) -> dict[str, list[Any]]:
    """Columns of a JSON list of objects, or of one object per line."""
    rows = list(_objects(text, path))
    names = list(dict.fromkeys(name for row in rows for name in row))
    return {_whole(name): [_value(row.get(name)) for row in rows] for name in names}


def _parquet(path: Path) -> dict[str, list[Any]]:
    """Columns of a parquet file; what it unpacks to is limited as for packed text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    limit, size = unpack_limit(), 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise DataError(f"{path.name} has columns of the same name: {', '.join(names)}. Rename them.")
            columns: dict[str, list[Any]] = {name: [] for name in names}
            for batch in file.iter_batches(batch_size=4096):
                size += batch.nbytes
                if size > limit:
                    raise DataError(f"{path.name} unpacks to more than {limit:,} bytes; refused. {raise_limit()}")
                for name in names:
                    columns[name] += [_value(v) for v in batch.column(name).to_pylist()]
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path.name} cannot be read as parquet: {first_line(error)} Write it again, or save it as csv."
        ) from None
    return columns


def read_json(text: str, where: str) -> Any:
    """JSON of an unknown hand: errors say where, a key twice in an object is one, and so is endless nesting."""
    try:
        return json.loads(text, object_pairs_hook=lambda pairs: _once(pairs, where))
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{where} is nested too deeply to be data. Use plain objects with named fields.") from None
    except ValueError as error:
        raise DataError(f"{where} is no valid JSON: {error}.") from None


def _once(pairs: list[tuple[str, Any]], where: str) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise DataError(f"{where}: the field {twice!r} stands twice in one object. Keep one of them.")
    return made


def _objects(text: str, path: Path) -> Iterable[dict[str, Any]]:
    if text.lstrip()[:1] == "[":
        rows = enumerate(read_json(text, path.name), start=1)
    else:
        lines = enumerate(text.split("\n"), start=1)
        rows = ((n, read_json(line, f"{path.name}, line {n:,}")) for n, line in lines if line.strip())
    for number, row in rows:
        if not isinstance(row, dict):
            raise DataError(
                f"{path.name}, entry {number:,}: needs an object with named fields; got {str(row)[:40]!r}. Write a "
                "list of objects, or one object per line."
            )
        yield row


def _value(value: Any) -> Any:
    """Blank as None; bytes as text; half a surrogate pair, which no file can hold, as a question mark."""
    if isinstance(value, list):
        return [_whole(v) for v in value]
    value = _whole(value)
    return None if isinstance(value, str) and not value.strip() else value


def _whole(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", errors="replace").decode("utf-8")
    return value
