"""Files to frames: csv, tsv, jsonl, json and parquet.

What could be read in two ways is said: quotes that do not match, a first row of names or of data.
"""

from __future__ import annotations

import csv
import io
import json
import re
import warnings
from collections.abc import Collection, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import DataWarning, is_number, some
from attnlib.data.readers.base import read_yaml
from attnlib.utils.errors import ConfigError, DataError, first_line
from attnlib.utils.paths import neighbour

if TYPE_CHECKING:
    import pandas as pd

JSON = (".jsonl", ".ndjson", ".json")
SUFFIXES = (".csv", ".tsv", ".tab", *JSON, ".parquet")
SIGNS = (",", ";", "\t", "|")
"""What may separate cells where nobody says."""
SAMPLE = 500
"""Rows that row 1 is compared with."""
ROLES: dict[str, list[str]] = read_yaml("columns.yaml")
USUAL = {name for names in ROLES.values() for name in names}
csv.field_size_limit(2**31 - 1)  # the module's own limit of 128 KB is less than a long text


def is_table(path: Path) -> bool:
    return path.name.lower().endswith(SUFFIXES)


def plain(name: str) -> str:
    """reviewText, Review Text and review-text are one name."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


def read_table(
    path: Path,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    names: Collection[str] = (),
) -> pd.DataFrame:
    """The rows of a file; cells of csv and tsv are texts, and blank where they are empty.

    sep, encoding  for text files; without `encoding` UTF-8, or UTF-16 with its mark
    header         whether row 1 names the columns; None: it does if it holds one of the `names` or a usual name,
                   or nothing that is like the cells below it; that it does not is a warning
    """
    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.{neighbour(path)}")
    if path.suffix.lower() == ".parquet":
        frame = _parquet(path)
    elif path.suffix.lower() in JSON:
        frame = _records(_text(path, encoding), path.name)
    else:
        frame = _delimited(_text(path, encoding), path, sep, header, names)
    if not frame.columns.is_unique:
        twice = frame.columns[frame.columns.duplicated()][0]
        raise DataError(f"{path.name} names {twice!r} twice ({some(frame.columns)}). Rename one of the columns.")
    if not frame.size:
        raise DataError(f"{path.name} holds no row of data: a table needs a text and a label in every row.")
    return frame


def read_json(text: str, where: str) -> Any:
    """JSON from an unknown source: errors say where."""
    try:
        return json.loads(text)
    except RecursionError:
        raise DataError(f"{where} is nested too deeply to be data. Use plain objects.") from None
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON: {error}.") from None


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd
    import pyarrow as pa

    try:
        return pd.read_parquet(path, dtype_backend="pyarrow")  # whole numbers stay whole
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        said = first_line(error)
        raise DataError(f"{path.name} cannot be read as parquet ({said}). Write it again, or as csv.") from None


def _text(path: Path, encoding: str | None) -> str:
    data = path.read_bytes()
    marked = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(encoding or marked)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path.name}, line {line:,}: byte 0x{data[error.start]:02x} is not {error.encoding}. Say which "
            "encoding it has: encoding='latin-1' or encoding='cp1252' (on the command line --encoding latin-1)."
        ) from None
    except (LookupError, TypeError, ValueError):
        raise DataError(
            f"{path.name} cannot be read with the encoding {encoding!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None
    if not text.strip():
        raise DataError(f"{path.name} is empty: it has neither a header nor a row.")
    return text


def _delimited(text: str, path: Path, sep: str | None, header: bool | None, names: Collection[str]) -> pd.DataFrame:
    import pandas as pd

    if "\0" in text:
        raise DataError(f"{path.name} contains zero bytes: it is not a text file, or needs encoding='utf-16'.")
    sep = _separator(text, path) if sep is None else "\t" if sep in ("\\t", "tab") else sep
    if not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n' or sep.isalnum():
        raise ConfigError(f"sep must be one sign, such as ',' ';' '|' or '\\t' for a tab; got {sep!r}.")
    rows = _rows(text, path, sep)
    if not (_is_header(rows, path, names) if header is None else header):
        return pd.DataFrame(rows, columns=[str(k) for k in range(len(rows[0]))])
    # spreadsheets leave empty columns without a name
    kept = {
        k: cell.strip() or f"column {k}" for k, cell in enumerate(rows[0]) if any(row[k].strip() for row in rows)
    }
    return pd.DataFrame([[row[k] for k in kept] for row in rows[1:]], columns=[*kept.values()])


def _separator(text: str, path: Path) -> str:
    """A tab in tsv files; else the first sign that cuts 20 rows into as many cells, two or more, or row 1 alone."""
    signs = ("\t",) if path.suffix.lower() in (".tsv", ".tab") else SIGNS
    widths = {}
    for sign in signs:
        rows = csv.reader(io.StringIO(text[: 2**18], newline=""), delimiter=sign, skipinitialspace=True)
        widths[sign] = [len(row) for row in islice(rows, 20) if any(row)]
    cutting = [sign for sign in signs if widths[sign] and widths[sign][0] > 1]
    if not cutting:
        raise DataError(
            f"{path.name} has one column only: none of {', '.join(map(repr, signs))} separates anything in its "
            "first line. A text and a label are needed; if another sign separates them, say sep=… (--sep)."
        )
    return next((sign for sign in cutting if len({*widths[sign]}) == 1), cutting[0])


def _rows(text: str, path: Path, sep: str) -> list[list[str]]:
    """All rows, as wide as the first. Quotes that do not match are taken for text.

    Else a quote that never closes would make one cell of all rows up to the next one.
    """
    form, fault = dict(delimiter=sep, skipinitialspace=True), None
    reader = csv.reader(io.StringIO(text, newline=""), strict=True, **form)
    try:
        rows = [row for row in reader if any(row)]
    except csv.Error as error:
        fault = f"quotes do not match (line {reader.line_num:,}: {error})"
        rows = csv.reader(io.StringIO(text, newline=""), quoting=csv.QUOTE_NONE, **form)
        rows = [row for row in rows if any(row)]
    if not rows:
        raise DataError(f"{path.name} is empty: none of its cells holds anything.")
    width = len(rows[0])
    if wider := next((number for number, row in enumerate(rows, start=1) if len(row) > width), None):
        swallowed = f"; {fault}, and one that never closes swallows rows" if fault else ""
        raise DataError(
            f"{path.name}: row {wider:,} has {len(rows[wider - 1])} cells, row 1 has {width}{swallowed}. Put texts "
            f"that hold {sep!r} in double quotes and double the quotes within them, or say which sign separates "
            "the cells with sep=… (--sep)."
        )
    if fault:
        warnings.warn(f"{path.name}: {fault}, so all double quotes are taken for text.", DataWarning, stacklevel=2)
    return [row + [""] * (width - len(row)) for row in rows]


def _is_header(rows: Sequence[Sequence[str]], path: Path, names: Collection[str]) -> bool:
    """Whether row 1 names the columns: by names asked for or usual ones, else unless it is like what is below."""
    first, asked = [cell.strip() for cell in rows[0]], {*names}
    if asked and asked <= {str(k) for k in range(len(first))}:  # columns named by their places
        return asked <= {*first}
    columns = [[below for row in rows[1:SAMPLE] if (below := row[k].strip())] for k in range(len(first))]
    like = False
    for cell, column in zip(first, columns, strict=True):
        if cell in asked or (plain(cell) in USUAL and column.count(cell) < 2):
            return True
        like = like or cell in column or (is_number(cell) and all(map(is_number, column)))
    if like:
        row = some([repr(cell[:40]) for cell in first], 4)
        told = f"{path.name}: row 1 ({row}) is taken for a text, and the columns are called 0, 1 …."
        warnings.warn(f"{told} If that is wrong, say header=True (--header).", DataWarning, stacklevel=2)
    return not like


def _records(text: str, name: str) -> pd.DataFrame:
    """A JSON list of objects, or one object per line."""
    import pandas as pd

    if text.lstrip()[:1] == "[":
        rows = dict(enumerate(read_json(text, name), start=1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        rows = {n: read_json(line, f"{name}, line {n:,}") for n, line in lines if line.strip()}
    if odd := [number for number, row in rows.items() if not isinstance(row, dict)]:
        raise DataError(f"{name}, entry {odd[0]:,}: needs an object, one per line or in a list.")
    columns = dict.fromkeys(key for row in rows.values() for key in row)
    return pd.DataFrame({key: pd.Series([row.get(key) for row in rows.values()], dtype=object) for key in columns})
