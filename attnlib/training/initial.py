"""What a model starts as: how texts become ids, word vectors, and untrained parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attnlib.data.batching import WordVectoriser
from attnlib.models import build_model

if TYPE_CHECKING:
    import numpy as np
    import torch

    from attnlib.config import ModelConfig
    from attnlib.data.batching import Vectoriser
    from attnlib.data.types import Corpus


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

    return vectors(
        config.vectors,
        vectoriser.vocabulary,
        config.embedding_size,
        seed,
        oov=config.oov,
        oov_scale=config.oov_scale,
    )


def initial_model(
    config: ModelConfig, vectoriser: Vectoriser, n_classes: int, *, vectors: np.ndarray | None, query: bool
) -> torch.nn.Module:
    """The untrained model for a vectoriser; masked-word training on words adds one id, the mask."""
    mask_id = vectoriser.mask_id if config.regulariser == "mlm" else None
    n_ids = max(vectoriser.n_ids, 0 if mask_id is None else mask_id + 1)
    return build_model(config, n_ids, n_classes, vectors, query, mask_id=mask_id)
