"""Your own file as a corpus: csv, tsv, jsonl or parquet with a text and a label column.

| column    | needed | what it holds |
| --- | --- | --- |
| text      | yes    | the text; in jsonl and parquet also a list of tokens |
| label     | yes    | class names or numbers |
| split     | no     | train, dev (or validation, val, eval …), test (or holdout …): `attnlib.data.split_words` lists the words, and any other is an error; without the column 80/10/10 is drawn, fixed and stratified |
| query     | no     | a question or a hypothesis |
| rationale | no     | what a human marked: character spans `[[0, 4], [9, 14]]`, one 0 or 1 for every white-space separated word `[0, 1, 0]`, or the marked passages themselves `["so good", "a gem"]` (every occurrence is marked) |
| id        | no     | unique |

Other names (`review`, `Sentiment`, `v1` …) are detected, or given: `load_corpus("f.csv", text="body", label="kind")`.
Separate files: `load_corpus(train="a.csv", dev="b.csv", test="c.csv")`. What is not given is cut from train and noted:
15% for dev or test alone, 10% each where there is neither.
HTML in the texts is removed and counted in the notes; `preprocessing={"html": "keep"}` keeps it.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

from attnlib.data.columns import AUTO, find_columns
from attnlib.data.corpora import CorpusSpec
from attnlib.data.preprocess import BROUGHT
from attnlib.data.raw import RawCorpus, RawExample
from attnlib.data.split_words import read_splits
from attnlib.data.table_files import SUFFIXES, Table, file_stem, is_table, read_table
from attnlib.errors import DataError

__all__ = ["SPEC", "SUFFIXES", "is_table", "table"]

NO_VALUE = frozenset(("nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""


def table(
    path: str,
    *,
    dev: str | None = None,
    test: str | None = None,
    text: str = AUTO,
    label: str = AUTO,
    split: str | None = AUTO,
    query: str | None = AUTO,
    rationale: str | None = AUTO,
    id: str | None = AUTO,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> RawCorpus:
    """Rows of a file, or of up to three. Columns: a name, `auto` to detect, None (for the optional four) for none.

    dev, test             files of their own; `path` then holds the training texts. Their columns have the same
                          names, and their texts are used for nothing else
    delimiter, encoding   for text files; sniffed, and UTF-8 (or what a byte order mark says), by default
    """
    asked = dict(text=text, label=label, split=split, query=query, rationale=rationale, id=id)
    asked = {role: None if name is None else str(name) for role, name in asked.items()}
    given = {"train": path, "dev": dev, "test": test}
    files = {part: Path(name).expanduser() for part, name in given.items() if name is not None}
    _check_files(files)
    contents = {part: read_table(file, delimiter=delimiter, encoding=encoding) for part, file in files.items()}
    columns = find_columns(contents["train"], asked)
    rows, notes = [], []
    for part, content in contents.items():
        own = columns if part == "train" else _same_columns(content, columns, files[part], files["train"])
        labels = [_label(value) for value in content.columns[own["label"]]]
        splits, note = _splits(content, own["split"], files[part], part if len(files) > 1 else None)
        found = [_row(content, own, i, labels[i], splits[i]) for i in range(len(content))]
        if len(files) > 1:  # the same numbers in every file are no clash
            found = [row if row.id is None else replace(row, id=f"{part}/{row.id}") for row in found]
        rows += found
        notes += [note] if note else []
        notes += content.notes
    _check_label_column(files["train"], columns["label"], [row.label for row in rows])
    named = ", ".join(f"{role} {name!r}" for role, name in columns.items() if name is not None)
    return RawCorpus(
        name=_name(files),
        rows=rows,
        preprocessing=BROUGHT,
        source=", ".join(file.name for file in files.values()),
        notes=(f"columns: {named}", *notes),
    )


SPEC = CorpusSpec(
    name="your own file",
    loader=table,
    summary="csv, tsv, jsonl or parquet with a text and a label column",
    source="you",
    citation="yours",
    kind="raw",
)


def _check_files(files: dict[str, Path]) -> None:
    """Every part from a file of its own: the same one twice would test on what was learned."""
    seen: dict[Path, str] = {}
    for part, file in files.items():
        if not is_table(file):
            raise DataError(
                f"{part}: {str(file)!r} is not a table. Give a file that ends in {', '.join(SUFFIXES)}."
            )
        if (first := seen.setdefault(file.resolve(), part)) != part:
            raise DataError(f"{first} and {part} are the same file, {file.name}. Give every part texts of its own.")


def _same_columns(content: Table, columns: dict[str, str | None], file: Path, train: Path) -> dict[str, str | None]:
    for role in ("text", "label", "query"):
        name = columns.get(role)
        if name is not None and name not in content.columns:
            raise DataError(
                f"{file.name} has no column {name!r}, which holds the {role} in {train.name}; it has "
                f"{', '.join(content.columns)}. Use the same names in all files."
                + (" Texts without labels can test nothing: leave the file out." if role == "label" else "")
            )
    return {role: name if name in content.columns else None for role, name in columns.items()}


def _splits(content: Table, column: str | None, file: Path, part: str | None) -> tuple[list[Any], str | None]:
    """Split of every row and a note. `part`: what the file is given as; a column may then not contradict it."""
    if column is None:
        return [part] * len(content), None
    splits, note = read_splits(content.columns[column], f"column {column!r} in {file.name}")
    if part is not None and (other := [s for s in splits if s != part]):
        raise DataError(
            f"{file.name} is given as {part}, but its column {column!r} puts {len(other):,} of {len(splits):,} "
            f"rows in {other[0]}. Say split=None to use every row as {part}, or load that file alone by its column."
        )
    return splits, note if part is None else None


def _name(files: dict[str, Path]) -> str:
    """The name of the file; where that is a word for a split (reviews/train.csv), of the folder."""
    name = file_stem(files["train"])
    if len(files) == 1:
        return name
    cut = re.sub(r"[\W_]*(train|training|trn)$", "", name, flags=re.IGNORECASE)
    return cut or files["train"].resolve().parent.name or name


def _row(content: Table, columns: dict[str, str | None], i: int, label: Any, split: Any) -> RawExample:
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
        split=split,
        query=tuple(map(str, query)) if isinstance(query, list) else query if query is None else str(query),
        rationale=marks,
        id=None if given is None else str(given),
    )


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
