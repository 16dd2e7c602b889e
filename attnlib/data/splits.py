"""Train, dev and test: the words that sources use for them, and a draw where a source does not say.

| word (in any case) | means |
| --- | --- |
| train, training, trn | train |
| dev, val, valid, validation, development | dev |
| test, testing, tst | test |
| eval, evaluation | dev; test where another word names dev and none names test (train, dev, eval) |
| heldout, held-out, holdout, hold-out | test; dev where another word names test and none names dev (train, holdout, test) |

A word outside this table is an error: rows of a part that nobody recognised must not end up in training. A draw is
fixed, stratified, and puts no text on both sides.
"""  # noqa: E501  a table row is one line

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b

import numpy as np

from attnlib.data.checks import some
from attnlib.data.types import SPLITS, RawExample
from attnlib.utils.errors import DataError, unknown

SURE = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development"), "dev"),
    **dict.fromkeys(("test", "testing", "tst"), "test"),
}
EITHER = {**dict.fromkeys(("eval", "evaluation"), "dev"), **dict.fromkeys(("heldout", "holdout"), "test")}
"""Words that people use for dev and for test, with what they mean unless the other words say otherwise."""
WORDS = SURE | EITHER
ALLOWED = "train (training, trn), dev (validation, valid, val, development, eval), test (testing, tst, holdout)"
SEED = 1378
"""Fixed, so that a corpus is the same corpus whatever the seed of a run."""
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
HELD_OUT = 0.15
"""Share of the training texts that becomes dev or test where the source lacks just that one."""


def word(value: object) -> str:
    """The value spelled like the words above: lower case, "held-out" and "held out" as "heldout"."""
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
    """Whether a column can only be a split: words of the table alone, one for train and one for another part."""
    kinds = {WORDS.get(word(cell)) for cell in cells if cell is not None}
    return None not in kinds and "train" in kinds and len(kinds) > 1


def drawn_splits(
    name: str, splits: Sequence[str | None], labels: Sequence[object], rows: Iterable[RawExample]
) -> tuple[list[str], list[str]]:
    """The split of every row, and a note where it was drawn here.

    No split at all: 80/10/10. Train and test alone: dev is 15 % of train; train and dev alone: test likewise.
    Drawn class by class with a fixed seed; identical texts stay together, so that the split cannot leak. `rows` are
    read only where there is something to draw.
    """
    if not splits:
        raise DataError(f"{name}: there is no text.")
    sizes = Counter(splits)
    for split in sizes:
        if split is not None and split not in SPLITS:
            raise DataError(f"{name}: {unknown('split', split, SPLITS)}")
    if sizes[None] and len(sizes) > 1:
        raise DataError(
            f"{name}: {sizes[None]:,} of {len(splits):,} rows have no split while others do. Give every row one of "
            f"{', '.join(SPLITS)}, or none of them any."
        )
    if not sizes[None] and not sizes["train"]:
        raise DataError(f"{name}: no row has the split 'train'; found {', '.join(map(str, sizes))}.")
    if sizes[None] or set(sizes) == {"train"}:
        note = f"own split 80/10/10 (stratified, seed {SEED}, identical texts kept together): the source has none"
        return _draw(list(splits), labels, _keys(rows), range(len(splits)), SHARES), [note]
    splits, notes = list(splits), []
    for split in ("dev", "test"):
        if not sizes[split]:
            train = [i for i, own in enumerate(splits) if own == "train"]
            splits = _draw(splits, labels, _keys(rows), train, {"train": 1 - HELD_OUT, split: HELD_OUT})
            notes.append(f"own {split}: {HELD_OUT:.0%} of train (stratified, seed {SEED}); the source has none")
    return splits, notes


def _keys(rows: Iterable[RawExample]) -> list[bytes]:
    """What equal texts with equal queries share."""
    return [blake2b(repr(_words(row)).encode(), digest_size=12).digest() for row in rows]


def _words(row: RawExample) -> tuple[str, str | None]:
    text = " ".join(row.tokens) if row.tokens is not None else row.text
    query = row.query if isinstance(row.query, str) or row.query is None else " ".join(row.query)
    return " ".join(text.lower().split()), query


def _draw(
    splits: list[str | None],
    labels: Sequence[object],
    keys: Sequence[bytes],
    members: Sequence[int],
    shares: dict[str, float],
) -> list[str]:
    """The splits with those of the members drawn, class by class; rows of one key together."""
    first = {}  # key -> the first row that has it, whose label counts
    for i in members:
        first.setdefault(keys[i], i)
    strata: dict[str, list[int]] = defaultdict(list)
    for i in first.values():
        strata[str(labels[i])].append(i)
    rng = np.random.default_rng(SEED)
    drawn: dict[int, str] = {}
    for _, own in sorted(strata.items()):
        n = len(own)
        # the shares, but one text each where that can be
        sizes = {s: max(1, round(n * p)) if n >= len(shares) else 0 for s, p in shares.items() if s != "train"}
        where = ["train"] * (n - sum(sizes.values())) + [s for s, size in sizes.items() for _ in range(size)]
        for split, group in zip(where, rng.permutation(n), strict=True):
            drawn[own[group]] = split
    result = list(splits)
    for i in members:
        result[i] = drawn[first[keys[i]]]
    return result
