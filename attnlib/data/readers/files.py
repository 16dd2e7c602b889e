"""Files to columns: csv, tsv, jsonl, json and parquet, plain or packed, as people really write them.

Nothing in a file is trusted: neither its depth, nor its size, nor its names. Delimiters are found, and quotes that
do not match are named. The csv module parses, not pandas, which takes a stray quote and all rows up to the next one
for a single text, and says nothing.
"""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attnlib.data.readers.archives import decode, raise_limit, read_packed, unpack_limit, unpacked_name
from attnlib.data.readers.base import LONGEST_CELL, Blocks
from attnlib.utils.errors import ConfigError, DataError, first_line
from attnlib.utils.paths import neighbour

TEXT_SUFFIXES = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson", ".json")
SUFFIXES = (*TEXT_SUFFIXES, ".parquet")
_BOMS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, since it begins with that mark
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
ENCODINGS = "Say which encoding it has, such as encoding='latin-1' or encoding='cp1252'."
DELIMITERS = (",", ";", "\t", "|")
NAMED = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";"}
_SAMPLE = 500
_NAME = re.compile(r"[^\W\d][\w .\-/()#%:]{0,39}")


@dataclass
class Table:
    """Columns of equal length, in the file's order, and notes on how it was read."""

    columns: dict[str, Sequence[Any]]
    notes: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), []))

    def head(self, n: int) -> Table:
        """Its first rows."""
        return self if len(self) <= n else Table({name: cells[:n] for name, cells in self.columns.items()})


def is_table(path: Path) -> bool:
    """Whether the name is that of a table (`.gz`, `.bz2`, `.xz` or `.zip` after a text format is fine)."""
    return path.name.lower().endswith(SUFFIXES) or unpacked_name(path).endswith(TEXT_SUFFIXES)


def file_stem(path: Path) -> str:
    """The name of a table without the endings of its format: `reviews.csv.gz` is `reviews`."""
    return path.name[: len(unpacked_name(path))].rsplit(".", 1)[0]


def read_table(path: Path, *, delimiter: str | None = None, encoding: str | None = None) -> Table:
    """The columns of a file. Cells of csv and tsv are strings; blank cells are None everywhere."""
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.{neighbour(path)}")
    name = unpacked_name(path)
    if name.endswith(".parquet"):
        table = Table(_parquet(path))
    else:
        data = read_packed(path, TEXT_SUFFIXES)
        marked = next((name for bom, name in _BOMS.items() if data.startswith(bom)), "utf-8")
        text = decode(data, path.name, marked if encoding is None else encoding, ENCODINGS)
        if not text.strip():
            raise DataError(f"{path.name} is empty: it has neither a header nor a row.")
        if name.endswith((".jsonl", ".ndjson", ".json")):
            table = Table(_records(text, path))
        else:
            table = _delimited(text, path, delimiter, "\t" if name.endswith((".tsv", ".tab")) else ",")
    if not len(table):
        raise DataError(f"{path.name} holds no row of data: a table needs a text and a label in every row.")
    return table


def _delimited(text: str, path: Path, delimiter: str | None, favourite: str) -> Table:
    """A text as a table; `favourite` is the delimiter that its name suggests."""
    if "\0" in text:
        raise DataError(f"{path.name} contains zero bytes: it is not a text file, or needs encoding='utf-16'.")
    csv.field_size_limit(LONGEST_CELL)
    sign = _sniffed(text, path, favourite) if delimiter is None else NAMED.get(str(delimiter), delimiter)
    if not isinstance(sign, str) or len(sign) != 1 or sign in '"\r\n\0' or sign.isalnum():
        raise ConfigError(
            f"delimiter must be one sign, such as ',' ';' '|' or '\\t' for a tab; got {delimiter!r}. Left out, it "
            "is found."
        )
    rows, notes = _unquoted(text, sign, path)
    if _is_header(rows[0], rows[1:]):
        header, rows = rows[0], rows[1:]
    else:
        header = [str(i) for i in range(Counter(map(len, rows)).most_common(1)[0][0])]
        notes.append(f"no header line: columns are called {', '.join(header)}")
    return Table(_columns(header, rows, path, sign), notes)


def _unquoted(text: str, delimiter: str, path: Path) -> tuple[list[list[str]], list[str]]:
    """The rows, and a note where quotes are in odd places: a stray one swallows the lines up to the next.

    Where that cost rows, the quotes are taken for text if the rows then have the same width, as in many tsv files;
    otherwise it is an error, since nobody would notice what is missing.
    """
    try:
        rows = _rows(text, delimiter, strict=True)
        if delimiter != "\t" or '"' not in text or not _ragged(rows):
            return rows, []
        fault = "Quotes make rows of different widths."
    except DataError as error:
        fault = str(error)
    rows = _rows(text, delimiter)
    swallowed = _swallowed(rows, delimiter)
    if delimiter == "\t" or swallowed is not None or "unexpected end" in fault:
        plain = _rows(text, delimiter, quoting=csv.QUOTE_NONE)
        if _ragged(plain) <= (_ragged(rows) if delimiter == "\t" else 0):
            return plain, ["double quotes are taken for text: as quotes they do not match"]
    if swallowed is not None or "unexpected end" in fault:
        row = rows[-1] if swallowed is None else swallowed
        raise DataError(
            f"{path.name}: {fault} A quote that never closes swallows the rows after it, here in the row "
            f"{delimiter.join(row)[:60]!r}. Close it, or double quotes that belong to a text."
        )
    return rows, [f"{fault} Read as well as possible: compare the number of texts"]


