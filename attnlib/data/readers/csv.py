"""csv and tsv to columns: delimiters are sniffed, quotes that do not match are named."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from pathlib import Path
from typing import Any

from attnlib.utils.errors import ConfigError, DataError

DELIMITERS = (",", ";", "\t", "|")
_SAMPLE = 500
_NAME = re.compile(r"[^\W\d][\w .\-/()#%:]{0,39}")


def delimited(
    text: str, path: Path, delimiter: str | None, favourite: str
) -> tuple[dict[str, list[Any]], list[str]]:
    """Columns and notes of a text; `favourite` is the delimiter that its name promises."""
    if "\0" in text:
        raise DataError(f"{path.name} holds zero bytes: it is no text file, or encoding='utf-16'.")
    csv.field_size_limit(2**31 - 1)  # the default of 128 KB is less than a long review page
    delimiter = _sniffed(text, path, favourite) if delimiter is None else _one_sign(delimiter)
    rows, notes = _unquoted(text, delimiter, path)
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    if _is_header(rows[0], rows[1:]):
        header, rows = rows[0], rows[1:]
    else:
        header = [str(i) for i in range(width)]
        notes.append(f"no header line: columns are called {', '.join(header)}")
    return _columns(header, rows, path, delimiter), notes


def _one_sign(delimiter: object) -> str:
    named = {"\\t": "\t", "tab": "\t", "comma": ",", "semicolon": ";"}.get(str(delimiter), delimiter)
    if not isinstance(named, str) or len(named) != 1 or named in '"\r\n\0' or named.isalnum():
        raise ConfigError(
            f"delimiter must be one sign, such as ',' ';' '|' or '\\t' for a tab; got {delimiter!r}. Left out, it "
            "is found."
        )
    return named


def _unquoted(text: str, delimiter: str, path: Path) -> tuple[list[list[str]], list[str]]:
    """The rows, and a note where quotes stand in odd places: a stray one swallows the lines up to the next.

    Where that cost rows, the quotes are taken for text if the rows then have the same width, as in many tsv files;
    else it is an error, since nobody would see what is missing.
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
        cell = rows[-1 if swallowed is None else swallowed]
        raise DataError(
            f"{path.name}: {fault} A quote that never closes swallows the rows behind it, here in the row "
            f"{delimiter.join(cell)[:60]!r}. Close it, or double quotes that belong to a text."
        )
    return rows, [f"{fault} Read as well as possible: compare the number of texts"]


def _swallowed(rows: list[list[str]], delimiter: str) -> int | None:
    """The first row with a cell that holds whole rows: lines with as many delimiters as the header."""
    signs = len(rows[0]) - 1
    for i, row in enumerate(rows):
        for cell in row:
            if any(line.count(delimiter) == signs for line in cell.split("\n")[1:-1]):
                return i
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
    best: tuple[float, bool, int] = (0.0, False, 0)
    found = favourite
    for delimiter in DELIMITERS:
        rows = _rows(sample, delimiter)[: _SAMPLE + 1]
        if len(sample) < len(text) and len(rows) > 1:
            rows = rows[:-1]
        if not rows or len(rows[0]) < 2:
            continue
        same = 1 - _ragged(rows) / len(rows)
        score = (round(same, 2), delimiter == favourite, len(rows[0]))
        if score > best:
            best, found = score, delimiter
    if best[2] == 0:
        raise DataError(
            f"{path.name} has one column only: none of {', '.join(map(repr, DELIMITERS))} separates anything in "
            "its first line. A text and a label are needed; if another sign separates them, say delimiter=…."
        )
    return found


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
    width = len(header)
    twice = [name for name, n in Counter(name.strip() for name in header).items() if n > 1 and name]
    if twice:
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
    names = [name.strip() or f"column {k}" for k, name in enumerate(header)]
    columns = {name: [_cell(row[k]) if k < len(row) else None for row in rows] for k, name in enumerate(names)}
    # Spreadsheets leave empty columns without a name behind.
    named = {name.strip() for name in header}
    return {name: cells for name, cells in columns.items() if name in named or any(c is not None for c in cells)}


def _cell(value: str) -> str | None:
    return value if value.strip() else None
