"""Train, dev and test, where a source does not say: fixed, stratified, and no text on both sides."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

import numpy as np

from attnlib.data.raw import RawExample
from attnlib.data.types import SPLITS
from attnlib.utils.errors import DataError, unknown

SEED = 1378
"""Fixed, so that a corpus is the same corpus whatever the seed of a run."""
SHARES = {"train": 0.8, "dev": 0.1, "test": 0.1}
HELD_OUT = 0.15
"""Share of the training texts that becomes dev or test where the source lacks just that one."""


def with_splits(name: str, rows: Sequence[RawExample]) -> tuple[list[RawExample], list[str]]:
    """The same rows, each with a split, and a note where the split is ours.

    No split at all: 80/10/10. Train and test alone: dev is 15 % of train; train and dev alone: test likewise.
    Drawn class by class with a fixed seed; identical texts stay together, so that the split cannot leak.
    """
    rows = list(rows)
    if not rows:
        raise DataError(f"{name}: there is no text.")
    sizes = Counter(row.split for row in rows)
    for split in sizes:
        if split is not None and split not in SPLITS:
            raise DataError(f"{name}: {unknown('split', split, SPLITS)}")
    if sizes[None] and len(sizes) > 1:
        raise DataError(
            f"{name}: {sizes[None]:,} of {len(rows):,} rows have no split while others do. Give every row one of "
            f"{', '.join(SPLITS)}, or none of them any."
        )
    if not sizes[None] and not sizes["train"]:
        raise DataError(f"{name}: no row has the split 'train'; found {', '.join(map(str, sizes))}.")
    if sizes[None] or set(sizes) == {"train"}:
        return _draw(rows, range(len(rows)), SHARES), [
            f"own split 80/10/10 (stratified, seed {SEED}, identical texts kept together): the source has none"
        ]
    notes = []
    for split in ("dev", "test"):
        if not sizes[split]:
            train = [i for i, row in enumerate(rows) if row.split == "train"]
            rows = _draw(rows, train, {"train": 1 - HELD_OUT, split: HELD_OUT})
            notes.append(f"own {split}: {HELD_OUT:.0%} of train (stratified, seed {SEED}); the source has none")
    return rows, notes


def _draw(rows: list[RawExample], members: Sequence[int], shares: dict[str, float]) -> list[RawExample]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for i in members:
        groups[_key(rows[i])].append(i)
    strata: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        strata[str(rows[group[0]].label)].append(group)
    rng = np.random.default_rng(SEED)
    result = list(rows)
    for label in sorted(strata):
        chosen = [strata[label][i] for i in rng.permutation(len(strata[label]))]
        start = 0
        for split, n in _sizes(len(chosen), shares).items():
            for i in (i for group in chosen[start : start + n] for i in group):
                result[i] = replace(rows[i], split=split)
            start += n
    return result


def _sizes(n: int, shares: dict[str, float]) -> dict[str, int]:
    """How many of `n` texts of a class go where: the shares, but one each where that can be."""
    held_out = {s: max(1, round(n * p)) if n >= len(shares) else 0 for s, p in shares.items() if s != "train"}
    return {"train": n - sum(held_out.values()), **held_out}


def _key(row: RawExample) -> Hashable:
    text = " ".join(row.tokens) if row.tokens is not None else row.text
    query = row.query if isinstance(row.query, str) or row.query is None else " ".join(row.query)
    return " ".join(text.lower().split()), query
