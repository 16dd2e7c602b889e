"""What every corpus is: Example, Vocabulary, Corpus; and what a reader returns: RawExample, RawCorpus."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from attnlib.data.preprocess import Preprocessing
from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SPLITS = ("train", "dev", "test")
Split = Literal["train", "dev", "test"]
SPECIAL = ("<pad>", "<unk>", "<sos>", "<eos>")
PAD_ID, UNK_ID, SOS_ID, EOS_ID = range(4)


@dataclass(frozen=True, slots=True)
class Example:
    """One text. `tokens` are preprocessed words; `label` indexes `Corpus.classes`.

    query      tokens of a question (QA) or a hypothesis (NLI), or None
    rationale  one bool per token: what a human (or the generator) marked as decisive, or None
    sentences  index of the first token of every sentence, or None where nobody said

    >>> al.Example(("a", "lovely", "film"), label=1).text
    'a lovely film'
    """

    tokens: tuple[str, ...]
    label: int
    query: tuple[str, ...] | None = None
    rationale: tuple[bool, ...] | None = None
    id: str = ""
    sentences: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.rationale is not None and len(self.rationale) != len(self.tokens):
            given, n = len(self.rationale), len(self.tokens)
            raise DataError(f"Example {self.id!r}: its rationale needs {n} marks, one per token; got {given}.")

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def text(self) -> str:
        """The tokens joined by spaces, for display."""
        return " ".join(self.tokens)


class Vocabulary:
    """Ids of words: PAD 0, UNK 1, SOS 2, EOS 3, then the words.

    `words[i]` is the word of id i, `counts[i]` the number of training texts that hold it (0 for the special ones).
    A word of a text that looks like a special one ("<pad>") is an ordinary word, with an id of its own.
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int]) -> None:
        """words, counts: without the special ones."""
        self.words: tuple[str, ...] = (*SPECIAL, *words)
        self.counts: tuple[int, ...] = (0,) * len(SPECIAL) + tuple(counts)
        self._ids = {word: i for i, word in enumerate(words, start=len(SPECIAL))}
        if not len(self._ids) == len(words) == len(counts):
            raise DataError("A vocabulary holds every word once, with one count for each.")

    @classmethod
    def build(cls, examples: Iterable[Example], min_df: int = 1) -> Vocabulary:
        """Words that occur in at least `min_df` of the examples, the most frequent first, ties by alphabet.

        A text counts once however often it repeats a word (the document frequency of scikit-learn's
        CountVectorizer, which Jain & Wallace use); a text's query counts as part of it.
        """
        counts: Counter[str] = Counter()
        for example in examples:
            counts.update({*example.tokens, *(example.query or ())})
        kept = sorted((word for word, n in counts.items() if n >= min_df), key=lambda word: (-counts[word], word))
        return cls(kept, [counts[word] for word in kept])

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """One id per token; UNK for unknown words."""
        return [self._ids.get(token, UNK_ID) for token in tokens]

    @property
    def mask_id(self) -> int:
        """The id after the last: an embedding row that only models with masked-word training have."""
        return len(self)

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and (self.words, self.counts) == (other.words, other.counts)

    def __hash__(self) -> int:
        return hash((self.words, self.counts))

    def to_json(self) -> str:
        """Words and counts, without the special ones."""
        n = len(SPECIAL)
        return json.dumps({"words": self.words[n:], "counts": self.counts[n:]}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """The inverse of `to_json`."""
        values = json.loads(text)
        return cls(values["words"], values["counts"])


@dataclass(frozen=True)
class Corpus:
    """Train, dev and test examples, their class names, and how texts became tokens.

    notes   what loading did that a reader should know: texts dropped, leaks, own splits
    source  where it comes from; citation: what to cite
    min_df  words in fewer training texts than this become unknown
    known   the vocabulary, where it is not that of `train`: Jain & Wallace count words before their length filter

    >>> corpus.classes, len(corpus.train), corpus.task
    (('negative', 'positive'), 240, 'classification')
    >>> corpus.stats()[["split", "texts"]].values.tolist()
    [['train', 240], ['dev', 40], ['test', 100]]
    """

    name: str
    train: Sequence[Example]
    dev: Sequence[Example]
    test: Sequence[Example]
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    min_df: int = 1
    source: str = ""
    citation: str = ""
    notes: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)
    known: Vocabulary | None = None

    @property
    def task(self) -> str:
        """`classification`, or `query` where the texts carry one (QA, NLI)."""
        return "query" if self.train and self.train[0].query is not None else "classification"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Words of the training texts (and queries) with a document frequency of at least `min_df`."""
        return Vocabulary.build(self.train, min_df=self.min_df) if self.known is None else self.known

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every example and class: part of a run's identity."""
        digest = hashlib.sha256(json.dumps([self.classes, self.min_df]).encode())
        for split, example in self.items():
            row = [split, example.tokens, example.label, example.query, example.rationale, example.sentences]
            digest.update(json.dumps(row, ensure_ascii=False).encode())
        if self.known is not None:
            digest.update(self.known.to_json().encode())
        return digest.hexdigest()

    def items(self) -> Iterator[tuple[str, Example]]:
        """Every example with the name of its split."""
        return ((split, example) for split in SPLITS for example in getattr(self, split))

    def sample(self, n: int | None, *, seed: int = 0, splits: tuple[str, ...] = SPLITS) -> Corpus:
        """At most `n` examples of each named split, drawn without replacement; the rest unchanged."""
        if n is not None and n < 1:
            raise DataError(f"sample(n={n}): give at least one example per split, or None for all.")
        drawn = {}
        for k, split in enumerate(splits):
            examples = getattr(self, split)
            if n is not None and len(examples) > n:
                rows = np.sort(np.random.default_rng([seed, k]).choice(len(examples), n, replace=False))
                drawn[split] = tuple(examples[i] for i in rows)
        note = tuple(f"{split}: {n} of {len(getattr(self, split))} texts sampled (seed {seed})" for split in drawn)
        known = None if "train" in drawn else self.known
        return replace(self, **drawn, notes=self.notes + note, known=known)

    def stats(self) -> pd.DataFrame:
        """One row per split: texts, mean and extreme lengths, share of each class; |V| from train."""
        import pandas as pd

        rows = []
        for split in SPLITS:
            examples = getattr(self, split)
            lengths = np.array([len(e) for e in examples] or [0])
            counts = np.bincount([e.label for e in examples], minlength=len(self.classes))
            row = {"dataset": self.name, "split": split, "texts": len(examples), "mean_words": lengths.mean()}
            row |= {"min_words": lengths.min(), "max_words": lengths.max()}
            row |= {f"share_{c}": k / max(len(examples), 1) for c, k in zip(self.classes, counts, strict=True)}
            rows.append(row | {"vocabulary": len(self.vocabulary)})
        return pd.DataFrame(rows)

    def __repr__(self) -> str:
        sizes = "/".join(f"{len(getattr(self, s)):,}" for s in SPLITS)
        return f"Corpus({self.name!r}, {sizes} train/dev/test, classes: {', '.join(self.classes)})"


