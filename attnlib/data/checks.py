"""Is this corpus fit for use? Every check raises a DataError, or returns notes for the reader of a report."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlib.data.texts import Texts
from attnlib.data.types import SPLITS, RawCorpus
from attnlib.data.vocabulary import Vocabulary
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
    nan = isinstance(label, float) and math.isnan(label)
    return label is None or nan or (isinstance(label, str) and not label.strip())


def is_number(text: str) -> bool:
    """Whether Python reads the text as a number, including `nan` and `inf`."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class Labelled(NamedTuple):
    """The rows of a source that carry a label: their places in it, and what each says of itself."""

    rows: Sequence[int]
    labels: list[Any]
    splits: list[str | None]
    ids: list[str | None]


def labelled(raw: RawCorpus) -> tuple[Labelled, list[str]]:
    """The rows that carry a label. Rows without one are refused, or dropped and counted (`drop_missing`)."""
    found, bad = Labelled(array("q"), [], [], []), []
    for i, row in enumerate(raw.rows):
        if missing(row.label):
            bad.append(i)
            continue
        # a source of millions makes every cell anew: names of classes are kept once
        label = sys.intern(row.label) if type(row.label) is str else row.label
        for column, value in zip(found, (i, label, row.split, row.id), strict=True):
            column.append(value)
    if bad and not raw.drop_missing:
        raise DataError(
            f"{raw.name}: {len(bad):,} of {len(raw.rows):,} rows have no label (rows {some(bad)}, counted from 0). "
            "Fill them in, or say drop_missing=True (--drop-missing) to leave them out."
        )
    return found, [f"{len(bad):,} rows without a label dropped"] if bad else []


def class_name(label: object) -> str:
    """A label as the name of its class: 1, 1.0 and "1" are one class, and blanks around a name do not count."""
    return str(int(label) if isinstance(label, float) and label.is_integer() else label).strip()


def class_names(labels: Sequence[Any], classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes in order: as given, else those that occur, numbers by value and names by alphabet."""
    found = set(map(class_name, labels))
    numbers = all(map(is_number, found))
    return (
        tuple(sorted(found, key=lambda c: (float(c) if numbers else 0, c))) if classes is None else tuple(classes)
    )


def label_indices(raw: RawCorpus, labels: Sequence[Any], ids: Sequence[str], classes: Sequence[str]) -> list[int]:
    """The class index of every row. A number is a position in the list of classes where the reader gives one."""
    places, found = {c: i for i, c in enumerate(classes)}, []
    for label, name in zip(labels, ids, strict=True):
        place = label if raw.classes is not None and type(label) is int else places.get(class_name(label), -1)
        if not 0 <= place < len(classes):
            raise DataError(f"{raw.name}, text {name!r}: {unknown('label', label, places)}")
        found.append(place)
    return found


def check_classes(name: str, train: Texts, classes: Sequence[str]) -> list[str]:
    """At least two classes among the training texts; classes without a training text are noted."""
    counts = np.bincount(train.labels, minlength=len(classes))
    present, absent = (
        [c for c, n in zip(classes, counts, strict=True) if bool(n) == held] for held in (True, False)
    )
    if len(present) < 2:
        what = f"only the class {present[0]!r}" if present else "no class"
        raise DataError(
            f"{name}: the training texts hold {what}. A classifier needs at least two classes: check the label "
            "column, or raise `limit` if you sample."
        )
    return [f"no training text for {len(absent)} of {len(classes)} classes: {some(absent)}"] if absent else []


def leaks(splits: Mapping[str, Texts]) -> dict[str, tuple[str, list[str]]]:
    """For dev and test: a note on texts (with their queries) that are training texts too, and their ids."""
    # of a million texts only hashes fit beside them
    hashes = {split: np.fromiter(map(hash, texts.keys()), np.int64, len(texts)) for split, texts in splits.items()}
    found = {}
    for split in SPLITS[1:]:
        rows = np.flatnonzero(np.isin(hashes[split], hashes["train"]))
        if n := len(rows):
            total = len(splits[split])
            note = f"{n:,} of {total:,} {split} texts ({n / total:.1%}) are word for word training texts"
            found[split] = note, [splits[split].ids[i] for i in rows.tolist()]
    return found


def note_unknown(splits: Mapping[str, Texts], vocabulary: Vocabulary) -> list[str]:
    """Texts without a single known word are kept (every word is UNK); their number is noted."""
    known = np.array([word in vocabulary for word in splits["train"].words])
    counts = {split: int((~splits[split].holding(known)).sum()) for split in SPLITS}
    said = "texts hold no word of the vocabulary; they are kept and read as unknown words"
    return [f"{n:,} {split} {said}" for split, n in counts.items() if n]
