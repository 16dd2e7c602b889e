"""Files to columns: csv, tsv, jsonl, json and parquet, as people really write them."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlib.errors import DataError

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")
DELIMITERS = (",", ";", "\t", "|")
_BOMS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
_SAMPLE = 500
_NAME = re.compile(r"[^\W\d][\w .\-/()#%:]{0,39}")


@dataclass
class Table:
    """Columns of equal length, in the file's order, and what reading found worth saying."""

    columns: dict[str, list[Any]]
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))


def is_table(path: Path) -> bool:
    """Whether the name is that of a table (`.gz` behind a text format is fine)."""
    name = path.name.lower()
    return name.endswith(SUFFIXES) or (name.endswith(".gz") and name.removesuffix(".gz").endswith(TEXT_SUFFIXES))


def file_stem(path: Path) -> str:
    """The name of a table without the endings of its format: `reviews.csv.gz` is `reviews`."""
    return path.name.removesuffix(".gz").rsplit(".", 1)[0]


def read_table(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Table:
    """The columns of a file. Cells of csv and tsv are strings; blank cells are None everywhere."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.{_similar(path)}")
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".parquet"):
        table = _parquet(path)
    else:
        text = _decoded(path, encoding)
        if name.endswith((".jsonl", ".ndjson", ".json")):
            table = _records(_json_rows(text, path), path)
        else:
            table = _delimited(text, path, delimiter)
    if not len(table):
        raise DataError(f"{path.name} holds no row.")
    return table


def _decoded(path: Path, encoding: str | None) -> str:
    try:
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
    except (OSError, EOFError) as error:
        raise DataError(f"{path.name} cannot be read: {error}.") from None
    if encoding is None:
        encoding = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
    try:
        return data.decode(encoding)
    except LookupError:
        raise DataError(f"Unknown encoding {encoding!r}. Common ones: utf-8, latin-1, cp1252, utf-16.") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise DataError(
            f"{path.name} is not {encoding}: byte 0x{data[error.start]:02x} at position {error.start:,} (line "
            f"{line:,}). Say which encoding it has, such as encoding='latin-1' or encoding='cp1252'."
        ) from None


def _delimited(text: str, path: Path, delimiter: str | None) -> Table:
    if "\0" in text:
        raise DataError(f"{path.name} holds zero bytes: it is no text file, or encoding='utf-16'.")
    csv.field_size_limit(2**31 - 1)  # the default of 128 KB is less than a long review page
    delimiter = delimiter or _sniffed(text, path)
    rows, notes = _unquoted(text, delimiter)
    if not rows:
        raise DataError(f"{path.name} is empty.")
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if _is_header(rows[0]):
        header, rows = rows[0], rows[1:]
    else:
        header = [str(i) for i in range(width)]
        notes.append(f"no header line: columns are called {', '.join(header)}")
    return Table(_columns(header, rows, path, delimiter), notes)


def _unquoted(text: str, delimiter: str) -> tuple[list[list[str]], list[str]]:
    """The rows, and a note where quotes stand in odd places: a stray one swallows the lines up to the next."""
    try:
        rows = _rows(text, delimiter, strict=True)
        fault = None
    except DataError as error:
        rows, fault = _rows(text, delimiter), str(error)
    if delimiter == "\t" and '"' in text and (fault or _ragged(rows)):
        # Many tsv files know no quotes at all.
        plain = _rows(text, delimiter, quoting=csv.QUOTE_NONE)
        if len(_ragged(plain)) <= len(_ragged(rows)):
            return plain, ["double quotes are taken for text: as quotes they do not match"]
    return rows, [f"{fault} Read as well as possible: compare the number of texts"] if fault else []


def _rows(text: str, delimiter: str, **options: Any) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, **options)
    try:
        return [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DataError(
            f"Quotes do not match with the delimiter {delimiter!r}, line {reader.line_num:,}: {error}."
        ) from None


def _ragged(rows: list[list[str]]) -> list[int]:
    return [i for i, row in enumerate(rows) if len(row) != len(rows[0])]


def _sniffed(text: str, path: Path) -> str:
    """The delimiter that cuts most lines into as many cells as the first."""
    favourite = "\t" if path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else ","
    sample = text[: 2**20]
    best: tuple[float, bool, int] = (0.0, False, 0)
    found = favourite
    for delimiter in DELIMITERS:
        rows = _rows(sample, delimiter)[: _SAMPLE + 1]
        if len(sample) < len(text) and len(rows) > 1:
            rows = rows[:-1]
        if not rows or len(rows[0]) < 2:
            continue
        same = 1 - len(_ragged(rows)) / len(rows)
        score = (round(same, 2), delimiter == favourite, len(rows[0]))
        if score > best:
            best, found = score, delimiter
    if best[2] == 0:
        raise DataError(
            f"{path.name} has one column only: none of {', '.join(map(repr, DELIMITERS))} separates anything in "
            "its first line. A text and a label are needed; if another sign separates them, say delimiter=…."
        )
    return found


def _is_header(row: list[str]) -> bool:
    names = [cell.strip() for cell in row]
    filled = [name for name in names if name]
    return bool(filled) and len(set(filled)) == len(filled) and all(_NAME.fullmatch(name) for name in filled)


def _columns(header: list[str], rows: list[list[str]], path: Path, delimiter: str) -> dict[str, list[Any]]:
    width = len(header)
    for i, row in enumerate(rows):
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            bad = sum(len(r) > width for r in rows)
            raise DataError(
                f"{path.name}: row {i + 1:,} has {len(row)} cells, the header {width} ({', '.join(header)}); so "
                f"have {bad:,} rows. Put texts that hold {delimiter!r} in double quotes, or say delimiter=…."
            )
    names = [name.strip() or f"column {k}" for k, name in enumerate(header)]
    columns = {name: [_cell(row[k]) if k < len(row) else None for row in rows] for k, name in enumerate(names)}
    # Spreadsheets leave empty columns behind.
    return {name: cells for name, cells in columns.items() if any(c is not None for c in cells)}


def _cell(value: str) -> str | None:
    return value if value.strip() else None


def _json_rows(text: str, path: Path) -> list[dict[str, Any]]:
    start = text.lstrip()[:1]
    if start == "[":
        try:
            rows = json.loads(text)
        except ValueError as error:
            raise DataError(f"{path.name} is no valid JSON: {error}.") from None
        lines = list(range(1, len(rows) + 1))
    else:
        rows, lines = [], []
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                try:
                    rows.append(json.loads(line))
                except ValueError as error:
                    raise DataError(f"{path.name}, line {number:,} is no valid JSON: {error}.") from None
                lines.append(number)
    for number, row in zip(lines, rows, strict=True):
        if not isinstance(row, dict):
            raise DataError(
                f"{path.name}, entry {number:,}: needs an object with named fields; got {str(row)[:40]!r}."
            )
    return rows


def _records(rows: list[dict[str, Any]], path: Path) -> Table:
    names = list(dict.fromkeys(name for row in rows for name in row))
    return Table({name: [_value(row.get(name)) for row in rows] for name in names})


def _parquet(path: Path) -> Table:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path.name} cannot be read as parquet: {error}.") from None
    return Table({name: [_value(v) for v in table.column(name).to_pylist()] for name in table.column_names})


def _value(value: Any) -> Any:
    return None if isinstance(value, str) and not value.strip() else value


def _similar(path: Path) -> str:
    from attnlib.errors import nearest

    if not path.parent.is_dir():
        return f" Nor is there a folder {str(path.parent)!r}."
    tables = [p.name for p in path.parent.iterdir() if is_table(p)]
    guess = nearest(path.name, tables)
    return f" Did you mean {guess!r}?" if guess else ""