def _swallowed(rows: list[list[str]], delimiter: str) -> list[str] | None:
    """The first row with a cell that holds whole rows: lines with as many delimiters as the header."""
    signs = len(rows[0]) - 1
    for row in rows:
        if any(line.count(delimiter) == signs for cell in row for line in cell.split("\n")[1:-1]):
            return row
    return None


def _rows(text: str, delimiter: str, **options: Any) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True, **options)
    try:
        return [row for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise DataError(
            f"Quotes do not match with the delimiter {delimiter!r}, line {reader.line_num:,}: {error}."
        ) from None


def _ragged(rows: list[list[str]]) -> int:
    """How many rows are not as wide as the first."""
    return sum(len(row) != len(rows[0]) for row in rows)


def _sniffed(text: str, path: Path, favourite: str) -> str:
    """The delimiter that cuts most lines into as many cells as the first."""
    sample = text[: 2**20]
    scores = {}
    for delimiter in DELIMITERS:
        rows = _rows(sample, delimiter)[: _SAMPLE + 1]
        if len(sample) < len(text) and len(rows) > 1:
            rows = rows[:-1]  # the last one may be cut off
        if rows and len(rows[0]) > 1:
            same = 1 - _ragged(rows) / len(rows)
            scores[delimiter] = (round(same, 2), delimiter == favourite, len(rows[0]))
    if not scores:
        raise DataError(
            f"{path.name} has one column only: none of {', '.join(map(repr, DELIMITERS))} separates anything in "
            "its first line. A text and a label are needed; if another sign separates them, say delimiter=…."
        )
    return max(scores, key=scores.__getitem__)


def _is_header(row: list[str], rest: list[list[str]]) -> bool:
    """Whether the first row looks like names, none of which is a common value of its own column."""
    names = [cell.strip() for cell in row]
    filled = [name for name in names if name]
    if not filled or not all(_NAME.fullmatch(name) for name in filled):
        return False
    others = [other for other in rest if other != row]  # joined files repeat their header
    common = max(2, len(others) / 100)
    return not any(
        name and sum(len(r) > k and r[k].strip() == name for r in others) >= common for k, name in enumerate(names)
    )


def _columns(header: list[str], rows: list[list[str]], path: Path, delimiter: str) -> dict[str, list[Any]]:
    width, stripped = len(header), [name.strip() for name in header]
    if twice := [name for name, n in Counter(stripped).items() if n > 1 and name]:
        raise DataError(
            f"{path.name}: the header names {twice[0]!r} twice ({', '.join(header)}). Rename one of them."
        )
    for i, row in enumerate(rows):
        if len(row) > width and any(cell.strip() for cell in row[width:]):
            bad = sum(len(r) > width for r in rows)
            raise DataError(
                f"{path.name}: row {i + 1:,} has {len(row)} cells, the header {width} ({', '.join(header)}); so "
                f"have {bad:,} rows. Put texts that hold {delimiter!r} in double quotes, or say delimiter=…."
            )
    columns = {}
    for k, name in enumerate(stripped):
        cells = [_value(row[k]) if k < len(row) else None for row in rows]
        if name or any(cell is not None for cell in cells):  # spreadsheets leave empty columns without a name
            columns[name or f"column {k}"] = cells
    return columns


def _records(text: str, path: Path) -> dict[str, list[Any]]:
    """Columns of a JSON list of objects, or of one object per line."""
    if text.lstrip()[:1] == "[":
        rows = dict(enumerate(read_json(text, path.name), start=1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        rows = {n: read_json(line, f"{path.name}, line {n:,}") for n, line in lines if line.strip()}
    for number, row in rows.items():
        if not isinstance(row, dict):
            raise DataError(
                f"{path.name}, entry {number:,}: needs an object with named fields; got {str(row)[:40]!r}. Write a "
                "list of objects, or one object per line."
            )
    names = dict.fromkeys(name for row in rows.values() for name in row)
    return {_whole(name): [_value(row.get(name)) for row in rows.values()] for name in names}


def _parquet(path: Path) -> dict[str, Sequence[Any]]:
    """Columns of a parquet file, which stay in arrow; what it unpacks to is limited as for packed text."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    limit, size = unpack_limit(), 0
    try:
        with pq.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if len(set(names)) < len(names):
                raise DataError(f"{path.name} has columns of the same name: {', '.join(names)}. Rename them.")
            batches = []
            for batch in file.iter_batches(batch_size=4096):
                size += batch.nbytes
                if size > limit:
                    raise DataError(f"{path.name} unpacks to more than {limit:,} bytes; refused. {raise_limit()}")
                batches.append(batch)
            table = pa.Table.from_batches(batches, file.schema_arrow)
        pa.default_memory_pool().release_unused()  # what unpacking took
    except DataError:
        raise
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise DataError(
            f"{path.name} cannot be read as parquet ({first_line(error)}). Write it again, or save it as csv."
        ) from None
    return {name: _arrow(table.column(name)) for name in names}


def _arrow(column: Any) -> Sequence[Any]:
    """The cells of an arrow column, as Python values when they are asked for."""
    return Blocks(len(column), lambda a, b: [_value(v) for v in column.slice(a, b - a).to_pylist()])


def read_json(text: str, where: str) -> Any:
    """JSON from an unknown source: errors say where; a repeated key is an error, and so is endless nesting."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if twice := [name for name, n in Counter(name for name, _ in pairs).items() if n > 1]:
            raise DataError(f"{where}: the field {twice[0]!r} occurs twice in one object. Keep one of them.")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once)
    except DataError:
        raise
    except RecursionError:
        raise DataError(f"{where} is nested too deeply to be data. Use plain objects with named fields.") from None
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON: {error}.") from None


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
