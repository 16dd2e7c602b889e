"""Train, dev and test: the words that sources use for them, and a draw where a source does not say."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from attnlib.data.checks import some
from attnlib.data.types import SPLITS, RawExample
from attnlib.utils.errors import DataError, unknown

WORDS = {
    **dict.fromkeys(("train", "training", "trn"), "train"),
    **dict.fromkeys(("dev", "val", "valid", "validation", "development", "eval", "evaluation"), "dev"),
    **dict.fromkeys(("test", "testing", "tst", "heldout", "holdout"), "test"),
}
SEED = 1378
"""Fixed, so that a corpus is the same corpus whatever the seed of a run."""
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
HELD_OUT = 0.15
"""Share of the training texts that becomes dev or test where the source lacks just that one."""


def meant(value: object) -> str | None:
    """The split that a word stands for, in any case and however hyphenated; None: no word for one.

    >>> meant("Held-Out"), meant("validation"), meant("unsupervised")
    ('test', 'dev', None)
    """
    return WORDS.get(re.sub(r"[\s_-]+", "", str(value)).lower())


def read_splits(cells: Iterable[object], where: str) -> tuple[list[str], str]:
    """Split of every row, and a note with what each value of the column (`where`) was taken for.

    Unknown words and two words for one split are errors: no held-out row may end up in training.
    """
    values = ["" if cell is None else str(cell).strip() for cell in cells]
    counts = Counter(values)
    found = {value: meant(value) for value in counts}
    strange = [repr(value[:40]) if value else "blank cells" for value in counts if found[value] is None]
    if strange or len({value.lower() for value in counts}) > len({*found.values()}):
        said = f"values that name no split: {some(strange)}" if strange else "two words for one split"
        listed = some((f"{value[:40] or '(blank)'} ({n:,})" for value, n in counts.most_common()), 10)
        raise DataError(
            f"The {where} holds {said}. Found: {listed}. Allowed: one word each of {', '.join(WORDS)}. Rename "
            "them; for a column that is no split, split=None (--split none, `split: null`): one is drawn."
        )
    used = [f"{value} ({n:,}, used as {found[value]})" for value, n in counts.items()]
    return [found[value] for value in values], f"split of {where}: {', '.join(used)}"


def is_split(cells: Iterable[object]) -> bool:
    """Whether a column can only be a split: words for splits alone, train and another."""
    kinds = {meant(cell) for cell in cells if cell is not None}
    return None not in kinds and "train" in kinds and len(kinds) > 1


def drawn_splits(name: str, rows: Sequence[RawExample]) -> tuple[list[str], list[str]]:
    """The split of every row, and a note where it was drawn here.

    No split at all: 80/10/10. Train and test alone: dev is 15 % of train; train and dev alone: test
    likewise. Drawn class by class with a fixed seed; identical texts stay together.
    """
    splits = [row.split for row in rows]
    sizes = Counter(splits)
    if not rows:
        raise DataError(f"{name}: there is no text.")
    if strange := {*sizes} - {*SPLITS, None}:
        raise DataError(f"{name}: {unknown('split', min(strange), SPLITS)}")
    if sizes[None] and len(sizes) > 1:
        raise DataError(
            f"{name}: {sizes[None]:,} of {len(splits):,} rows have no split while others do. Give every row one of "
            f"{', '.join(SPLITS)}, or none of them any."
        )
    if not sizes[None] and not sizes["train"]:
        raise DataError(f"{name}: no row has the split 'train'; found {', '.join(map(str, sizes))}.")
    if sizes[None] or set(sizes) == {"train"}:
        note = f"own split 80/10/10 (stratified, seed {SEED}, identical texts kept together): the source has none"
        return _draw(rows, [None] * len(rows), None, SHARES), [note]
    notes = []
    for split in ("dev", "test"):
        if not sizes[split]:
            splits = _draw(rows, splits, "train", {"train": 1 - HELD_OUT, split: HELD_OUT})
            notes.append(f"own {split}: {HELD_OUT:.0%} of train (stratified, seed {SEED}); the source has none")
    return splits, notes


def _draw(
    rows: Sequence[RawExample], splits: Sequence[str | None], of: str | None, shares: dict[str, float]
) -> list[str]:
    """The splits, with those of the rows in `of` drawn, class by class; equal texts with equal queries together."""
    groups: dict[tuple, list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        if splits[i] == of:
            words = row.text.split() if row.tokens is None else " ".join(row.tokens).split()
            query = row.query if isinstance(row.query, str) or row.query is None else " ".join(row.query)
            groups[" ".join(words).lower(), query].append(i)
    strata: dict[str, list[list[int]]] = defaultdict(list)
    for own in groups.values():
        strata[str(rows[own[0]].label)].append(own)
    rng, result = np.random.default_rng(SEED), list(splits)
    for _, own in sorted(strata.items()):
        n = len(own)
        # the shares, but one text each where that can be
        sizes = {s: max(1, round(n * p)) if n >= len(shares) else 0 for s, p in shares.items() if s != "train"}
        where = ["train"] * (n - sum(sizes.values())) + [s for s, size in sizes.items() for _ in range(size)]
        for split, group in zip(where, rng.permutation(n), strict=True):
            for i in own[group]:
                result[i] = split
    return result
