"""Your own texts as a corpus: a table in files or in memory. Only text and label are needed.

text       the text, or (not in csv) a list of tokens; of several columns, their texts in a row
label      class names or numbers
split      train, dev (validation …) or test (holdout …); without the column, 80/10/10 is drawn
query      a question (QA) or a hypothesis (NLI), in every row
rationale  what a human marked: 0 or 1 for every white-space separated word (or token), `[0, 1, 0]`
id         unique

Other names (`review`, `v1` …) are detected or given: `load_corpus("f.csv", text="body")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import class_name, is_number
from attnlib.data.readers.base import CorpusSpec, Reader, listed
from attnlib.data.readers.tables import ROLES, SUFFIXES, is_table, plain, read_json, read_table
from attnlib.data.splits import is_split, read_splits
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import ConfigError, DataError, unknown
from attnlib.utils.paths import user_path

if TYPE_CHECKING:
    import pandas as pd

AUTO = "auto"
NO_VALUE = frozenset(("", "nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""
BREAK = re.compile(r"<br\s*/?>", re.IGNORECASE)
LOOKED_AT = 5_000
"""Rows from which columns are detected."""
MANY = 50
"""A column of more values than this is not taken for a label unless it is named as one."""


def own(
    path: str | Mapping[str | None, pd.DataFrame],
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
    """Rows of one to three files, or of frames. Columns: a name, `auto` to detect, None for none.

    dev, test               files of their own, with the columns of `path`, which holds training texts
    sep, encoding, header   of text files, as `attnlib.data.readers.tables.read_table` takes them
    """
    asked = dict(text=text, label=label, split=split, query=query, rationale=rationale, id=id)
    asked = {role: c if c is None or isinstance(c, list | tuple) else str(c) for role, c in asked.items()}
    if isinstance(path, Mapping):
        return from_frames("texts", path, asked, source="texts in memory")
    given = {"train": path, "dev": dev, "test": test}
    files = {part: user_path(name) for part, name in given.items() if name is not None}
    for part, file in files.items():
        if not is_table(file):
            raise DataError(f"{part}: {str(file)!r} is no table; give a file that ends in {', '.join(SUFFIXES)}.")
    # else a model would be tested on its training texts
    if len(files) > 1 and len({file.resolve() for file in files.values()}) < len(files):
        raise DataError(f"Of {', '.join(map(str, files.values()))} two are the same file.")
    names = {name for value in asked.values() for name in _listed(value)}
    read = partial(read_table, sep=sep, encoding=encoding, header=header, names=names - {AUTO})
    frames = {part if len(files) > 1 else None: read(file) for part, file in files.items()}
    return from_frames(corpus_name(files), frames, asked, source=", ".join(file.name for file in files.values()))


SPEC = CorpusSpec("your own file", own, "csv, tsv, jsonl or parquet with a text and a label column", "you", "yours")


def _prepared(name: str) -> Reader:
    """A corpus that may not be passed on: a table of its user, read with the papers' settings."""

    @wraps(own)
    def read(path: str | None = None, **options: Any) -> RawCorpus:
        if path is None:
            raise DataError(
                f"{name}: attnlib may not ship this corpus. Make a csv with the columns text, label and, if you "
                f"have it, split, and say load_corpus({name!r}, path='{name}.csv'); README: how the papers made it."
            )
        return replace(own(path, **options), name=name, source="")  # that of the register

    return read


for _name in ("anemia", "diabetes", "adr"):
    listed(_name)(_prepared(_name))


def _listed(columns: str | Sequence[str] | None) -> list[str]:
    return [columns] if isinstance(columns, str) else list(columns or ())


def corpus_name(files: Mapping[str, Path]) -> str:
    """The name of the file; where that is a word for a split (reviews/train.csv), of the folder."""
    name = files["train"].stem
    if len(files) == 1:
        return name
    cut = re.sub(r"[\W_]*(train|training|trn)$", "", name, flags=re.IGNORECASE)
    return cut or files["train"].resolve().parent.name or name


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


