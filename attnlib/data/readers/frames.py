"""Your own texts as a corpus: a table with a text and a label column, in a file or in memory.

text       the text; in jsonl, parquet and frames also a list of tokens; of several columns, their texts in a row
label      class names or numbers
split      train, dev (validation, eval …) or test (holdout …), see `attnlib.data.splits`; without the column
           80/10/10 is drawn, fixed and stratified
query      a question (QA) or a hypothesis (NLI), in every row
rationale  what a human marked: 0 or 1 for every white-space separated word (or token), `[0, 1, 0]`
id         unique

Only text and label are needed. Other names (`review`, `Sentiment`, `v1` …) are detected, or given:
`load_corpus("f.csv", text="body", label="kind")`. Separate files: `load_corpus(train="a.csv", test="c.csv")`. What
is not given is cut from train and noted.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import class_name, is_number, missing, some
from attnlib.data.readers.base import Blocks, CorpusSpec, listed
from attnlib.data.readers.columns import AUTO, cells, find_columns
from attnlib.data.readers.tables import SUFFIXES, is_table, plain_name, read_json, read_table
from attnlib.data.splits import read_splits
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import ConfigError, DataError, unknown
from attnlib.utils.paths import user_path

if TYPE_CHECKING:
    import pandas as pd

NO_VALUE = frozenset(("nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)


def own(
    source: str | Mapping[str | None, pd.DataFrame],
    *,
    dev: str | None = None,
    test: str | None = None,
    text: str | Sequence[str] = AUTO,
    label: str = AUTO,
    split: str | None = AUTO,
    query: str | None = AUTO,
    rationale: str | None = AUTO,
    id: str | None = AUTO,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> RawCorpus:
    """Rows of a file, of up to three, or of frames. Columns: a name, `auto` to detect, None for none.

    dev, test               files of their own; `source` then holds the training texts. Their columns have the same
                            names, and their texts are used for nothing else
    sep, encoding, header   of text files, as `attnlib.data.readers.tables.read_table` takes them
    """
    asked = dict(text=text, label=label, split=split, query=query, rationale=rationale, id=id)
    asked = {role: c if c is None or isinstance(c, list | tuple) else str(c) for role, c in asked.items()}
    if isinstance(source, Mapping):
        return from_frames("texts", source, asked, source="texts in memory")
    given = {"train": source, "dev": dev, "test": test}
    files = {part: user_path(name) for part, name in given.items() if name is not None}
    for part, file in files.items():
        if not is_table(file):
            raise DataError(
                f"{part}: {str(file)!r} is not a table. Give a file that ends in {', '.join(SUFFIXES)}."
            )
    # else a model would be tested on its training texts
    if len(files) > 1 and len({file.resolve() for file in files.values()}) < len(files):
        raise DataError(f"Of {', '.join(map(str, files.values()))} two are the same file. Give every part its own.")
    names = [name for value in asked.values() for name in ([value] if isinstance(value, str) else value or ())]
    read = partial(read_table, sep=sep, encoding=encoding, header=header, names={*names} - {AUTO})
    frames = {part if len(files) > 1 else None: read(file) for part, file in files.items()}
    return from_frames(corpus_name(files), frames, asked, source=", ".join(file.name for file in files.values()))


SPEC = CorpusSpec("your own file", own, "csv, tsv, jsonl or parquet with a text and a label column", "you", "yours")


def _prepared(
    name: str,
    path: str | None = None,
    *,
    text: str = AUTO,
    label: str = AUTO,
    split: str | None = AUTO,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> RawCorpus:
    """A corpus that may not be passed on, from a table that its user prepares, with the papers' settings."""
    if path is None:
        raise DataError(
            f"{name}: attnlib may not ship this corpus. Make a csv with the columns text, label and, if you have "
            f"it, split, and say load_corpus({name!r}, path='{name}.csv'); the README says how the papers made it."
        )
    # without a source of its own, the corpus has the register's instead of the name of a file
    form = dict(sep=sep, encoding=encoding, header=header)
    raw = own(path, text=text, label=label, split=split, query=None, rationale=None, **form)
    return replace(raw, name=name, source="")


for _name in ("anemia", "diabetes", "adr"):
    listed(_name)(partial(_prepared, _name))


