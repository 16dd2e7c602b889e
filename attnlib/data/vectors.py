"""Word vectors for a vocabulary: random, packaged GloVe, or a GloVe or fastText text file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import numpy as np

from attnlib.data.checks import is_number
from attnlib.data.readers import packaged
from attnlib.data.readers.archives import BROKEN, open_packed
from attnlib.data.vocabulary import EOS_ID, PAD_ID, SOS_ID, SPECIAL, Vocabulary
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.paths import user_path

OOV = ("normal", "zero")
LONGEST_LINE = 2**20
"""Bytes: 300 numbers take about 3,000."""
EXPORT = (
    "Vectors are read from text, a line for a word and its numbers (GloVe .txt, fastText .vec; .gz is fine). "
    "Binary files (.bin, .npy, .pt, zip) must be exported as text first."
)


def vectors(
    name_or_path: str,
    vocabulary: Vocabulary,
    size: int,
    seed: int = 0,
    *,
    oov: Literal["normal", "zero"] = "normal",
    oov_scale: float | None = None,
) -> np.ndarray:
    """(len(vocabulary), size) float32 initial embeddings; the row of PAD is zero.

    name_or_path  `none`: N(0, 1) for every row but PAD. `glove`: the packaged 50-wide GloVe. Otherwise a text file,
                  one line per word with its numbers (GloVe, fastText .vec with its header line; .gz is fine)
    oov           words without a vector (UNK among them): `normal`, N(0, oov_scale²), as TaSc does with scale 1;
                  `zero`, as Jain & Wallace do. SOS and EOS are zero whenever vectors are read (both papers)
    oov_scale     None: the standard deviation of the vectors found, so that unknown words do not stand out
    """
    if oov not in OOV:
        raise ConfigError(f"oov must be 'normal' or 'zero'; got {oov!r}.")
    noise = np.random.default_rng(seed).standard_normal((len(vocabulary), size), dtype=np.float32)
    if name_or_path == "none":
        noise[PAD_ID] = 0
        return noise
    known = _glove(vocabulary, size) if name_or_path == "glove" else _from_file(name_or_path, vocabulary, size)
    if not known:
        raise DataError(
            f"Vectors {name_or_path!r} know none of the {len(vocabulary) - len(SPECIAL):,} words of the corpus. "
            "Are they vectors of another language, or upper-case?"
        )
    rows = np.fromiter(known, dtype=np.int64)
    values = np.stack(list(known.values())).astype(np.float32)
    scale = (float(values.std()) if oov_scale is None else oov_scale) if oov == "normal" else 0.0
    matrix = noise * np.float32(scale)
    matrix[rows] = values
    matrix[[PAD_ID, SOS_ID, EOS_ID]] = 0
    return matrix


def _glove(vocabulary: Vocabulary, size: int) -> dict[int, np.ndarray]:
    source = packaged.glove()
    if source.matrix.shape[1] != size:
        raise ConfigError(f"vectors 'glove' are {source.matrix.shape[1]} wide; got size {size}.")
    return {i: source.matrix[source.index[w]] for w, i in _wanted(vocabulary).items() if w in source.index}


def check_vectors(name_or_path: str) -> None:
    """Raise DataError where there are no such vectors. Nothing is read."""
    if name_or_path not in ("none", "glove") and not user_path(name_or_path).is_file():
        raise DataError(
            f"There are no vectors {name_or_path!r}. Use 'none', 'glove', or the path of a GloVe or fastText text "
            "file."
        )


def _from_file(path: str, vocabulary: Vocabulary, size: int) -> dict[int, np.ndarray]:
    check_vectors(path)
    file = user_path(path)
    wanted = _wanted(vocabulary)
    found: dict[int, np.ndarray] = {}
    for number, line in _lines(file):
        # A word may hold spaces (GloVe 840B has such), numbers may not: cut from the right.
        word, *cells = line.rstrip().rsplit(" ", size)
        if number == 1 and _is_header(line):
            _check_width(file, int(line.split()[1]), size)
            continue
        if len(cells) != size or (number == 1 and is_number(word.rsplit(" ", 1)[-1]) and " " in word):
            _check_width(file, len(line.split()) - 1, size)
            raise DataError(f"{file.name}, line {number:,}: needs a word and {size} numbers; got {line[:60]!r}.")
        row = wanted.get(word)
        if row is not None and row not in found:
            found[row] = _numbers(cells, f"{file.name}, line {number:,}: the vector of {word[:40]!r}", size)
    return found


def _numbers(cells: list[str], what: str, size: int) -> np.ndarray:
    try:
        with np.errstate(over="ignore"):
            values = np.array(cells, dtype=np.float64).astype(np.float32)
    except ValueError:
        raise DataError(
            f"{what} is not {size} numbers: {' '.join(cells)[:60]!r}. Mend or remove the line."
        ) from None
    if not np.isfinite(values).all():
        odd = next(cell for cell, value in zip(cells, values, strict=True) if not np.isfinite(value))
        raise DataError(
            f"{what} holds {odd!r}: no model can learn from numbers that are missing, infinite or too large. Mend "
            "or remove the line; words without a vector are started at random."
        )
    return values


def _wanted(vocabulary: Vocabulary) -> dict[str, int]:
    return {word: i for i, word in enumerate(vocabulary.words[len(SPECIAL) :], start=len(SPECIAL))}


def _lines(file: Path) -> Iterator[tuple[int, str]]:
    number = 0
    try:
        with open_packed(file) as stream:
            while raw_line := stream.readline(LONGEST_LINE):
                number += 1
                if number == 1:
                    _check_text(raw_line, file)
                if len(raw_line) == LONGEST_LINE:
                    raise DataError(f"{file.name}, line {number:,} is longer than {LONGEST_LINE:,} bytes. {EXPORT}")
                line = raw_line.decode("utf-8", errors="replace")  # broken bytes only make that word unknown
                if line.strip():
                    yield number, line
    except BROKEN as error:
        raise DataError(
            f"{file.name} cannot be read behind line {number:,} ({error}). Get the file again."
        ) from None
    if not number:
        raise DataError(f"{file.name} is empty. {EXPORT}")


def _check_text(start: bytes, file: Path) -> None:
    line = start[:1000].decode("utf-8", errors="replace")
    if "\0" in line or line.count("\ufffd") > 1 or start.startswith((b"PK\x03\x04", b"\x80")):
        raise DataError(f"{file.name} is no text file: it begins with {start[:16]!r}. {EXPORT}")


def _is_header(line: str) -> bool:
    cells = line.split()
    return len(cells) == 2 and all(cell.isdigit() for cell in cells)


def _check_width(file: Path, width: int, size: int) -> None:
    if width != size:
        raise ConfigError(
            f"{file.name} holds vectors of {width} numbers; got size {size}. Set embedding_size={width}."
        )