def from_frames(
    name: str,
    frames: Mapping[str | None, pd.DataFrame],
    asked: Mapping[str, Any],
    *,
    classes: Mapping[str, Sequence[str]] | None = None,
    **fields: Any,
) -> RawCorpus:
    """The corpus of one frame (None: in no split), or of one for each split, train first.

    asked    role -> name of the column, `auto` or None; `text` may be several columns
    classes  column -> what its labels can be, in order; of another column those that occur
    fields   of the RawCorpus
    """
    roles = find_columns(next(iter(frames.values())), asked)
    roles = {role: column for role, column in roles.items() if column is not None}
    texts = _listed(roles["text"])
    notes = [f"columns: {', '.join(f'{role} {column!r}' for role, column in roles.items())}"]
    rows: list[RawExample] = []
    for part, frame in frames.items():
        for column in [*texts, *(roles[role] for role in ("label", "query") if role in roles)]:
            if column not in frame.columns:
                raise DataError(
                    f"{part} has no column {column!r}, which train has; it has "
                    f"{', '.join(map(str, frame.columns))}. Without labels nothing can be tested."
                )
        columns = {r: cells(frame, c) for r, c in roles.items() if r != "text" and c in frame.columns}
        columns["text"] = cells(frame, texts[0])
        for column in texts[1:]:
            pairs = zip(columns["text"], cells(frame, column), strict=True)
            columns["text"] = [" ".join(str(cell) for cell in pair if cell is not None) for pair in pairs]
        if "split" in columns:
            where = f"column {roles['split']!r} of {name}"
            columns["split"], note = read_splits(columns["split"], where)
            if part is not None and (other := [split for split in columns["split"] if split != part]):
                raise DataError(
                    f"{name}: a table is given as {part}, but its {where} puts {len(other):,} rows in {other[0]}. "
                    f"Say split=None (--split none; `split: null`) to use every row as {part}."
                )
            notes += [note] if part is None else []
        for i, values in enumerate(zip(*columns.values(), strict=True)):
            row = {"split": part} | dict(zip(columns, values, strict=True))
            if part is not None and row.get("id") is not None:
                row["id"] = f"{part}/{row['id']}"  # the same numbers in every part do not clash
            rows.append(to_row(row, f"{name}, row {len(rows) if part is None else f'{i} of {part}'} (from 0)"))
    _check_labels([row.label for row in rows], f"column {roles['label']!r}")
    kept = (classes or {}).get(roles["label"])
    notes += fields.pop("notes", ())
    return RawCorpus(name, rows, None if kept is None else tuple(kept), notes=tuple(notes), **fields)


def to_row(row: Mapping[str, Any], where: str) -> RawExample:
    """One row of any source: role (text, label, split, query, rationale, id) -> value."""
    text, query, label = _words(row["text"], where), _words(row.get("query"), where), row["label"]
    if "query" in row and query is None:
        raise DataError(f"{where} has no query, while other rows do. Fill it in.")
    if isinstance(label, list | dict):
        raise DataError(f"{where}: a label is one name or number; got {str(label)[:60]!r}.")
    label = None if label is None or str(label).strip().lower() in NO_VALUE else class_name(label)
    if label is not None and is_number(label) and "e" not in label.lower() and float(label).is_integer():
        label = str(int(float(label)))  # 1.0 is the class 1
    tokens, text = (text, "") if isinstance(text, tuple) else (None, BREAK.sub(" ", text or ""))
    marks, name = row.get("rationale"), row.get("id")
    if marks is not None:
        tokens, text = tuple(text.split()) if tokens is None else tokens, ""
        marks = _marks(marks, tokens, where)
    return RawExample(text, label, tokens, row.get("split"), query, marks, None if name is None else str(name))


def _check_labels(labels: Iterable[str | None], where: str) -> None:
    filled = [label for label in labels if label is not None]
    different = len({*filled})
    if not filled:
        raise DataError(f"The {where} holds no label in any row. Name that of the classes with label=… (--label).")
    if different > 1000 or (len(filled) >= 20 and different > len(filled) / 2):
        raise DataError(
            f"The {where} holds {different:,} different values in {len(filled):,} rows: that is a measurement or a "
            "text, not a class. Name another column with label=… (--label), or put the values in groups."
        )


