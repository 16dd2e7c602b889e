"""Your own texts as a corpus: a table in files or in memory. Only text and label are needed.

text   the text, or (not in csv) a list of tokens; of several columns, their texts in a row
label  class names or numbers
split  train, dev (validation …) or test (holdout …); without the column, 80/10/10 is drawn
query  a question (QA) or a hypothesis (NLI), in every row
id     unique

Other names (`review`, `v1` …) are detected or given: `load_corpus("f.csv", text="body")`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import class_name, is_number
from attnlib.data.readers.base import CorpusSpec, Reader, listed
from attnlib.data.readers.tables import ROLES, SUFFIXES, is_table, plain, read_table
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
LOOKED_AT, MANY = 5_000, 50
"""Rows from which columns are detected, and the most values of one that is taken for a label unnamed."""


def own(
    path: str | Mapping[str | None, pd.DataFrame],
    *,
    dev: str | None = None,
    test: str | None = None,
    text: str | Sequence[str] = AUTO,
    label: str = AUTO,
    split: str | None = AUTO,
    query: str | None = AUTO,
    id: str | None = AUTO,
    sep: str | None = None,
    encoding: str | None = None,
    header: bool | None = None,
) -> RawCorpus:
    """Rows of one to three files, or of frames. Columns: a name, `auto` to detect, None for none.

    dev, test               files of their own, with the columns of `path`, which holds training texts
    sep, encoding, header   of text files, as `attnlib.data.readers.tables.read_table` takes them
    """
    asked = dict(text=text, label=label, split=split, query=query, id=id)
    asked = {role: c if c is None or isinstance(c, list | tuple) else str(c) for role, c in asked.items()}
    if isinstance(path, Mapping):
        return from_frames("texts", path, asked, source="texts in memory")
    given = {"train": path, "dev": dev, "test": test}
    files = {part: user_path(name) for part, name in given.items() if name is not None}
    if odd := [part for part, file in files.items() if not is_table(file)]:
        raise DataError(f"{odd[0]}: {str(files[odd[0]])!r} is no table; it must end in {', '.join(SUFFIXES)}.")
    # else a model would be tested on its training texts
    if len(files) > 1 and len({file.resolve() for file in files.values()}) < len(files):
        raise DataError(f"Of {', '.join(map(str, files.values()))} two are the same file.")
    form = {"sep": sep, "encoding": encoding, "header": header}
    form["names"] = {name for value in asked.values() for name in _listed(value)} - {AUTO}
    frames = {part if len(files) > 1 else None: read_table(file, **form) for part, file in files.items()}
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
    return {None: pd.DataFrame(pairs, columns=["text", "label"], dtype=object)}


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
    notes = [f"columns: {', '.join(f'{role} {column!r}' for role, column in roles.items())}"]
    rows: list[RawExample] = []
    for part, frame in frames.items():
        needed = [c for role in ("text", "label", "query") for c in _listed(roles.get(role))]
        if absent := [column for column in needed if column not in frame.columns]:
            raise DataError(
                f"{part} has no column {absent[0]!r}, which train has; it has {', '.join(map(str, frame.columns))}."
            )
        columns = {r: cells(frame, c) for r, c in roles.items() if r != "text" and c in frame.columns}
        columns["text"], *more = (cells(frame, column) for column in _listed(roles["text"]))
        for other in more:
            pairs = zip(columns["text"], other, strict=True)
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
            rows.append(_row(row, f"{name}, row {i}{f' of {part}' if part else ''} (from 0)"))
    _check_labels([row.label for row in rows if row.label is not None], f"column {roles['label']!r}")
    kept = (classes or {}).get(roles["label"])
    notes += fields.pop("notes", ())
    return RawCorpus(name, rows, None if kept is None else tuple(kept), notes=tuple(notes), **fields)


def _row(row: Mapping[str, Any], where: str) -> RawExample:
    """One row: role (text, label, split, query, id) -> value."""
    text, query, label = _words(row["text"], where), _words(row.get("query"), where), row["label"]
    if "query" in row and query is None:
        raise DataError(f"{where} has no query, while other rows do. Fill it in.")
    if isinstance(label, list | dict):
        raise DataError(f"{where}: a label is one name or number; got {str(label)[:60]!r}.")
    label = None if label is None or str(label).strip().lower() in NO_VALUE else class_name(label)
    label = label and re.sub(r"^(-?\d+)\.0+$", r"\1", label)  # 1.0 is the class 1
    name = None if row.get("id") is None else str(row["id"])
    if isinstance(text, tuple):
        return RawExample(label=label, tokens=text, split=row["split"], query=query, id=name)
    return RawExample(BREAK.sub(" ", text or ""), label, split=row["split"], query=query, id=name)


def _check_labels(labels: Sequence[str], where: str) -> None:
    different = len({*labels})
    if not labels:
        raise DataError(f"The {where} holds no label in any row. Name that of the classes with label=… (--label).")
    if different > 1000 or (len(labels) >= 20 and different > len(labels) / 2):
        raise DataError(
            f"The {where} holds {different:,} different values in {len(labels):,} rows: that is a measurement or a "
            "text, not a class. Name another column with label=… (--label), or put the values in groups."
        )


def _words(value: Any, where: str) -> str | tuple[str, ...] | None:
    """A text, or a tuple of tokens; None for an empty cell."""
    if isinstance(value, dict) or (isinstance(value, list) and any(isinstance(v, list | dict) for v in value)):
        raise DataError(f"{where}: a text or query is a string or a list of tokens; got {str(value)[:60]!r}.")
    if isinstance(value, list):
        return tuple("" if token is None else str(token) for token in value)
    return None if value is None else str(value)


def cells(frame: pd.DataFrame, column: str) -> list[Any]:
    """Cells as plain values: None where blank or missing; bytes as text; arrays as lists."""
    return [_value(value) for value in frame[column].tolist()]


def _value(value: Any) -> Any:
    value = value.tolist() if hasattr(value, "tolist") else value  # numpy
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    if isinstance(value, str):  # half of a surrogate pair becomes a question mark
        value = value.encode("utf-8", errors="replace")
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace") if value.strip() else None
    missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
    return None if missing else value


def find_columns(frame: pd.DataFrame, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The column for each role; `asked`: its name (of text, perhaps several), `auto` to detect, None for none.

    A split is found first, by its values (train, test, …) or its name, and is never taken for a label. Any other
    column is found by a usual name (`text`, `review`); text and label also by a name that holds one
    (`review_text`), and by what the cells look like.
    """
    found = {role: name for role, name in asked.items() if name != AUTO}
    named = {name: role for role, value in found.items() for name in _listed(value)}
    for name, role in named.items():
        if name not in frame.columns:
            raise DataError(f"{role}: {unknown('column', name, map(str, frame.columns))}")
    columns = {name: cells(frame.head(LOOKED_AT), name) for name in frame.columns}
    free = [name for name in columns if name not in named]
    splits = [c for c in free if is_split(columns[c])]
    splits += [c for c in free if plain(c) in ROLES["split"] and c not in splits and any(columns[c])]
    found.setdefault("split", next(iter(splits), None))
    free = [name for name in free if name not in splits]
    for role in ROLES:
        if role not in found:
            found[role] = (
                _detected(columns, free, role) if role in ("text", "label") else _known(columns, free, role)
            )
            free = [name for name in free if name != found[role]]
    return {role: found[role] for role in asked}