def corpus_name(files: Mapping[str, Path]) -> str:
    """The name of the file; where that is a word for a split (reviews/train.csv), of the folder."""
    name = files["train"].name[: len(plain_name(files["train"]))].rsplit(".", 1)[0]
    if len(files) == 1:
        return name
    cut = re.sub(r"[\W_]*(train|training|trn)$", "", name, flags=re.IGNORECASE)
    return cut or files["train"].resolve().parent.name or name


def from_frames(
    name: str,
    frames: Mapping[str | None, pd.DataFrame],
    asked: Mapping[str, Any],
    *,
    classes: Mapping[str, Sequence[str]] | None = None,
    **fields: Any,
) -> RawCorpus:
    """The corpus of one frame (None: its texts are in no split), or of one for each split, train first.

    asked    role -> name of the column, `auto` or None; `text` may be several columns
    classes  column -> what its labels can be, in order; of another column those that occur
    fields   of the RawCorpus
    """
    import pandas as pd

    first, texts = next(iter(frames.values())), [asked["text"]] if isinstance(asked["text"], str) else asked["text"]
    if lacking := [column for column in texts[1:] if column not in first.columns]:
        raise DataError(f"text: {unknown('column', lacking[0], map(str, first.columns))}")
    roles = find_columns(first, {**asked, "text": texts[0]})
    roles = {role: column for role, column in roles.items() if column is not None}
    notes = [f"columns: {', '.join(f'{role} {column!r}' for role, column in roles.items())}"]
    splits: list[str | None] = []
    for part, frame in frames.items():
        for role in {"text", "label", "query"} & {*roles}:
            if roles[role] not in frame.columns:
                raise DataError(
                    f"{part} has no column {roles[role]!r}, which holds the {role} in train; it has "
                    f"{', '.join(map(str, frame.columns))}. Without labels nothing can be tested."
                )
        column = roles.get("split") if roles.get("split") in frame.columns else None
        found, told = _splits(frame, column, part, name)
        splits, notes = splits + found, notes + told
    texts = [roles["text"], *texts[1:]]
    used = list(dict.fromkeys([*texts, *roles.values()]))
    whole = pd.concat([frame.reindex(columns=used) for frame in frames.values()], ignore_index=True)
    labels, told = _classes(cells(whole, roles["label"]), f"column {roles['label']!r}")

    def read(start: int, stop: int) -> list[RawExample]:
        columns = {role: cells(whole, column, start, stop) for role, column in roles.items()}
        if len(texts) > 1:
            parts = zip(*(cells(whole, column, start, stop) for column in texts), strict=True)
            columns["text"] = [" ".join(str(cell) for cell in row if cell is not None) for row in parts]
        made = []
        for k, i in enumerate(range(start, stop)):
            row = {role: column[k] for role, column in columns.items()}
            if len(frames) > 1 and row.get("id") is not None:
                row["id"] = f"{splits[i]}/{row['id']}"  # the same numbers in every part do not clash
            made.append(_row(row, labels[i], splits[i], f"{name}, row {i} (from 0)"))
        return made

    kept = (classes or {}).get(roles["label"])
    notes += [*told, *fields.pop("notes", ())]
    kept = None if kept is None else tuple(kept)
    return RawCorpus(name, Blocks(len(whole), read), kept, notes=tuple(notes), **fields)


def _classes(cells: Sequence[Any], where: str) -> tuple[list[str | None], list[str]]:
    """The labels; 1 and 1.0, and names that differ only in case (True, true), are one class, which is noted."""
    labels = [_label(cell, where) for cell in cells]
    counts = Counter(label for label in labels if label is not None)
    filled, alike = counts.total(), defaultdict(list)
    for label, _ in sorted(counts.items(), key=lambda one: (-one[1], one[0])):  # the most common spelling first
        alike[label.lower()].append(label)
    if not filled:
        raise DataError(f"The {where} holds no label in any row. Name that of the classes with label=… (--label).")
    if len(alike) > 1000 or (filled >= 20 and len(alike) > filled / 2):
        raise DataError(
            f"The {where} holds {len(alike):,} different values in {filled:,} rows: that is a measurement or a "
            "text, not a class. Name another column with label=… (--label), or put the values in groups."
        )
    one = {label: names[0] for names in alike.values() for label in names}
    told = [" = ".join(names) for names in alike.values() if len(names) > 1]
    return list(map(one.get, labels)), [f"spellings taken for one class: {some(told)}"] if told else []


