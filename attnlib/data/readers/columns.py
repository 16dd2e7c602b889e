"""Which column is the text, which the label? By name, else by content, else an error that lists the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from attnlib.data.checks import is_number
from attnlib.data.readers.files import Table
from attnlib.data.splits import is_split
from attnlib.utils.errors import DataError, unknown

AUTO = "auto"
TEXT = (
    "text sentence review content comment document body message tweet article post description abstract utterance "
    "premise sentence1 context story passage phrase headline texts sentences reviews comments sms email"
).split()
LABEL = (
    "label class sentiment category target stars rating polarity topic intent liked labels emotion spam star "
    "sentiments score y gold_label answer output"
).split()
QUERY = "query question hypothesis sentence2".split()
RATIONALE = "rationale rationales evidence highlights".split()
SPLIT = "split fold partition subset set".split()
ID = "id text_id review_id document_id doc_id uid guid".split()
MANY = 50
"""A column of more values than this is not taken for a label unless it is named as one."""


def find_columns(table: Table, asked: dict[str, str | None]) -> dict[str, str | None]:
    """The column for each role (text, label, split, query, rationale, id).

    asked  role -> column name, `auto` to detect, None for none. Detection: a column called exactly like a role
           (`text`, `label`), then one called like a usual name for it (`review`, `stars`), then one whose name
           ends with or contains such a name (`review_text`); of several, the only one that looks like it (many
           words; few values). Then, for text and label, the only column of the table that looks like it. A
           split is found first: by its name, whatever it holds, else by what it holds (train, test, …). It is
           never taken for a label unless it is named as one.
    """
    found = {role: name for role, name in asked.items() if name != AUTO}
    for role, name in found.items():
        if name is not None and name not in table.columns:
            raise DataError(f"{role}: {unknown('column', name, table.columns)}")
    free = [c for c in table.columns if c not in found.values()]
    splits = _splits(table, free)
    found.setdefault("split", next(iter(splits), None))
    free = [c for c in free if c not in splits]
    for role, names in (("text", TEXT), ("label", LABEL), ("query", QUERY), ("rationale", RATIONALE), ("id", ID)):
        if role in found:
            continue
        fitting = [c for c in free if _fits(table.columns[c], role, _plain(c))]
        if role in ("text", "label"):
            found[role] = _detected(table, role, names, fitting)
        else:
            found[role] = next((c for n in names for c in fitting if _plain(c) == n), None)
        free = [c for c in free if c != found[role]]
    return {role: found[role] for role in asked}


def _splits(table: Table, free: Sequence[str]) -> list[str]:
    """Columns that may hold the split, the likeliest first: by name and content, by content, by name."""
    named = [c for n in SPLIT for c in free if _plain(c) == n or (n == "split" and _plain(c).endswith("_split"))]
    named = [c for c in named if any(cell is not None for cell in table.columns[c])]
    filled = [c for c in free if is_split(table.columns[c])]
    return list(dict.fromkeys([*(c for c in named if c in filled), *filled, *named]))


def _plain(name: str) -> str:
    """reviewText, Review Text and review-text are one name."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", name).strip("_").lower()


def _detected(table: Table, role: str, names: Sequence[str], fitting: Sequence[str]) -> str:
    """The text or the label: by name, more and more loosely, then by content."""
    likely = [c for c in fitting if _like(table.columns[c], role)]
    exact = [c for c in fitting if _plain(c) == names[0]]
    usual = [c for c in fitting if _plain(c) in names]
    ending = [c for c in fitting if _plain(c).rsplit("_", 1)[-1] in names]
    partly = [c for c in fitting if set(_plain(c).split("_")) & set(names)]
    candidates = exact or usual or ending or partly or likely
    best = [c for c in candidates if c in likely] or candidates
    if len(best) == 1:
        return best[0]
    which = f"could be {' or '.join(map(repr, best))}" if best else "cannot be recognised"
    firsts = {c: next((str(cell) for cell in cells if cell is not None), "") for c, cells in table.columns.items()}
    shown = "; ".join(f"{c!r}: {(v if len(v) <= 30 else v[:29] + '…')!r}" for c, v in firsts.items())
    example = (best or list(table.columns))[0]
    raise DataError(f"The {role} column {which}. Name it, such as {role}={example!r}. Columns: {shown}.")


def _fits(cells: Sequence[Any], role: str, name: str) -> bool:
    """Whether the cells can have the role at all."""
    filled = [c for c in cells if c is not None]
    if role == "text":
        return any(isinstance(c, str) and not is_number(c) for c in filled) or _token_lists(filled)
    if role == "label":
        return not any(isinstance(c, list | dict) for c in filled) and _words(filled) < 4
    if role == "id":
        return len(set(map(str, filled))) == len(filled) or name == "id"
    return bool(filled)


def _like(cells: Sequence[Any], role: str) -> bool:
    """Whether the cells look like the role: many words and varied, or few values."""
    filled = [c for c in cells if c is not None]
    values = len(set(map(str, filled)))
    if role == "text":
        return _token_lists(filled) or (_words(filled) >= 2 and values > len(filled) / 3)
    return 2 <= values <= MANY and values <= max(2, len(filled) // 2)


def _words(cells: Sequence[Any]) -> float:
    return sum(len(str(c).split()) for c in cells) / max(1, len(cells))


def _token_lists(cells: Sequence[Any]) -> bool:
    return bool(cells) and all(isinstance(c, list) and all(isinstance(t, str) for t in c) for c in cells)
