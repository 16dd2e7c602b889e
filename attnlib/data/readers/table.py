"""Your own file as a corpus: csv, tsv, jsonl or parquet with a text and a label column.

| column    | needed | what it holds |
| --- | --- | --- |
| text      | yes    | the text; in jsonl and parquet also a list of tokens |
| label     | yes    | class names or numbers |
| split     | no     | train, dev (or validation, val, eval …), test (or holdout …): `attnlib.data.splits` lists the words, and any other is an error; without the column 80/10/10 is drawn, fixed and stratified |
| query     | no     | a question or a hypothesis |
| rationale | no     | what a human marked: character spans `[[0, 4], [9, 14]]`, one 0 or 1 for every white-space separated word `[0, 1, 0]`, or the marked passages themselves `["so good", "a gem"]` (every occurrence is marked) |
| id        | no     | unique |

Other names (`review`, `Sentiment`, `v1` …) are detected, or given: `load_corpus("f.csv", text="body", label="kind")`.
Separate files: `load_corpus(train="a.csv", dev="b.csv", test="c.csv")`. What is not given is cut from train and noted:
15% for dev or test alone, 10% each where there is neither.
HTML in the texts is removed and counted in the notes; `preprocessing={"html": "keep"}` keeps it.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

from attnlib.data.checks import check_span, class_name, is_number, missing, some
from attnlib.data.preprocess import BROUGHT
from attnlib.data.readers.base import Blocks, CorpusSpec, joined, listed
from attnlib.data.readers.columns import AUTO, find_columns
from attnlib.data.readers.files import SUFFIXES, Table, file_stem, is_table, read_json, read_table
from attnlib.data.splits import read_splits
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import DataError
from attnlib.utils.paths import user_path

LOOKED_AT = 20_000
"""Rows from which columns are detected."""
NO_VALUE = frozenset(("nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""
FORMS = (
    "a rationale is a list of character spans [[0, 4], [9, 14]], of 0 and 1 for every word [0, 1, 0], or of "
    'passages of the text ["so good"]'
)


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
    files = {part: user_path(name) for part, name in given.items() if name is not None}
    seen: dict[Path, str] = {}
    for part, file in files.items():
        if not is_table(file):
            raise DataError(
                f"{part}: {str(file)!r} is not a table. Give a file that ends in {', '.join(SUFFIXES)}."
            )
        if len(files) > 1 and (first := seen.setdefault(file.resolve(), part)) != part:  # tested on training texts
            raise DataError(f"{first} and {part} are the same file, {file.name}. Give every part its own texts.")
    contents = {part: read_table(file, delimiter=delimiter, encoding=encoding) for part, file in files.items()}
    columns = find_columns(contents["train"].head(LOOKED_AT), asked)
    own_columns = {part: _same_columns(content, columns, files, part) for part, content in contents.items()}
    cells = [cell for part, content in contents.items() for cell in content.columns[own_columns[part]["label"]]]
    labels, notes = _labels(cells, f"label column {columns['label']!r} of {files['train'].name}")
    rows: list[Sequence[RawExample]] = []
    for part, content in contents.items():
        own = own_columns[part]
        splits, note = _splits(content, own["split"], files[part], part if len(files) > 1 else None)
        first, name = sum(map(len, rows)), files[part].name
        prefix = f"{part}/" if len(files) > 1 else ""  # the same numbers in every file do not clash
        rows.append(_rows(content, own, labels[first : first + len(content)], splits, name, prefix))
        notes += [note] if note else []
        notes += content.notes
    named = ", ".join(f"{role} {name!r}" for role, name in columns.items() if name is not None)
    return RawCorpus(
        name=corpus_name(files),
        rows=joined(rows),
        preprocessing=BROUGHT,
        source=", ".join(file.name for file in files.values()),
        notes=(f"columns: {named}", *notes),
    )


SPEC = CorpusSpec(
    "your own file", table, "csv, tsv, jsonl or parquet with a text and a label column", "you", "yours"
)


def clinical(
    name: str, path: str | None = None, *, text: str = "text", label: str = "label", split: str | None = AUTO
) -> RawCorpus:
    """Corpora that may not be redistributed: MIMIC Anemia and Diabetes, and ADR tweets, from a table that you make.

    MIMIC-III needs a credentialed account (physionet.org) and tweets may only be shared as ids, so attnlib ships
    neither. Make a csv (or tsv, jsonl, parquet) with these columns and load it by name; vocabulary threshold,
    cleaning and length filter are then those of Jain & Wallace (2019):

    | name | text | label | split | how the papers prepared it |
    | --- | --- | --- | --- | --- |
    | anemia | discharge summary | 1 acute (ICD-9 285.1), 0 chronic (285.2) | test 20 %, dev 15 % of the rest, stratified | patients with one of the two codes; `[** … **]` to `<DE>`, repeated signs collapsed, numbers to qqq |
    | diabetes | discharge summary | 1 if an ICD-9 code starts with 250.00, else 0 | the id lists of MIMIC-50 (Mullenbach et al. 2018) | as above |
    | adr | tweet | 1 if it reports an adverse drug reaction, else 0 | dev 15 % of train | Twitter ADR data of the SMM4H shared tasks (Nikfarjam et al. 2015; Sarker & Gonzalez 2015) |

        load_corpus("anemia", path="anemia.csv", strict_length_filter=True)

    Without a split column, attnlib draws 80/10/10 itself and says so in the corpus's notes. TaSc adds min_df 2 (ADR)
    and 5 (MIMIC) as here, and cuts MIMIC at 2,200 words: `max_length=2200`.
    """  # noqa: E501  a table row is one line
    if path is None:
        raise DataError(
            f"{name}: attnlib may not ship this corpus. Make a csv with the columns text, label and, if you "
            f"have it, split, and say load_corpus({name!r}, path='{name}.csv'). The docstring of "
            "attnlib.data.readers.table.clinical says how the papers prepared it."
        )
    raw = table(path, text=text, label=label, split=split, query=None, rationale=None)
    # without a source of its own, the corpus has the register's instead of the name of a file
    return replace(raw, name=name, source="")


for _name in ("anemia", "diabetes", "adr"):
    listed(_name)(partial(clinical, _name))


def _same_columns(
    content: Table, columns: dict[str, str | None], files: dict[str, Path], part: str
) -> dict[str, str | None]:
    """The columns of one of several files: those of train, the optional ones where it has them."""
    for role in ("text", "label", "query"):
        name = columns.get(role)
        if name is not None and name not in content.columns:
            raise DataError(
                f"{files[part].name} has no column {name!r}, which holds the {role} in {files['train'].name}; it "
                f"has {', '.join(content.columns)}. Use the same names in all files."
                + (" Texts without labels cannot be tested on: leave the file out." if role == "label" else "")
            )
    return {role: name if name in content.columns else None for role, name in columns.items()}


def _labels(cells: Sequence[Any], where: str) -> tuple[list[Any], list[str]]:
    """The label of every cell (None where there is none), and a note on spellings that were joined.

    1 and 1.0, and names that differ only in case (True, true, TRUE), are one class, under its most common spelling.

    where  the column and its file, for messages
    """
    labels = [_label(cell, where) for cell in cells]
    written: dict[str, set[str]] = defaultdict(set)
    for cell, label in zip(cells, labels, strict=True):
        if label is not None:
            written[label.lower()].add(str(cell).strip())
    counts = Counter(label for label in labels if label is not None)
    values, filled = len(written), counts.total()
    if not filled:
        raise DataError(
            f"The {where} holds no label in any of its {len(cells):,} rows. Name the column that holds the classes "
            "with label=…."
        )
    if values > 1000 or (filled >= 20 and values > filled / 2):
        raise DataError(
            f"The {where} holds {values:,} different values in {filled:,} rows: that is a measurement or a text, "
            "not a class. Name another column with label=…, or put the values in groups."
        )
    names = {label.lower(): label for label in sorted(counts, key=lambda n: (-counts[n], n), reverse=True)}
    alike = [" = ".join(sorted(found)) for _, found in sorted(written.items()) if len(found) > 1]
    notes = [f"spellings taken for one class: {some(alike)}"] if alike else []
    return [None if label is None else names[label.lower()] for label in labels], notes


def _label(value: Any, where: str) -> str | None:
    if isinstance(value, list | dict | tuple | set):
        raise DataError(
            f"The {where} holds a {type(value).__name__}, {str(value)[:40]!r}. A label is one name or number."
        )
    if missing(value) or str(value).strip().lower() in NO_VALUE:
        return None
    name = class_name(value)
    whole = is_number(name) and float(name).is_integer() and "e" not in name.lower()
    return str(int(float(name))) if whole else name


def _splits(content: Table, column: str | None, file: Path, part: str | None) -> tuple[list[Any], str | None]:
    """Split of every row and a note. `part`: what the file is given as; a column may then not contradict it."""
    if column is None:
        return [part] * len(content), None
    splits, note = read_splits(content.columns[column], f"column {column!r} in {file.name}")
    if part is not None and (other := [s for s in splits if s != part]):
        raise DataError(
            f"{file.name} is given as {part}, but its column {column!r} puts {len(other):,} of {len(splits):,} "
            f"rows in {other[0]}. Say split=None (`split: null` in a mapping) to use every row as {part}, or load "
            "that file alone by its column."
        )
    return splits, note if part is None else None


def corpus_name(files: Mapping[str, Path]) -> str:
    """The name of the file; where that is a word for a split (reviews/train.csv), of the folder."""
    name = file_stem(files["train"])
    if len(files) == 1:
        return name
    cut = re.sub(r"[\W_]*(train|training|trn)$", "", name, flags=re.IGNORECASE)
    return cut or files["train"].resolve().parent.name or name


def _rows(
    content: Table,
    columns: dict[str, str | None],
    labels: Sequence[Any],
    splits: Sequence[Any],
    file: str,
    prefix: str,
) -> Sequence[RawExample]:
    """The rows of one file, each made when it is asked for."""

    def read(start: int, stop: int) -> list[RawExample]:
        return [_row(content, columns, i, labels[i], splits[i], file, prefix) for i in range(start, stop)]

    return Blocks(len(content), read)


def _row(
    content: Table, columns: dict[str, str | None], i: int, label: Any, split: Any, file: str, prefix: str
) -> RawExample:
    cell = {role: None if name is None else content.columns[name][i] for role, name in columns.items()}
    where = f"{file}, row {i} (from 0)"
    text, query = _text(cell["text"], "text", where), _text(cell["query"], "query", where)
    if columns["query"] is not None and query is None:
        raise DataError(f"{where} has no query while the column {columns['query']!r} holds them. Fill it in.")
    tokens, text = (text, "") if isinstance(text, tuple) else (None, text or "")
    marks = cell["rationale"]
    if marks is not None:
        tokens, marks = _rationale(marks, text, tokens, where)
    given = None if cell["id"] is None else f"{prefix}{cell['id']}"
    return RawExample(text, label, tokens, split, query, rationale=marks, id=given)


def _text(value: Any, role: str, where: str) -> str | tuple[str, ...] | None:
    """A text, or a tuple of tokens; None for an empty cell."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        raise DataError(f"{where}: a {role} is a string or a list of tokens; got {str(value)[:60]!r}.")
    if isinstance(value, list):
        return tuple("" if v is None else str(v) for v in value)
    return None if value is None or value != value else str(value)  # NaN is not a text


