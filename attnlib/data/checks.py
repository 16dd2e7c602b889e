"""Is this corpus fit for use? Every check raises a DataError, or returns notes for the reader of a report."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attnlib.data.markup import without_html
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


def missing(label: object) -> bool:
    """Whether a label is absent: None, NaN or blank."""
    if label is None or (isinstance(label, float) and math.isnan(label)):
        return True
    return isinstance(label, str) and not label.strip()


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
            "Fill them in, or say drop_missing=True to leave them out."
        )
    return found, [f"{len(bad):,} rows without a label dropped"] if bad else []


def class_name(label: object) -> str:
    """A label as the name of its class: 1, 1.0 and "1" are one class, and blanks around a name do not count."""
    if isinstance(label, float) and label.is_integer():
        label = int(label)
    return str(label).strip()


def class_names(labels: Sequence[Any], classes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The classes in order: as given, else those that occur, numbers by value and names by alphabet."""
    if classes is not None:
        return tuple(classes)
    found = set(map(class_name, labels))
    try:
        return tuple(sorted(found, key=lambda c: (float(c), c)))
    except ValueError:
        return tuple(sorted(found))


def label_indices(raw: RawCorpus, labels: Sequence[Any], ids: Sequence[str], classes: Sequence[str]) -> list[int]:
    """The class index of every row. A number is a position in the list of classes where the reader gives one."""
    places, found = {c: i for i, c in enumerate(classes)}, []
    for label, name in zip(labels, ids, strict=True):
        if raw.classes is not None and isinstance(label, int) and not isinstance(label, bool):
            if not 0 <= label < len(classes):
                raise DataError(
                    f"{raw.name}, text {name!r}: label {label} is out of range; there are {len(classes)} classes, "
                    "from 0."
                )
            found.append(label)
        elif (named := class_name(label)) in places:
            found.append(places[named])
        else:
            raise DataError(f"{raw.name}, text {name!r}: {unknown('label', named, places)}")
    return found


def check_classes(name: str, train: Texts, classes: Sequence[str]) -> list[str]:
    """At least two classes among the training texts; classes without a training text are noted."""
    counts = np.bincount(train.labels, minlength=len(classes))
    present = [c for i, c in enumerate(classes) if counts[i]]
    if len(present) < 2:
        what = f"only the class {present[0]!r}" if present else "no class"
        raise DataError(
            f"{name}: the training texts hold {what}. A classifier needs at least two classes: check the label "
            "column, or raise `limit` if you sample."
        )
    absent = [c for c in classes if c not in present]
    return [f"no training text for {len(absent)} of {len(classes)} classes: {some(absent)}"] if absent else []


def check_span(span: Any, text: str, where: str) -> tuple[int, int]:
    """Start and end of a span, whole numbers within the text."""
    try:
        start, end = span
        whole = int(start) == start and int(end) == end
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise DataError(
            f"{where}: a rationale over a text is a list of character spans (start, end), two whole numbers each; "
            f"got {str(span)[:60]!r}. Marks by token need the text as tokens."
        )
    if not 0 <= start <= end <= len(text):
        raise DataError(
            f"{where}: the span [{start}, {end}] lies outside the text, which has {len(text):,} characters. Count "
            "from 0, start before end."
        )
    return int(start), int(end)


def leaks(splits: Mapping[str, Texts]) -> dict[str, tuple[str, list[str]]]:
    """For dev and test: a note on texts (with their queries) that are training texts too, and their ids."""
    # Of a million texts only hashes fit beside them; texts with the hash of a training text are compared in full.
    train = np.fromiter(map(hash, splits["train"].keys()), np.int64, len(splits["train"]))
    hashes = {split: np.fromiter(map(hash, splits[split].keys()), np.int64) for split in SPLITS[1:]}
    alike = np.flatnonzero(np.isin(train, np.concatenate([*hashes.values()])))
    known = set(splits["train"].take(alike).keys())
    found = {}
    for split in SPLITS[1:]:
        texts = splits[split].take(np.flatnonzero(np.isin(hashes[split], train)))
        if leaked := [name for name, key in zip(texts.ids.to_pylist(), texts.keys(), strict=True) if key in known]:
            n, total = len(leaked), len(splits[split])
            note = f"{n:,} of {total:,} {split} texts ({n / total:.1%}) are word for word training texts"
            found[split] = note, leaked
    return found


def note_html(raw: RawCorpus, rows: Sequence[int]) -> list[str]:
    """How many texts hold HTML that is removed."""
    if raw.preprocessing.html != "strip":
        return []
    n = sum(row.tokens is None and without_html(row.text) != row.text for row in map(raw.rows.__getitem__, rows))
    said = f"HTML removed from {n:,} of {len(rows):,} texts: no tags, line breaks as spaces, entities as characters"
    return [f"{said}. To keep it: preprocessing={{'html': 'keep'}}"] if n else []


def note_unknown(splits: Mapping[str, Texts], vocabulary: Vocabulary) -> list[str]:
    """Texts without a single known word are kept (every word is UNK); their number is noted."""
    notes = []
    known = np.array([word in vocabulary for word in splits["train"].words])
    for split in SPLITS:
        if n := int((~splits[split].holding(known)).sum()):
            notes.append(
                f"{n:,} {split} texts hold no word of the vocabulary; they are kept and read as unknown words"
            )
    return notes
