"""What people call the parts of a corpus: training, validation, holdout … to train, dev and test.

| word (in any case) | means |
| --- | --- |
| train, training, trn | train |
| dev, val, valid, validation, development | dev |
| test, testing, tst | test |
| eval, evaluation | dev; test where another word names dev and none names test (train, dev, eval) |
| heldout, held-out, holdout, hold-out | test; dev where another word names test and none names dev (train, holdout, test) |

A word outside this table is an error: rows of a part that nobody recognised must not end up in training.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from attnlib.data.checks import some
from attnlib.utils.errors import DataError

SURE = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
}
EITHER = {**dict.fromkeys(("eval", "evaluation"), "dev"), **dict.fromkeys(("heldout", "holdout"), "test")}
"""Words that people use for dev and for test, with what they mean unless the other words say otherwise."""
WORDS = SURE | EITHER
ALLOWED = "train (training, trn), dev (validation, valid, val, development, eval), test (testing, tst, holdout)"


def word(value: object) -> str:
    """The value as the words above are spelled: lower case, "held-out" and "held out" as "heldout"."""
    return re.sub(r"[\s_-]+", "", str(value)).lower()


def meant(values: Iterable[object]) -> dict[object, str]:
    """Split of each of these values that is a word for one, read together; others are left out.

    >>> meant(["Train", "holdout", "?"]), meant(["train", "dev", "eval"])
    ({'Train': 'train', 'holdout': 'test'}, {'train': 'train', 'dev': 'dev', 'eval': 'test'})
    """
    values = list(dict.fromkeys(values))
    found = {value: SURE[word(value)] for value in values if word(value) in SURE}
    named = set(found.values())
    for value in values:
        usual = EITHER.get(word(value))
        if usual is not None:
            other = "test" if usual == "dev" else "dev"
            found[value] = other if usual in named and other not in named else usual
    return found


def read_splits(cells: Iterable[object], where: str) -> tuple[list[str], str]:
    """Split of every row, and a note with what each value was taken for; unknown values are an error.

    where  the column and its file, for the message
    """
    cells = list(cells)
    counts = Counter("" if cell is None else str(cell).strip() for cell in cells)
    found = meant(counts)
    listed = some((f"{value[:40] or '(blank)'} ({n:,})" for value, n in counts.most_common()), 10)
    if strange := [repr(v[:40]) if v else "blank cells" for v in counts if v not in found]:
        raise DataError(
            f"The {where} holds values that name no split: {some(strange)}. Found: {listed}. Allowed: {ALLOWED}. "
            "Rename them; if the column is no split, say split=None (`split: null` in a mapping), and one is drawn."
        )
    sure = {split for value, split in found.items() if word(value) in SURE}
    mixed = [v for v, split in found.items() if word(v) in EITHER and split in sure]
    if mixed:
        raise DataError(
            f"The {where} names the {found[mixed[0]]} texts in two ways, {mixed[0]!r} among them. Found: {listed}. "
            f"Rename {mixed[0]!r} to train, dev or test, or leave these rows out."
        )
    used = ", ".join(
        f"{value} ({n:,})" + ("" if word(value) == found[value] else f" is used as {found[value]}")
        for value, n in counts.items()
    )
    return [found["" if cell is None else str(cell).strip()] for cell in cells], f"split of {where}: {used}"


def is_split(cells: Iterable[object]) -> bool:
    """Whether a column can be nothing else: words of the table alone, one for train and one for another part."""
    kinds = {WORDS.get(word(cell)) for cell in cells if cell is not None}
    return None not in kinds and "train" in kinds and len(kinds) > 1
