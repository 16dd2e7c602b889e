"""What a training starts from: ids, word vectors, parameters (perhaps of another model), states that stay."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from attnlib.config import PARTS
from attnlib.data.batching import WordVectoriser
from attnlib.models import build_model
from attnlib.training.optimise import TABLES
from attnlib.utils.errors import ConfigError, one_of

if TYPE_CHECKING:
    from attnlib.config import ModelConfig
    from attnlib.data.batching import Batch, Encoded, Vectoriser
    from attnlib.data.types import Corpus
    from attnlib.training.fitted import Fitted

MOST_BYTES = 2**30
"""States that take more memory are computed again in every step."""


def make_vectoriser(corpus: Corpus, config: ModelConfig) -> Vectoriser:
    """Words of the corpus's vocabulary, or word pieces of a pretrained encoder."""
    if config.encoder == "bert":
        from attnlib.data.wordpieces import WordPieceVectoriser

        return WordPieceVectoriser(config.pretrained, corpus.preprocessing)
    options = {"special": config.boundaries, "unattended": config.unattended, "sentences": config.hierarchical}
    return WordVectoriser(corpus.vocabulary, corpus.preprocessing, **options)


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


@torch.no_grad()
def warm(fitted: Fitted, source: Fitted, parts: Iterable[str] = PARTS) -> tuple[str, ...]:
    """Copy parameters of these parts of `source` where name, shape and vocabulary agree; notes on the others."""
    parts = tuple(parts)
    for part in parts:
        one_of("part in warm_parts", part, PARTS)
    same = fitted.vectoriser.to_json() == source.vectoriser.to_json()
    mine, theirs = fitted.model.parts(), source.model.parts()
    copied, left = 0, []
    for part in parts:
        given = dict(theirs[part].named_parameters())
        for name, parameter in mine[part].named_parameters():
            value = given.get(name)
            if value is None:
                left.append(f"{part}.{name} (the other model has none)")
            elif part in TABLES and not same:
                left.append(f"{part}.{name} (the other model has another vocabulary)")
            elif parameter.shape != value.shape:
                left.append(f"{part}.{name} (shape {tuple(value.shape)} is not {tuple(parameter.shape)})")
            else:
                parameter.copy_(value)
                copied += 1
    if not copied:
        what = ", ".join(left) or f"no parameters in {', '.join(parts)}"
        raise ConfigError(
            f"The warm start fits nowhere: {what}. Give a model of the same ModelConfig, or other warm_parts."
        )
    return (f"warm start left out: {', '.join(left)}",) if left else ()


def known_states(fitted: Fitted, encoded: Sequence[Encoded]) -> Callable[[Batch], dict[str, Tensor]]:
    """Hidden states of a frozen encoder, read once: batches of these texts -> `hidden` (B, T, H), zero at padding.

    {} where they take too much memory or are not constant: bert has dropout, and a HAN reads what it attended to.
    """
    config, model, texts = fitted.model_config, fitted.model, len(encoded)
    lengths = np.array([len(text) for text in encoded], dtype=np.int64)
    frozen = not any(p.requires_grad for part in ("embedding", "encoder") for p in model.parts()[part].parameters())
    constant = frozen and not (config.hierarchical or config.encoder == "bert" or config.embedding_dropout)
    weight = next(model.attention.parameters()) if constant else None
    if not constant or not texts or lengths.sum() * model.reader.width * weight.element_size() > MOST_BYTES:
        return lambda batch: {}
    starts = torch.from_numpy(np.concatenate([[0], lengths.cumsum()])).to(fitted.device)
    states = weight.new_zeros(int(lengths.sum()) + 1, model.reader.width)  # the last row is that of padding

    def places(batch: Batch) -> Tensor:
        line = torch.arange(batch.ids.shape[1], device=batch.ids.device)
        return (starts[batch.rows].unsqueeze(1) + line).masked_fill(~batch.mask, len(states) - 1)

    with fitted.evaluating():
        for batch in fitted.vectoriser.batches(encoded, 256):
            batch = batch.to(fitted.device)
            hidden = model.reader.encode(model.embed(batch), batch.mask)
            states[places(batch)[batch.mask]] = hidden[batch.mask]
    return lambda batch: {"hidden": states[places(batch)]}