@dataclass(frozen=True, slots=True)
class RawExample:
    """One row as a reader found it. Either `text`, or `tokens` where the source is tokenised.

    label      class name, or a number: an index into `RawCorpus.classes` where those are given
    split, id  None where the source has none; `assemble` then draws and makes them
    query      question (QA) or hypothesis (NLI), as text or as tokens
    rationale  one bool per token (with `tokens`)
    sentences  index of the first token of every sentence (with `tokens`), or how many words make one (with `text`)
    """

    text: str = ""
    label: str | int | float | None = None
    tokens: tuple[str, ...] | None = None
    split: Split | None = None
    query: str | tuple[str, ...] | None = None
    rationale: tuple[bool, ...] | None = None
    id: str | None = None
    sentences: tuple[int, ...] | int | None = None


@dataclass(frozen=True)
class RawCorpus:
    """A reader's rows with all that `assemble` needs to make a Corpus from them.

    classes        names in the order of their indices; None: the labels that occur, sorted
    length_filter  (min, max) for `strict_length_filter`; None: the shortest or longest of each split
    drop_missing   leave out rows without a label instead of refusing them
    excerpts       slices (start, stop) of every text that are kept, in tokens; none: the whole text
    notes          what the reader itself did that a user should know
    """

    name: str
    rows: Sequence[RawExample]
    classes: tuple[str, ...] | None = None
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    min_df: int = 1
    source: str = ""
    citation: str = ""
    notes: tuple[str, ...] = ()
    length_filter: tuple[int | None, int | None] = (None, None)
    drop_missing: bool = False
    excerpts: Sequence[Sequence[int | None]] = ()