def _words(value: Any, where: str) -> str | tuple[str, ...] | None:
    """A text, or a tuple of tokens; None for an empty cell."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        raise DataError(f"{where}: a text or query is a string or a list of tokens; got {str(value)[:60]!r}.")
    if isinstance(value, list):
        return tuple("" if token is None else str(token) for token in value)
    return None if value is None else str(value)


def _marks(value: Any, tokens: tuple[str, ...], where: str) -> tuple[bool, ...]:
    """One mark for every token."""
    marks = read_json(value, f"{where}: the rationale {value[:40]!r}") if isinstance(value, str) else value
    if not isinstance(marks, list) or any(mark not in (0, 1) for mark in marks):
        raise DataError(f"{where}: a rationale has 0 or 1 for every word, [0, 1, 0]; got {str(value)[:60]!r}.")
    if len(marks) != len(tokens):
        raise DataError(f"{where}: the rationale marks {len(marks)} words, the text has {len(tokens)}.")
    return tuple(map(bool, marks))


def cells(frame: pd.DataFrame, column: str) -> list[Any]:
    """Cells as plain values: None where blank or missing; bytes as text; arrays as lists."""
    return [_value(value) for value in frame[column].tolist()]


def _value(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value  # numpy
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if isinstance(value, str | bytes):  # half of a surrogate pair becomes a question mark
        data = value.encode("utf-8", errors="replace") if isinstance(value, str) else value
        value = data.decode("utf-8", errors="replace")
        return value if value.strip() else None
    missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
    return None if missing else value


def find_columns(frame: pd.DataFrame, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The column for each role (text, label, split, query, rationale, id).

    asked  role -> column name (of text, perhaps several), `auto` to detect, None for none

    A column is detected by a usual name (`text`, `review`), then by a name that holds one (`review_text`), and of
    several by what it holds (many words; few values), as are text and label without such a name. A split is
    found first, by its values (train, test, …) or its name, and is never taken for a label.
    """
    found = {role: name for role, name in asked.items() if name != AUTO}
    named = []
    for role, value in found.items():
        for name in _listed(value):
            if name not in frame.columns:
                raise DataError(f"{role}: {unknown('column', name, map(str, frame.columns))}")
            named.append(name)
    columns = {name: cells(frame.head(LOOKED_AT), name) for name in frame.columns}
    free = [name for name in columns if name not in named]
    splits = [c for c in free if is_split(columns[c])]
    called = [c for c in free if plain(c) in ROLES["split"] or plain(c).endswith("_split")]
    splits += [c for c in called if c not in splits and any(cell is not None for cell in columns[c])]
    found.setdefault("split", next(iter(splits), None))
    free = [name for name in free if name not in splits]
    for role, usual in ROLES.items():
        if role not in found:
            fitting = [name for name in free if _fits(columns[name], role, plain(name))]
            detected = _detected(columns, role, fitting) if role in ("text", "label") else None
            found[role] = detected or next((c for n in usual for c in fitting if plain(c) == n), None)
            free = [name for name in free if name != found[role]]
    return {role: found[role] for role in asked}


def _detected(columns: Mapping[str, Sequence[Any]], role: str, fitting: Sequence[str]) -> str:
    """The text or the label: by name, more and more loosely, then by content."""
    usual, likely = ROLES[role], [c for c in fitting if _like(columns[c], role)]
    by_name = (
        [c for c in fitting if plain(c) == usual[0]],
        [c for c in fitting if plain(c) in usual],
        [c for c in fitting if {*plain(c).split("_")} & {*usual}],
    )
    candidates = next(filter(None, by_name), likely)
    best = [c for c in candidates if c in likely] or candidates
    if len(best) == 1:
        return best[0]
    which = f"could be {' or '.join(map(repr, best))}" if best else "cannot be recognised"
    firsts = {c: next((str(cell) for cell in own if cell is not None), "") for c, own in columns.items()}
    shown = "; ".join(f"{c!r}: {(v if len(v) <= 30 else v[:29] + '…')!r}" for c, v in firsts.items())
    example = (best or list(columns))[0]
    raise DataError(
        f"The {role} column {which}. Name it: {role}={example!r} (--{role} {example}). Columns: {shown}."
    )


def _fits(column: Sequence[Any], role: str, name: str) -> bool:
    """Whether the cells can have the role at all."""
    filled = [cell for cell in column if cell is not None]
    if role == "text":
        return any(isinstance(c, list) or (isinstance(c, str) and not is_number(c)) for c in filled)
    if role == "label":
        return not any(isinstance(c, list | dict) for c in filled) and _mean_words(filled) < 4
    return bool(filled) and (role != "id" or name == "id" or len({*map(str, filled)}) == len(filled))


def _like(column: Sequence[Any], role: str) -> bool:
    """Whether the cells look like the role: many words and varied, or few values."""
    filled = [cell for cell in column if cell is not None]
    values = len({*map(str, filled)})
    if role == "text":
        return _mean_words(filled) >= 2 and values > len(filled) / 3
    return 2 <= values <= MANY and values <= max(2, len(filled) // 2)


def _mean_words(filled: Sequence[Any]) -> float:
    return sum(len(str(cell).split()) for cell in filled) / max(1, len(filled))
