"""Text in, batches out: corpora, vocabulary, batches (`attnlib.data.batching`, which waits for torch)."""

from attnlib.data.assembly import assemble
from attnlib.data.corpora import load_corpus, register_corpus
from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import Corpus, Example, RawCorpus, RawExample, Vocabulary

__all__ = [
    "Corpus",
    "Example",
    "Preprocessing",
    "RawCorpus",
    "RawExample",
    "Vocabulary",
    "assemble",
    "load_corpus",
    "register_corpus",
]
