"""Is this corpus fit for use? Every check raises a DataError, or returns notes for the reader of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from attnlib.data.types import SPLITS, Example, RawCorpus, RawExample
from attnlib.utils.errors import DataError, unknown

LEAKED = "are word for word training texts: scores on them flatter the model"


class DataWarning(UserWarning):
    """Something about a corpus that weakens results made on it."""


def some(items: Iterable[object], n: int = 5) -> str:
    """The first few of many, for a message."""
    items = list(items)
    shown = ", ".join(map(str, items[:n]))
    return f"{shown}, … ({len(items):,} in all)" if len(items) > n else shown


def floats(scores: object, whose: str) -> np.ndarray:
    """Scores as an array of floats, those of a tensor too; an error says whose are none."""
    try:
        return np.asarray(scores.detach().cpu() if hasattr(scores, "detach") else scores, dtype=float)
    except (TypeError, ValueError, OverflowError):
        told = f"The scores of {whose} are no numbers: {str(scores)[:60]!r}."
        raise DataError(f"{told} Give one number per token, as `importance` returns.") from None


def missing(label: object) -> bool:
    """Whether a label is absent: None, NaN or blank."""
    return label is None or label != label or (isinstance(label, str) and not label.strip())


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number, including `nan` and `inf`."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def labelled(raw: RawCorpus) -> tuple[list[RawExample], list[str]]:
    """The rows that carry a label. Rows without one are refused, or dropped and counted (`drop_missing`)."""
    bad = [i for i, row in enumerate(raw.rows) if missing(row.label)]
    if bad and not raw.drop_missing:
        raise DataError(
            f"{raw.name}: {len(bad):,} of {len(raw.rows):,} rows have no label (rows {some(bad)}, counted from 0). "
            "Fill them in, or say drop_missing=True (--drop-missing) to leave them out."
        )
    kept = [row for row in raw.rows if not missing(row.label)]
    return kept, [f"{len(bad):,} rows without a label dropped"] if bad else []


def class_name(label: object) -> str:
    """A label as the name of its class: 1, 1.0 and "1" are one class, and blanks around a name do not count."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label).strip()


def indexed(raw: RawCorpus, rows: Sequence[RawExample]) -> tuple[tuple[str, ...], list[int]]:
    """The classes in order, and the index of every row's. A number is an index where the reader gives classes.

    Classes are those given, else those that occur, numbers by value and names by alphabet.
    """
    found = {class_name(row.label) for row in rows}
    numbers = all(map(is_number, found))
    classes = raw.classes or tuple(sorted(found, key=lambda c: (float(c) if numbers else 0, c)))
    places, indices = {c: i for i, c in enumerate(classes)}, []
    for row in rows:
        index = row.label if raw.classes and type(row.label) is int else places.get(class_name(row.label), -1)
        if not 0 <= index < len(classes):
            raise DataError(f"{raw.name}, text {row.id!r}: {unknown('label', row.label, places)}")
        indices.append(index)
    return classes, indices


def check_classes(name: str, train: Sequence[Example], classes: Sequence[str]) -> None:
    """At least two classes among the training texts."""
    found = {example.label for example in train}
    if len(found) < 2:
        raise DataError(
            f"{name}: the training texts hold only the class {classes[min(found)]!r}. A classifier needs at least "
            "two classes: check the label column, or raise `limit` if you sample."
        )


def leaks(splits: Mapping[str, Sequence[Example]]) -> list[str]:
    """A note on texts (with their queries) of dev and test that are training texts too, where there are any."""
    known, told = {(example.tokens, example.query) for example in splits["train"]}, []
    for split in SPLITS[1:]:
        total = len(splits[split])
        if ids := [e.id for e in splits[split] if (e.tokens, e.query) in known]:
            told.append(f"{len(ids):,} of {total:,} {split} texts ({len(ids) / total:.1%}; {some(ids, 3)})")
    return [f"{' and '.join(told)} {LEAKED}"] if told else []
