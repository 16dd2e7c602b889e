"""Text in, batches out: corpora, vocabulary, batches."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from attnlib.data.assembly import assemble
from attnlib.data.corpora import load_corpus, register_corpus
from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import Corpus, Example, RawCorpus, RawExample, Vocabulary

_WITH_TORCH = ("Batch", "Encoded", "Vectoriser", "WordVectoriser")

__all__ = [
    "Batch",
    "Corpus",
    "Encoded",
    "Example",
    "Preprocessing",
    "RawCorpus",
    "RawExample",
    "Vectoriser",
    "Vocabulary",
    "WordVectoriser",
    "assemble",
    "load_corpus",
    "register_corpus",
]


def __getattr__(name: str) -> Any:
    # Batches hold tensors; the list of corpora must not wait for torch.
    if name in _WITH_TORCH:
        return getattr(import_module(f"{__name__}.batching"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
