"""AG News as csv."""

from __future__ import annotations

from attnlib.data.readers.base import choice, csv_rows, files, listed, one_each
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import DataError

CLASSES = ("world", "sports", "business", "sci/tech")
"""In the order of the file's numbers, 1 to 4."""


@listed("agnews")
def agnews(path: str | None = None, *, classes: int = 2, title: bool = False) -> RawCorpus:
    """train.csv (or a part of it, train_5k.csv) and test.csv: number of the class, title, description.

    classes  2: world and business (Jain & Wallace); 4: all
    title    whether to put the title before the description. A file with two columns (class, text) holds both
             in one: there is nothing to leave out, which is noted
    """
    choice("agnews", "classes", classes, (2, 4))
    pattern = r"(?:^|/)(?P<key>train|test)(?:_\w+)?\.csv(?:\.gz)?$"
    found = one_each(files(path, "ag_news", "agnews", pattern), "agnews", ("train", "test"))
    kept = ("world", "business") if classes == 2 else CLASSES
    rows, notes = [], []
    for split, (where, text) in found.items():
        joined = 0
        for number, cells in csv_rows(text, where):
            # some copies carry a header: Class Index, Title, Description
            if number == 1 and not cells[0].strip().isdigit():
                continue
            place = f"{where}, line {number}"
            if len(cells) not in (2, 3):
                raise DataError(
                    f"{place}: {len(cells)} columns instead of class, title, description or class, text."
                )
            if (digit := cells[0].strip()) not in ("1", "2", "3", "4"):
                raise DataError(f"{place}: the class is a number from 1 (world) to 4 (sci/tech); got {digit!r}.")
            label = CLASSES[int(digit) - 1]
            joined += len(cells) == 2
            words = cells[1:] if title or len(cells) == 2 else cells[2:]
            if label in kept:
                # the publisher writes a line break as a backslash
                clean = " ".join(words).replace("\\", " ")
                rows.append(RawExample(clean, label, split=split, id=f"{split}-{number}"))
        if joined and not title:
            notes.append(f"{split}: title and description are in one column, so the title is kept")
    return RawCorpus("agnews", rows, kept, notes=tuple(notes))
