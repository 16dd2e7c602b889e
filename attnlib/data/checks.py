"""Is this corpus fit for use? Every check raises a DataError, or returns notes for the reader of a report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from attnlib.data.types import SPLITS, Example, RawCorpus, RawExample, Vocabulary
from attnlib.utils.errors import DataError, unknown


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


def class_names(labels: Iterable[Any], classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes in order: as given, else those that occur, numbers by value and names by alphabet."""
    if classes is not None:
        return tuple(classes)
    found = set(map(class_name, labels))
    numbers = all(map(is_number, found))
    return tuple(sorted(found, key=lambda c: (float(c) if numbers else 0, c)))


def label_indices(raw: RawCorpus, rows: Sequence[RawExample], classes: Sequence[str]) -> list[int]:
    """The class index of every row. A number is a position in the list of classes where the reader gives one."""
    places, found = {c: i for i, c in enumerate(classes)}, []
    for row in rows:
        position = raw.classes is not None and type(row.label) is int
        place = row.label if position else places.get(class_name(row.label), -1)
        if not 0 <= place < len(classes):
            raise DataError(f"{raw.name}, text {row.id!r}: {unknown('label', row.label, places)}")
        found.append(place)
    return found


def check_classes(name: str, train: Sequence[Example], classes: Sequence[str]) -> list[str]:
    """At least two classes among the training texts; classes without a training text are noted."""
    found = {example.label for example in train}
    absent = [c for k, c in enumerate(classes) if k not in found]
    if len(found) < 2:
        (only,) = found
        raise DataError(
            f"{name}: the training texts hold only the class {classes[only]!r}. A classifier needs at least two "
            "classes: check the label column, or raise `limit` if you sample."
        )
    return [f"no training text for {len(absent)} of {len(classes)} classes: {some(absent)}"] if absent else []


def leaks(splits: Mapping[str, Sequence[Example]]) -> dict[str, tuple[str, list[str]]]:
    """For dev and test: a note on texts (with their queries) that are training texts too, and their ids."""
    known, found = {(example.tokens, example.query) for example in splits["train"]}, {}
    for split in SPLITS[1:]:
        total = len(splits[split])
        if ids := [e.id for e in splits[split] if (e.tokens, e.query) in known]:
            told = f"{len(ids):,} of {total:,} {split} texts ({len(ids) / total:.1%})"
            found[split] = f"{told} are word for word training texts", ids
    return found


def note_unknown(splits: Mapping[str, Sequence[Example]], vocabulary: Vocabulary) -> list[str]:
    """Texts without a single known word are kept (every word is UNK); their number is noted."""
    counts = {split: sum(not any(w in vocabulary for w in e.tokens) for e in splits[split]) for split in SPLITS}
    said = "texts hold no word of the vocabulary; they are kept and read as unknown words"
    return [f"{n:,} {split} {said}" for split, n in counts.items() if n]
