"""Which column is the text, which the label? By name, else by content, else an error that lists the columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from attnlib.data.checks import is_number
from attnlib.data.splits import is_split
from attnlib.utils.errors import DataError, unknown

if TYPE_CHECKING:
    import pandas as pd

AUTO = "auto"
ROLES = {
    "text": (
        "text sentence review content comment document body message tweet article post description abstract "
        "utterance premise sentence1 context story passage phrase headline texts sentences reviews comments sms "
        "email tokens"
    ).split(),
    "label": (
        "label class sentiment category target stars rating polarity topic intent liked labels emotion spam star "
        "sentiments score y gold_label answer output"
    ).split(),
    "query": "query question hypothesis sentence2".split(),
    "rationale": "rationale rationales evidence highlights".split(),
    "split": "split fold partition subset set".split(),
    "id": "id text_id review_id document_id doc_id uid guid".split(),
}
"""What people call the columns; a column of tokens is a text."""
USUAL = {name for names in ROLES.values() for name in names}
LOOKED_AT = 5_000
"""Rows from which columns are detected."""
MANY = 50
"""A column of more values than this is not taken for a label unless it is named as one."""


def plain(name: str) -> str:
    """reviewText, Review Text and review-text are one name."""
    return re.sub(r"[\W_]+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower()


def cells(frame: pd.DataFrame, column: str, start: int = 0, stop: int | None = None) -> list[Any]:
    """Cells of a column as plain values: None where blank or missing; bytes as text; arrays as lists."""
    return [_value(value) for value in frame[column].iloc[start:stop].tolist()]


def _value(value: Any) -> Any:
    if isinstance(value, bytes):
        value = value.decode("utf-8", errors="replace")
    if isinstance(value, str):
        if not value.isascii():  # half of a surrogate pair, which no file can hold, becomes a question mark
            value = value.encode("utf-8", errors="replace").decode("utf-8")
        return value if value.strip() else None
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if isinstance(value, list | tuple):
        return [_value(inner) for inner in value]
    missing = value is None or type(value).__name__ in ("NAType", "NaTType") or value != value
    return None if missing else value


def find_columns(frame: pd.DataFrame, asked: Mapping[str, str | None]) -> dict[str, str | None]:
    """The column for each role (text, label, split, query, rationale, id).

    asked  role -> column name, `auto` to detect, None for none. A column is detected by a usual name for its role
           (`text`, `review`), then by a name that holds one (`review_text`), and of several by what it holds (many
           words; few values); text and label, without such a name, by what they hold. A split is found first: by
           its name, whatever it holds, else by its values (train, test, …), and is never taken for a label
    """
    found = {role: name for role, name in asked.items() if name != AUTO}
    for role, name in found.items():
        if name is not None and name not in frame.columns:
            raise DataError(f"{role}: {unknown('column', name, map(str, frame.columns))}")
    columns = {name: cells(frame, name, 0, LOOKED_AT) for name in frame.columns}
    free = [name for name in columns if name not in found.values()]
    splits = [c for c in free if plain(c) in ROLES["split"] or plain(c).endswith("_split")]
    splits = [c for c in splits if any(cell is not None for cell in columns[c])]
    splits = sorted(dict.fromkeys([*splits, *(c for c in free if is_split(columns[c]))]),
                    key=lambda c: not is_split(columns[c]))  # fmt: skip
    found.setdefault("split", next(iter(splits), None))
    free = [name for name in free if name not in splits]
    for role, usual in ROLES.items():
        if role not in found:
            fitting = [name for name in free if _fits(columns[name], role, plain(name))]
            detected = _detected(columns, role, usual, fitting) if role in ("text", "label") else None
            found[role] = detected or next((c for n in usual for c in fitting if plain(c) == n), None)
            free = [name for name in free if name != found[role]]
    return {role: found[role] for role in asked}


def _detected(columns: Mapping[str, Sequence[Any]], role: str, usual: Sequence[str], fitting: Sequence[str]) -> str:
    """The text or the label: by name, more and more loosely, then by content."""
    likely = [c for c in fitting if _like(columns[c], role)]
    by_name = (
        [c for c in fitting if plain(c) == usual[0]],
        [c for c in fitting if plain(c) in usual],
        [c for c in fitting if plain(c).rsplit("_", 1)[-1] in usual],
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
        return any(isinstance(c, str) and not is_number(c) for c in filled) or _token_lists(filled)
    if role == "label":
        return not any(isinstance(c, list | dict) for c in filled) and _words(filled) < 4
    return bool(filled) and (role != "id" or name == "id" or len({*map(str, filled)}) == len(filled))


def _like(column: Sequence[Any], role: str) -> bool:
    """Whether the cells look like the role: many words and varied, or few values."""
    filled = [cell for cell in column if cell is not None]
    values = len({*map(str, filled)})
    if role == "text":
        return _token_lists(filled) or (_words(filled) >= 2 and values > len(filled) / 3)
    return 2 <= values <= MANY and values <= max(2, len(filled) // 2)


def _words(filled: Sequence[Any]) -> float:
    return sum(len(str(cell).split()) for cell in filled) / max(1, len(filled))


def _token_lists(filled: Sequence[Any]) -> bool:
    return bool(filled) and all(isinstance(c, list) and all(isinstance(t, str) for t in c) for c in filled)
