"""What a model starts as: how texts become ids, word vectors, untrained parameters, or those of another model."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from attnlib.config import PARTS
from attnlib.data.batching import WordVectoriser
from attnlib.models import build_model
from attnlib.training.optimise import TABLES
from attnlib.utils.errors import ConfigError, one_of

if TYPE_CHECKING:
    import numpy as np

    from attnlib.config import ModelConfig
    from attnlib.data.batching import Vectoriser
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted


def make_vectoriser(corpus: Corpus, config: ModelConfig) -> Vectoriser:
    """Words of the corpus's vocabulary, or word pieces of a pretrained encoder."""
    if config.encoder == "bert":
        from attnlib.data.wordpieces import WordPieceVectoriser

        return WordPieceVectoriser(config.pretrained, corpus.preprocessing)
    return WordVectoriser(
        corpus.vocabulary,
        corpus.preprocessing,
        sentences=config.hierarchical,
        special=config.boundaries,
        unattended=config.unattended,
    )


def word_vectors(vectoriser: Vectoriser, config: ModelConfig, seed: int) -> np.ndarray | None:
    """(n_ids, D) initial embeddings, or None for random ones."""
    if config.encoder == "bert" or config.vectors == "none":
        return None
    from attnlib.data.vectors import vectors

    size, chosen = config.embedding_size, {"oov": config.oov, "oov_scale": config.oov_scale}
    return vectors(config.vectors, vectoriser.vocabulary, size, seed, **chosen)


def initial_model(
    config: ModelConfig, vectoriser: Vectoriser, n_classes: int, *, vectors: np.ndarray | None, query: bool
) -> torch.nn.Module:
    """The untrained model for a vectoriser; masked-word training on words adds one id, the mask."""
    mask_id = vectoriser.mask_id if config.regulariser == "mlm" else None
    n_ids = max(vectoriser.n_ids, 0 if mask_id is None else mask_id + 1)
    return build_model(config, n_ids, n_classes, vectors, query, mask_id=mask_id)


def warm(fitted: Fitted, source: Fitted, parts: Iterable[str] = PARTS) -> tuple[str, ...]:
    """Copy the named parts of `source` into `fitted`; returns notes on what was left out.

    Parameters are copied where name and shape agree. Where the vocabularies differ, word tables are copied row
    by row, by word; words that `source` does not know keep their initial rows.
    """
    parts = tuple(parts)
    for part in parts:
        one_of("part in warm_parts", part, PARTS)
    same = fitted.vectoriser.to_json() == source.vectoriser.to_json()
    mine, theirs = fitted.model.parts(), source.model.parts()
    copied, left = 0, []
    for part in parts:
        given = dict(theirs[part].named_parameters()) if part in theirs else {}
        wanted = dict(mine[part].named_parameters()) if part in mine else {}
        for name, parameter in wanted.items():
            by_word = None if same or part not in TABLES else (fitted.vectoriser, source.vectoriser)
            reason = _copy(parameter, given.get(name), by_word)
            copied += reason is None
            left += [f"{part}.{name} ({reason})"] if reason else []
    if not copied:
        what = ", ".join(left) or f"no parameters in {', '.join(parts)}"
        raise ConfigError(
            f"The warm start fits nowhere: {what}. Give a model of the same ModelConfig, or other warm_parts."
        )
    return (f"warm start left out: {', '.join(left)}",) if left else ()


@torch.no_grad()
def _copy(parameter: Tensor, value: Tensor | None, by_word: tuple[Vectoriser, Vectoriser] | None) -> str | None:
    """Copy a value; returns why it was not copied."""
    if value is None:
        return "the other model has none"
    if by_word is not None:
        to, source = by_word
        tables = len(parameter) - to.n_ids in (0, 1) and len(value) - source.n_ids in (0, 1)
        if tables and parameter.shape[1:] == value.shape[1:]:
            return _copy_rows(parameter, value, to, source)
    if parameter.shape != value.shape:
        return f"shape {tuple(value.shape)} is not {tuple(parameter.shape)}"
    parameter.copy_(value)
    return None


def _copy_rows(parameter: Tensor, value: Tensor, to: Vectoriser, source: Vectoriser) -> str | None:
    words, known = getattr(to, "vocabulary", None), getattr(source, "vocabulary", None)
    if words is None or known is None:
        return "the two models cut texts into different units"
    # the first id of a word: special ones come first, and a text may hold a word that looks like one
    place = {word: i for i, word in reversed(list(enumerate(known.words)))}
    pairs = [(i, place[word]) for i, word in enumerate(words.words) if word in place]
    mine, theirs = torch.tensor(pairs).T
    parameter[mine.to(parameter.device)] = value[theirs.to(value.device)].to(parameter)
    return None
