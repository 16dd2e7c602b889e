"""Word vectors for a vocabulary: random, packaged (GloVe, word2vec), or from a file."""

from __future__ import annotations

from typing import Literal

import numpy as np

from attnlib.config import PACKAGED_VECTORS
from attnlib.data.readers import packaged
from attnlib.data.readers.wordvectors import read_vectors
from attnlib.data.vocabulary import EOS_ID, PAD_ID, SOS_ID, SPECIAL, Vocabulary
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.paths import user_path

OOV = ("normal", "zero")


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
                  file: text, one line per word with its numbers (GloVe, fastText .vec with its header line), or the
                  binary format of word2vec; .gz is fine
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
    check_vectors(name_or_path)
    own = name_or_path not in PACKAGED_VECTORS
    source = read_vectors(user_path(name_or_path)) if own else packaged.word_vectors(name_or_path)
    if (width := source.matrix.shape[1]) != size:
        raise ConfigError(
            f"vectors {name_or_path!r} are {width} wide; got size {size}. Set embedding_size={width}."
        )
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
        raise DataError(
            f"There are no vectors {name_or_path!r}. Use {names}, or the path of a file (GloVe or fastText text, "
            "word2vec binary)."
        )
