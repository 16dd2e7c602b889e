"""Cells of a label column to class names: spellings of one class are one class, and the notes say so."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

from attnlib.data.checks import class_name, missing, some
from attnlib.errors import DataError

NO_VALUE = frozenset(("nan", "na", "n/a", "null", "<na>"))
"""What programs write for a missing label."""


def read_labels(cells: Sequence[Any], where: str) -> tuple[list[Any], list[str]]:
    """The label of every cell (None where there is none), and a note on spellings that were joined.

    1 and 1.0, and names that differ in case alone (True, true, TRUE), are one class, under its commonest spelling.

    where  the column and its file, for messages
    """
    labels = [_label(cell, where) for cell in cells]
    present = [label for label in labels if label is not None]
    if not present:
        raise DataError(
            f"The {where} holds no label in any of its {len(cells):,} rows. Name the column that holds the classes "
            "with label=…."
        )
    values = len({label.lower() for label in present})
    if values > 1000 or (len(present) >= 20 and values > len(present) / 2):
        raise DataError(
            f"The {where} holds {values:,} different values in {len(present):,} rows: that is a measurement or a "
            "text, not a class. Name another column with label=…, or put the values in groups."
        )
    spellings: dict[str, Counter[str]] = defaultdict(Counter)
    written: dict[str, set[str]] = defaultdict(set)
    for cell, label in zip(cells, labels, strict=True):
        if label is not None:
            spellings[label.lower()][label] += 1
            written[label.lower()].add(str(cell).strip())
    names = {key: min(found, key=lambda name: (-found[name], name)) for key, found in spellings.items()}
    joined = [f"{' = '.join(sorted(written[key]))}" for key in sorted(written) if len(written[key]) > 1]
    notes = [f"spellings taken for one class: {some(joined)}"] if joined else []
    return [None if label is None else names[label.lower()] for label in labels], notes


def _label(value: Any, where: str) -> str | None:
    if isinstance(value, list | dict | tuple | set):
        raise DataError(
            f"The {where} holds a {type(value).__name__}, {str(value)[:40]!r}. A label is one name or number."
        )
    if missing(value) or str(value).strip().lower() in NO_VALUE:
        return None
    name = class_name(value)
    try:
        number = float(name)
    except ValueError:
        return name
    return str(int(number)) if number.is_integer() and "e" not in name.lower() else name