def _known(columns: Mapping[str, Sequence[Any]], free: Sequence[str], role: str) -> str | None:
    """The column with a usual name for a role that a table need not have: not empty, and ids differ."""
    for usual in ROLES[role]:
        for name in (name for name in free if plain(name) == usual):
            filled = [str(cell) for cell in columns[name] if cell is not None]
            if filled and (role != "id" or usual == "id" or len({*filled}) == len(filled)):
                return name
    return None


def _detected(columns: Mapping[str, Sequence[Any]], free: Sequence[str], role: str) -> str:
    """The text or the label: by a usual name, more and more loosely, else by what the cells look like."""
    usual, suited = ROLES[role], {name: _suited(columns[name], role) for name in free}
    fitting, likely = ([name for name, n in suited.items() if n >= least] for least in (1, 2))
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
    shown = "; ".join(f"{c!r}: {v[:30]!r}" for c, v in firsts.items())
    example = (best or list(columns))[0]
    raise DataError(
        f"The {role} column {which}. Name it: {role}={example!r} (--{role} {example}). Columns: {shown}."
    )


def _suited(column: Sequence[Any], role: str) -> int:
    """0: cells that cannot be texts, or labels; 2: they look so (several words, varied; few values); 1: neither."""
    filled = [cell for cell in column if cell is not None]
    words = sum(len(str(cell).split()) for cell in filled) / max(1, len(filled))
    values = len({*map(str, filled)})
    if role == "text":
        can = any(isinstance(c, list) or (isinstance(c, str) and not is_number(c)) for c in filled)
        like = words >= 2 and values > len(filled) / 3
    else:
        can = words < 4 and not any(isinstance(c, list | dict) for c in filled)
        like = 2 <= values <= min(MANY, max(2, len(filled) // 2))
    return can + (can and like)
