"""Files to columns: csv, tsv, jsonl, json and parquet, plain or packed, as people really write them."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlib.data.packed import read_packed, unpacked_name
from attnlib.data.table_csv import delimited
from attnlib.data.table_records import parquet_columns, record_columns
from attnlib.errors import DataError, nearest

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")
_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


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
        raise DataError(f"There is no file {str(path)!r}.{_similar(path)}")
    name = unpacked_name(path)
    notes: Sequence[str] = ()
    if name.endswith(".parquet"):
        columns = parquet_columns(path)
    else:
        text = _decoded(read_packed(path, TEXT_SUFFIXES), path, encoding)
        if not text.strip():
            raise DataError(f"{path.name} is empty: it has neither a header nor a row.")
        if name.endswith((".jsonl", ".ndjson", ".json")):
            columns = record_columns(text, path)
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
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name} is not {encoding}: byte 0x{data[error.start]:02x} at position {error.start:,} (line "
            f"{line:,}). Say which encoding it has, such as encoding='latin-1' or encoding='cp1252'."
        ) from None
    except UnicodeError as error:
        raise DataError(f"{path.name} is not {encoding}: {error}. Say which encoding it has.") from None
    except (LookupError, TypeError, ValueError):
        raise DataError(f"Unknown encoding {encoding!r}. Common ones: utf-8, latin-1, cp1252, utf-16.") from None


def _similar(path: Path) -> str:
    if not path.parent.is_dir():
        return f" Nor is there a folder {str(path.parent)!r}."
    tables = [p.name for p in path.parent.iterdir() if is_table(p)]
    guess = nearest(path.name, tables)
    return f" Did you mean {guess!r}?" if guess else ""