def _rationale(
    marks: Any, text: str, tokens: tuple[str, ...] | None, where: str
) -> tuple[tuple[str, ...] | None, Any]:
    """Tokens (where the marks are by token) and marks, in the form that RawExample takes."""
    if isinstance(marks, str):
        written = marks.strip()
        if written.startswith("["):
            marks = read_json(written, f"{where}: the rationale {written[:40]!r}")
        elif not written.replace(" ", "").strip("01"):
            marks = [int(m) if m in ("0", "1") else m for m in written.split()]
        else:
            marks = [written]
    if isinstance(marks, list | tuple):
        if all(isinstance(m, list | tuple) and len(m) == 2 for m in marks):
            if tokens is None:
                return None, [check_span(m, text, where) for m in marks]
            if marks:
                raise DataError(
                    f"{where}: character spans need a text, not a list of tokens. Give 0 or 1 for each token."
                )
            return tokens, [False] * len(tokens)
        if all(isinstance(m, Real) and m in (0, 1) for m in marks):
            tokens = tuple(text.split()) if tokens is None else tokens
            if len(marks) != len(tokens):
                raise DataError(f"{where}: the rationale marks {len(marks)} words, the text has {len(tokens)}.")
            return tokens, tuple(map(bool, marks))
        if all(isinstance(m, str) for m in marks) and tokens is None:
            for passage in marks:
                if not passage or passage not in text:
                    raise DataError(f"{where}: the rationale {passage[:40]!r} does not occur in the text.")
            return None, [m.span() for passage in marks for m in re.finditer(re.escape(passage), text)]
    raise DataError(f"{where}: {FORMS}; got {str(marks)[:60]!r}.")
