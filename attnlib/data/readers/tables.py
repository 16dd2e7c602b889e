"""Files to frames: csv, tsv, jsonl, json and parquet, plain or packed as .gz or .xz, read by pandas.

What could be read in two ways is said: quotes that do not match, and a first row that may be names or may be data.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import lzma
import warnings
import zlib
from collections.abc import Callable, Collection
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import DataWarning, is_number, some
from attnlib.data.readers.columns import USUAL, plain
from attnlib.utils.errors import ConfigError, DataError, first_line
from attnlib.utils.paths import neighbour

if TYPE_CHECKING:
    import pandas as pd

JSON = (".jsonl", ".ndjson", ".json")
SUFFIXES = (".csv", ".tsv", ".tab", *JSON, ".parquet")
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open}
SIGNS = (",", ";", "\t", "|")
"""What separates cells where nobody says."""
SAMPLE = 500
"""Rows that row 1 is compared with."""
csv.field_size_limit(2**31 - 1)  # the module's own limit of 128 KB is less than a long text


def plain_name(path: Path) -> str:
    """The name in lower case, without the suffix of a packer: `Reviews.csv.gz` is `reviews.csv`."""
    name = path.name.lower()
    return next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)


def is_table(path: Path) -> bool:
    """Whether the name is that of a table."""
    return plain_name(path).endswith(SUFFIXES)


def read_table(
    path: Path,
    *,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
    names: Collection[str] = (),
) -> pd.DataFrame:
    """The rows of a file; cells of csv and tsv are texts, and blank where they are empty.

    sep, encoding  for text files; found, and UTF-8 (UTF-16 with its mark), by default
    header         whether row 1 of a csv or tsv names its columns; None: it does if it holds one of the `names`
                   or a usual name, else it is compared with the other rows, and a doubt is a warning
    """
    import pandas as pd
    import pyarrow as pa

    if not path.is_file():
        raise DataError(f"There is no file {str(path)!r}.{neighbour(path)}")
    if (name := plain_name(path)).endswith(".parquet"):
        try:
            frame = pd.read_parquet(path, dtype_backend="pyarrow")  # the cells stay in arrow
        except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
            said = first_line(error)
            raise DataError(f"{path.name} cannot be read as parquet ({said}). Write it again, or as csv.") from None
    else:
        text = _text(path, encoding)
        if not text.strip():
            raise DataError(f"{path.name} is empty: it has neither a header nor a row.")
        frame = _records(text, path.name) if name.endswith(JSON) else _delimited(text, path, sep, header, names)
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
        raise DataError(f"{where} is nested too deeply to be data. Use plain objects with named fields.") from None
    except ValueError as error:
        raise DataError(f"{where} is not valid JSON: {error}.") from None


def _text(path: Path, encoding: str | None) -> str:
    opened = PACKED.get(path.suffix.lower(), open)
    try:
        with opened(path, "rb") as file:
            data = file.read()
        marked = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
        return data.decode(marked if encoding is None else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{path.name}, line {line:,}: byte 0x{data[error.start]:02x} is not {error.encoding}. Say which "
            "encoding it has: encoding='latin-1' or encoding='cp1252' (on the command line --encoding latin-1)."
        ) from None
    except (LookupError, UnicodeError, TypeError, ValueError):
        raise DataError(
            f"{path.name} cannot be read with the encoding {encoding!r}. Common ones: utf-8, latin-1, utf-16."
        ) from None
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise DataError(
            f"{path.name} cannot be read ({first_line(error)}): it is cut off, damaged or not what its name says. "
            "Get it again, or unpack it yourself."
        ) from None


def _delimited(text: str, path: Path, sep: str | None, header: bool | None, names: Collection[str]) -> pd.DataFrame:
    if "\0" in text:
        raise DataError(f"{path.name} contains zero bytes: it is not a text file, or needs encoding='utf-16'.")
    sep = "\t" if sep in ("\\t", "tab") else sep
    if sep is not None and (not isinstance(sep, str) or len(sep) != 1 or sep in '"\r\n' or sep.isalnum()):
        raise ConfigError(f"sep must be one sign, such as ',' ';' '|' or '\\t' for a tab; got {sep!r}.")
    frame = _parsed(text, path, _separator(text, path) if sep is None else sep)
    if not (_is_header(frame, path, names) if header is None else header):
        return frame.rename(columns=str)
    found = [str(cell).strip() or f"column {k}" for k, cell in enumerate(frame.iloc[0])]
    frame = frame.iloc[1:].reset_index(drop=True).set_axis(found, axis=1)
    empty = [c for k, c in enumerate(found) if c == f"column {k}" and not frame.iloc[:, k].str.strip().any()]
    return frame.drop(columns=empty)  # spreadsheets leave empty columns without a name


def _separator(text: str, path: Path) -> str:
    """The sign that cuts most of the first rows as wide as line 1; of two alike, the one that the name suggests."""
    usual = "\t" if plain_name(path).endswith((".tsv", ".tab")) else ","
    scores = {}
    for sep in SIGNS:
        rows = csv.reader(io.StringIO(text[: 2**18], newline=""), delimiter=sep, skipinitialspace=True)
        widths = [len(row) for row in islice(rows, 20) if row]
        if widths and widths[0] > 1:
            scores[sep] = (round(widths.count(widths[0]) / len(widths), 1), sep == usual, widths[0])
    if not scores:
        raise DataError(
            f"{path.name} has one column only: none of {', '.join(map(repr, SIGNS))} separates anything in its "
            "first line. A text and a label are needed; if another sign separates them, say sep=… (--sep)."
        )
    return max(scores, key=scores.__getitem__)


def _parsed(text: str, path: Path, sep: str) -> pd.DataFrame:
    """All rows, the first among them. Quotes that do not match are taken for text where rows then have one width.

    pandas alone would take a quote that never closes, and all rows up to the next one, for a single cell.
    """
    import pandas as pd

    quoting, fault = csv.QUOTE_MINIMAL, ""
    if '"' in text:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=sep, skipinitialspace=True, strict=True)
        try:
            widths = {len(row) for row in rows if row}
            fault = "rows of different widths" if sep == "\t" and len(widths) > 1 else ""
        except csv.Error as error:
            fault = f"line {rows.line_num:,}: {error}"
        quoting = csv.QUOTE_NONE if fault else quoting
    options = dict(sep=sep, header=None, dtype=str, keep_default_na=False, skipinitialspace=True, quoting=quoting)
    try:
        frame = pd.read_csv(io.StringIO(text), **options)
    except ValueError as error:
        said = first_line(error).removeprefix("Error tokenizing data. C error: ")
        said = f"quotes do not match ({fault}), and one that never closes swallows rows" if fault else said
        raise DataError(
            f"{path.name}: {said}. Put texts that hold {sep!r} in double quotes and double the quotes within them, "
            "or say which sign separates the cells with sep=… (--sep)."
        ) from None
    if fault:
        told = f"{path.name}: quotes do not match ({fault}), so all double quotes are taken for text."
        warnings.warn(told, DataWarning, stacklevel=2)
    frame = frame.fillna("")
    return frame[(frame != "").any(axis=1)]


def _is_header(frame: pd.DataFrame, path: Path, names: Collection[str]) -> bool:
    """Whether row 1 names the columns: by the names asked for, by usual names, else by what stands below it."""
    first = [str(cell).strip() for cell in frame.iloc[0]]
    below = [[cell for cell in frame[k].iloc[1:SAMPLE].str.strip() if cell] for k in frame.columns]
    if names and ({*names} <= {*first} or {*names} <= {*map(str, frame.columns)}):
        return {*names} <= {*first}  # else the columns were named by their places
    if {*names} & {*first}:
        return True
    like = unlike = 0
    for cell, column in zip(first, below, strict=True):
        if plain(cell) in USUAL and column.count(cell) < 2:
            return True
        numbers, few = all(map(is_number, column)), len({*column}) <= max(2, len(column) // 5)
        if column and (numbers or few):  # the column is of a kind, so that row 1 can be told from it
            same = is_number(cell) if numbers else cell in column
            like, unlike = like + same, unlike + (not same)
    taken = "a text, and the columns are called 0, 1 …" if like and not unlike else "the names of the columns"
    if like or not unlike:
        row = some([repr(cell[:40]) for cell in first], 4)
        other = "say header=True (--header)" if taken.startswith("a text") else "say header=False (--no-header)"
        told = f"{path.name}: row 1 ({row}) is taken for {taken}. If that is wrong, {other}."
        warnings.warn(told, DataWarning, stacklevel=2)
    return not like or bool(unlike)


def _records(text: str, name: str) -> pd.DataFrame:
    """A JSON list of objects, or one object per line."""
    import pandas as pd

    if text.lstrip()[:1] == "[":
        rows = dict(enumerate(read_json(text, name), start=1))
    else:
        lines = enumerate(text.split("\n"), start=1)
        rows = {n: read_json(line, f"{name}, line {n:,}") for n, line in lines if line.strip()}
    if odd := [number for number, row in rows.items() if not isinstance(row, dict)]:
        raise DataError(f"{name}, entry {odd[0]:,}: needs an object with named fields, one per line or in a list.")
    columns = dict.fromkeys(key for row in rows.values() for key in row)
    return pd.DataFrame({key: pd.Series([row.get(key) for row in rows.values()], dtype=object) for key in columns})