def _label(value: Any, where: str) -> str | None:
    if isinstance(value, list | dict):
        raise DataError(f"The {where} holds {str(value)[:40]!r}. A label is one name or number.")
    if missing(value) or str(value).strip().lower() in NO_VALUE:
        return None
    name = class_name(value)
    whole = is_number(name) and float(name).is_integer() and "e" not in name.lower()
    return str(int(float(name))) if whole else name


def _splits(frame: pd.DataFrame, column: str | None, part: str | None, name: str) -> tuple[list[Any], list[str]]:
    """Split of every row and a note. `part`: the split of the whole frame; a column may then not contradict it."""
    if column is None:
        return [part] * len(frame), []
    splits, note = read_splits(cells(frame, column), f"column {column!r} of {name}")
    if part is not None and (other := [split for split in splits if split != part]):
        raise DataError(
            f"{name}: a table is given as {part}, but its column {column!r} puts {len(other):,} of {len(splits):,} "
            f"rows in {other[0]}. Say split=None (--split none; `split: null`) to use every row as {part}, or load "
            "that table alone by its column."
        )
    return splits, [note] if part is None else []


def _row(row: Mapping[str, Any], label: str | None, split: str | None, where: str) -> RawExample:
    text, query = _words(row["text"], "text", where), _words(row.get("query"), "query", where)
    if "query" in row and query is None:
        raise DataError(f"{where} has no query, while other rows do. Fill it in.")
    tokens, text = (text, "") if isinstance(text, tuple) else (None, BREAK.sub(" ", text or ""))
    marks, name = row.get("rationale"), row.get("id")
    if marks is not None:
        tokens, text = tuple(text.split()) if tokens is None else tokens, ""
        marks = _marks(marks, tokens, where)
    return RawExample(text, label, tokens, split, query, marks, None if name is None else str(name))


def _words(value: Any, role: str, where: str) -> str | tuple[str, ...] | None:
    """A text, or a tuple of tokens; None for an empty cell."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        raise DataError(f"{where}: a {role} is a string or a list of tokens; got {str(value)[:60]!r}.")
    if isinstance(value, list):
        return tuple("" if token is None else str(token) for token in value)
    return None if value is None else str(value)


def _marks(value: Any, tokens: tuple[str, ...], where: str) -> tuple[bool, ...]:
    """One mark for every token."""
    marks = read_json(value, f"{where}: the rationale {value[:40]!r}") if isinstance(value, str) else value
    if not isinstance(marks, list) or not all(isinstance(mark, int | float) and mark in (0, 1) for mark in marks):
        raise DataError(f"{where}: a rationale has 0 or 1 for every word, [0, 1, 0]; got {str(value)[:60]!r}.")
    if len(marks) != len(tokens):
        raise DataError(f"{where}: the rationale marks {len(marks)} words, the text has {len(tokens)}.")
    return tuple(map(bool, marks))


def frames_of(held: Any) -> Mapping[str | None, pd.DataFrame]:
    """Texts in memory as frames: a DataFrame, or pairs (text, label)."""
    import pandas as pd

    if isinstance(held, pd.DataFrame):
        if not len(held) or not held.columns.is_unique or not all(isinstance(c, str) for c in held.columns):
            raise DataError("A frame of texts needs rows, and columns that have names of their own.")
        return {None: held}
    pairs = list(held) if isinstance(held, Iterable) and not isinstance(held, bytes) else []
    if not pairs or not all(isinstance(pair, list | tuple) and len(pair) == 2 for pair in pairs):
        raise ConfigError(
            "No corpus is named. Give a name, a path, a mapping with 'corpus' or 'path', a DataFrame, a dataset or "
            f"a list of pairs (text, label); got {type(held).__name__}: {str(held)[:60]!r}."
        )
    texts, labels = (pd.Series(part, dtype=object) for part in zip(*pairs, strict=True))
    return {None: pd.DataFrame({"text": texts, "label": labels})}
