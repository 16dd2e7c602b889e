"""Your own file as a corpus: csv, tsv, jsonl or parquet with a text and a label column.

| column    | needed | what it holds |
| --- | --- | --- |
| text      | yes    | the text; in jsonl and parquet also a list of tokens |
| label     | yes    | class names or numbers |
| split     | no     | train, dev (or val, valid, validation), test; without it 80/10/10 is drawn, fixed and stratified |
| query     | no     | a question or a hypothesis |
| rationale | no     | what a human marked: character spans `[[0, 4], [9, 14]]`, one 0 or 1 for every white-space separated word `[0, 1, 0]`, or the marked passages themselves `["so good", "a gem"]` (every occurrence is marked) |
| id        | no     | unique |

Other names (`review`, `Sentiment`, `v1` …) are detected, or given: `load_corpus("f.csv", text="body", label="kind")`.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from attnlib.data.columns import AUTO, SPLIT_VALUES, find_columns
from attnlib.data.corpora import CorpusSpec
from attnlib.data.preprocess import Preprocessing
from attnlib.data.raw import RawCorpus, RawExample
from attnlib.data.table_files import SUFFIXES, Table, is_table, read_table
from attnlib.errors import DataError, unknown

__all__ = ["SPEC", "SUFFIXES", "is_table", "table"]

NO_VALUE = frozenset(("nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""


def table(
    path: str,
    *,
    text: str = AUTO,
    label: str = AUTO,
    split: str | None = AUTO,
    query: str | None = AUTO,
    rationale: str | None = AUTO,
    id: str | None = AUTO,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> RawCorpus:
    """Rows of a file. Columns: a name, `auto` to detect, None (for the optional four) to do without.

    delimiter, encoding   for text files; sniffed, and UTF-8 (or what a byte order mark says), by default
    """
    file = Path(path).expanduser()
    content = read_table(file, delimiter=delimiter, encoding=encoding)
    asked = dict(text=text, label=label, split=split, query=query, rationale=rationale, id=id)
    columns = find_columns(content, asked)
    labels = [_label(value) for value in content.columns[columns["label"]]]
    _check_label_column(file, columns["label"], labels)
    named = ", ".join(f"{role} {name!r}" for role, name in columns.items() if name is not None)
    return RawCorpus(
        name=file.name.removesuffix(".gz").rsplit(".", 1)[0],
        rows=[_row(content, columns, i, labels[i]) for i in range(len(content))],
        preprocessing=Preprocessing(),
        source=file.name,
        notes=(f"columns: {named}", *content.notes),
    )


SPEC = CorpusSpec(
    name="your own file",
    loader=table,
    summary="csv, tsv, jsonl or parquet with a text and a label column",
    source="you",
    citation="yours",
    kind="raw",
)


def _row(content: Table, columns: dict[str, str | None], i: int, label: Any) -> RawExample:
    def cell(role: str) -> Any:
        name = columns.get(role)
        return None if name is None else content.columns[name][i]

    text, marks = cell("text"), cell("rationale")
    tokens = tuple(map(str, text)) if isinstance(text, list) else None
    text = "" if text is None or tokens is not None else str(text)
    where = f"row {i} (from 0)"
    if marks is not None:
        tokens, marks = _rationale(marks, text, tokens, where)
    query = cell("query")
    if columns.get("query") is not None and query is None:
        raise DataError(f"{where} has no query while the column {columns['query']!r} holds them. Fill it in.")
    given = cell("id")
    return RawExample(
        text=text,
        label=label,
        tokens=tokens,
        split=_split(cell("split"), columns.get("split"), where),
        query=tuple(map(str, query)) if isinstance(query, list) else query if query is None else str(query),
        rationale=marks,
        id=None if given is None else str(given),
    )


def _split(value: Any, column: str | None, where: str) -> Any:
    if column is None:
        return None
    found = SPLIT_VALUES.get(str(value).strip().lower())
    if found is None:
        raise DataError(f"{where}: {unknown(f'split in column {column!r}', value, SPLIT_VALUES)}")
    return found


def _label(value: Any) -> Any:
    if isinstance(value, str):
        value = value.strip()
        if value.lower() in NO_VALUE:
            return None
        try:
            number = float(value)
        except ValueError:
            return value
        return str(int(number)) if number.is_integer() and "e" not in value.lower() else value
    return value


def _check_label_column(file: Path, column: str | None, labels: list[Any]) -> None:
    present = [x for x in labels if x is not None]
    values = len(set(map(str, present)))
    if values > 1000 or (len(present) >= 20 and values > len(present) / 2):
        raise DataError(
            f"{file.name}: the label column {column!r} holds {values:,} different values in {len(present):,} "
            "rows: that is a measurement or a text, not a class. Name another column with label=…, or put the "
            "values in groups."
        )


def _rationale(marks: Any, text: str, tokens: tuple[str, ...] | None, where: str) -> tuple[Any, Any]:
    """Tokens (where the marks are by token) and marks, in the form that RawExample takes."""
    if isinstance(marks, str):
        stripped = marks.strip()
        if stripped.startswith("["):
            try:
                marks = json.loads(stripped)
            except ValueError as error:
                raise DataError(
                    f"{where}: the rationale {stripped[:40]!r} is no valid JSON list: {error}."
                ) from None
        elif stripped.replace(" ", "").strip("01") == "":
            marks = [int(m) for m in stripped.split()]
        else:
            marks = [stripped]
    if all(isinstance(m, list | tuple) and len(m) == 2 for m in marks):
        if tokens is not None and marks:
            raise DataError(f"{where}: character spans need a text, not a list of tokens. Give one 0 or 1 a token.")
        return tokens, [False] * len(tokens) if tokens is not None else [(int(a), int(b)) for a, b in marks]
    if all(isinstance(m, int | float | bool) and m in (0, 1) for m in marks):
        tokens = tuple(text.split()) if tokens is None else tokens
        if len(marks) != len(tokens):
            raise DataError(f"{where}: the rationale marks {len(marks)} words, the text has {len(tokens)}.")
        return tokens, tuple(bool(m) for m in marks)
    if all(isinstance(m, str) for m in marks) and tokens is None:
        return None, [span for passage in marks for span in _occurrences(passage, text, where)]
    raise DataError(
        f"{where}: a rationale is a list of character spans, of 0 and 1 for every word, or of passages of the "
        f"text; got {str(marks)[:60]!r}."
    )


def _occurrences(passage: str, text: str, where: str) -> list[tuple[int, int]]:
    spans, start = [], text.find(passage) if passage else -1
    if start < 0:
        raise DataError(f"{where}: the rationale {passage[:40]!r} does not occur in the text.")
    while start >= 0:
        spans.append((start, start + len(passage)))
        start = text.find(passage, start + len(passage))
    return spans
