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
    if by_word is not None and parameter.shape[1:] == value.shape[1:]:
        to, source = by_word
        if len(parameter) - to.n_ids in (0, 1) and len(value) - source.n_ids in (0, 1):  # a table of words
            words, known = getattr(to, "vocabulary", None), getattr(source, "vocabulary", None)
            if words is None or known is None:
                return "the two models cut texts into different units"
            # the first id of a word: special ones come first, and a text may hold a word that looks like one
            place = {word: i for i, word in reversed(list(enumerate(known.words)))}
            mine, theirs = torch.tensor([(i, place[w]) for i, w in enumerate(words.words) if w in place]).T
            parameter[mine.to(parameter.device)] = value[theirs.to(value.device)].to(parameter)
            return None
    if parameter.shape != value.shape:
        return f"shape {tuple(value.shape)} is not {tuple(parameter.shape)}"
    parameter.copy_(value)
    return None


def known_states(fitted: Fitted, encoded: Sequence[Encoded]) -> Callable[[Batch], dict[str, Tensor]]:
    """Hidden states of a frozen encoder, read once: batches of these texts -> `hidden` (B, T, H), zero at padding.

    The states are constant where embedding and encoder are frozen and nothing before attention draws at random.
    bert has dropout inside; a hierarchical model has two encoders, of which the second reads what attention chose.
    Where they are not constant, or take too much memory, nothing is known: {}.
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
