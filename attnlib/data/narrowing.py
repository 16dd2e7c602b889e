"""Which texts of a corpus are kept, and which parts of them: shares of classes, length filter, excerpts, cuts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from attnlib.data.splits import SEED
from attnlib.data.texts import Example, Packer, Texts
from attnlib.data.types import SPLITS
from attnlib.utils.errors import DataError, unknown

BINS, REACHED, SHORT = 100, 0.95, 50
"""Of `usual_length`."""


def thinned(
    name: str,
    splits: Sequence[str | None],
    labels: Sequence[int],
    classes: Sequence[str],
    shares: Mapping[str, float],
) -> tuple[Sequence[int], list[str]]:
    """Positions of the texts that stay where some classes are to have only a share of each split.

    Texts of the other classes all stay. Drawn with a fixed seed, so that the corpus is the same in every run.
    """
    for label in shares:
        if label not in classes:
            raise DataError(f"{name}: {unknown('class in shares', label, classes)}")
    if not shares:
        return range(len(labels)), []
    if sum(shares.values()) >= 1:
        raise DataError(f"{name}: shares must leave something for the other classes; got {dict(shares)}.")
    kept: list[int] = []
    for split in SPLITS:
        own = {c: [i for i, (s, y) in enumerate(zip(splits, labels, strict=True)) if s == split and classes[y] == c]
               for c in classes}  # fmt: skip
        others = sum(len(texts) for label, texts in own.items() if label not in shares)
        for label, texts in own.items():
            wanted = round(shares[label] / (1 - sum(shares.values())) * others) if label in shares else len(texts)
            if wanted > len(texts):
                raise DataError(
                    f"{name}: a share of {shares[label]:g} would need {wanted:,} {split} texts of the class "
                    f"{label!r}, which has {len(texts):,}. Thin another class."
                )
            rng = np.random.default_rng([SEED, SPLITS.index(split), classes.index(label)])
            kept += texts if wanted == len(texts) else rng.permutation(texts)[:wanted].tolist()
    told = ", ".join(f"{label} {share:.0%}" for label, share in shares.items())
    return sorted(kept), [f"thinned to {len(kept):,} of {len(labels):,} texts: {told} of each split (seed {SEED})"]


def length_filter(
    split: str, lengths: np.ndarray, limits: tuple[int | None, int | None]
) -> tuple[np.ndarray, list[str]]:
    """Jain & Wallace's `filterbylength`: min < length < max, strictly; None is the split's own extreme.

    So the longest text of every split is dropped, and without a given minimum also the shortest. Returns the places
    of the texts that stay, and a note.
    """
    low = lengths.min() if limits[0] is None else limits[0]
    high = lengths.max() if limits[1] is None else limits[1]
    inside = np.flatnonzero((low < lengths) & (lengths < high))
    note = f"strict length filter: {len(inside):,} of {len(lengths):,} {split} texts have {low} < words < {high}"
    return inside, [note]


def usual_length(lengths: Sequence[int]) -> int:
    """Where Chrysostomou & Aletras cut: a length that about 95% of the texts do not exceed.

    It is the left edge of the bin, of 100 between the shortest and the longest text, in which 95% of the texts are
    reached; corpora in which that is below 50 tokens keep the length of their longest text.
    """
    counts, edges = np.histogram(lengths, BINS)
    edge = int(edges[np.searchsorted(counts.cumsum(), REACHED * len(lengths))])
    return edge if edge >= SHORT else int(max(lengths))


def selected(example: Example, positions: Sequence[int]) -> Example:
    """The tokens at some positions, in order, with their marks and sentences."""
    starts, marks = example.sentences, example.rationale
    if starts is not None:
        # a sentence may begin with a token that is gone, or be gone as a whole
        moved = np.searchsorted(positions, starts).tolist()
        starts = tuple(sorted({0, *(start for start in moved if start < len(positions))}))
    return replace(
        example,
        tokens=tuple(example.tokens[i] for i in positions),
        rationale=None if marks is None else tuple(marks[i] for i in positions),
        sentences=starts,
    )


def excerpted(example: Example, excerpts: Sequence[Sequence[int | None]]) -> Example:
    """The tokens of some slices of a text, each once and in order."""
    positions = sorted({i for ends in excerpts for i in range(len(example))[slice(*ends)]})
    return example if len(positions) == len(example) else selected(example, positions)


def shortened(
    split: str, texts: Texts, excerpts: Sequence[Sequence[int | None]], longest: int | None, packer: Packer
) -> tuple[Texts, list[str]]:
    """The excerpts of every text, and of these the first `longest` tokens; what was cut is noted."""
    notes = []
    if excerpts:
        texts = packer.pack(excerpted(example, excerpts) for example in texts)
        notes.append(f"{split}: of each text the tokens {', '.join(f'{a or 0}:{b or str()}' for a, b in excerpts)}")
    long = int((texts.lengths > longest).sum()) if longest is not None else 0
    if long:
        notes.append(f"{long:,} {split} texts cut to {longest} words")
        texts = packer.pack(excerpted(example, [(0, longest)]) for example in texts)
    return texts, notes
