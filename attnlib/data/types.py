"""Example, Corpus and Batch: what every corpus is, whatever its source."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnlib.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from attnlib.data.preprocess import Preprocessing
    from attnlib.data.vocabulary import Vocabulary

SPLITS = ("train", "dev", "test")


@dataclass(frozen=True, slots=True)
class Example:
    """One text. `tokens` are preprocessed words; `label` indexes `Corpus.classes`.

    query      tokens of a question (QA) or a hypothesis (NLI), or None
    rationale  one bool a token: what a human (or the generator) marked as decisive, or None
    sentences  index of the first token of every sentence, or None where nobody said
    """

    tokens: tuple[str, ...]
    label: int
    query: tuple[str, ...] | None = None
    rationale: tuple[bool, ...] | None = None
    id: str = ""
    sentences: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if self.rationale is not None and len(self.rationale) != len(self.tokens):
            raise DataError(
                f"Example {self.id!r}: the rationale marks {len(self.rationale)} tokens, the text has "
                f"{len(self.tokens)}. Give one mark a token."
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def text(self) -> str:
        """The tokens joined by spaces, for display."""
        return " ".join(self.tokens)


@dataclass(frozen=True)
class Corpus:
    """Train, dev and test examples, their class names, and how texts became tokens.

    notes   what loading did that a reader should know: texts dropped, duplicates, leaks, own splits
    source  where it comes from; citation: what to cite
    min_df  words in fewer training texts than this become unknown
    """

    name: str
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    classes: tuple[str, ...]
    preprocessing: Preprocessing
    min_df: int = 1
    source: str = ""
    citation: str = ""
    notes: tuple[str, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """`classification`, or `query` where the texts carry one (QA, NLI)."""
        return "query" if self.train and self.train[0].query is not None else "classification"

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Words of the training texts (and queries) with a document frequency of at least `min_df`."""
        from attnlib.data.vocabulary import Vocabulary

        return Vocabulary.build(self.train, min_df=self.min_df)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over every example and class: part of a run's identity."""
        digest = hashlib.sha256(json.dumps([self.classes, self.min_df]).encode())
        for split, example in self.items():
            row = [split, example.tokens, example.label, example.query, example.rationale, example.sentences]
            digest.update(json.dumps(row, ensure_ascii=False).encode())
        return digest.hexdigest()

    def items(self) -> Iterator[tuple[str, Example]]:
        """Every example with the name of its split."""
        for split in SPLITS:
            for example in getattr(self, split):
                yield split, example

    def sample(self, n: int | None, *, seed: int = 0, splits: tuple[str, ...] = SPLITS) -> Corpus:
        """At most `n` examples of each named split, drawn without replacement; the rest unchanged."""
        if n is None:
            return self
        if n < 1:
            raise DataError(f"sample(n={n}): give at least one example a split, or None for all.")
        drawn = {}
        for k, split in enumerate(splits):
            examples = getattr(self, split)
            if len(examples) > n:
                rows = np.random.default_rng([seed, k]).choice(len(examples), n, replace=False)
                drawn[split] = tuple(examples[i] for i in sorted(rows))
        note = tuple(f"{split}: {n} of {len(getattr(self, split))} texts sampled (seed {seed})" for split in drawn)
        return replace(self, **drawn, notes=self.notes + note)

    def stats(self) -> pd.DataFrame:
        """One row a split: texts, mean and extreme lengths, share of each class; |V| from train."""
        import pandas as pd

        rows = []
        for split in SPLITS:
            examples = getattr(self, split)
            lengths = np.array([len(e) for e in examples]) if examples else np.array([0])
            counts = np.bincount([e.label for e in examples], minlength=len(self.classes))
            row = {
                "split": split,
                "texts": len(examples),
                "mean_words": float(lengths.mean()),
                "min_words": int(lengths.min()),
                "max_words": int(lengths.max()),
            }
            row |= {f"share_{c}": k / max(len(examples), 1) for c, k in zip(self.classes, counts, strict=True)}
            rows.append(row)
        frame = pd.DataFrame(rows)
        frame.insert(0, "dataset", self.name)
        frame["vocabulary"] = len(self.vocabulary)
        return frame

    def __repr__(self) -> str:
        sizes = "/".join(f"{len(getattr(self, s)):,}" for s in SPLITS)
        return f"Corpus({self.name!r}, {sizes} train/dev/test, classes: {', '.join(self.classes)})"


@dataclass(frozen=True)
class Batch:
    """Padded texts as tensors. B texts, T positions, Q query positions.

    ids        (B, T) word or word-piece ids, 0 where padded
    mask       (B, T) bool: positions the encoder reads
    content    (B, T) bool: positions attention may look at, a subset of `mask`; special tokens are not.
               Every measure counts these alone
    labels     (B,) or None
    query, query_mask   (B, Q) or None
    sentences  (B, T) index of the sentence a position belongs to, or None where no model asked
    words      (B, T) index into `Example.tokens` of the word a position belongs to, -1 for special
               tokens and padding
    rows       (B,) where each text stands in the sequence the batch was made from
    """

    ids: Tensor
    mask: Tensor
    content: Tensor
    words: Tensor
    rows: Tensor
    labels: Tensor | None = None
    query: Tensor | None = None
    query_mask: Tensor | None = None
    sentences: Tensor | None = None

    def __len__(self) -> int:
        return self.ids.shape[0]

    @property
    def lengths(self) -> Tensor:
        """(B,) positions the encoder reads."""
        return self.mask.sum(1)

    def to(self, device: torch.device | str) -> Batch:
        """The same batch on another device."""
        return self._map(lambda t: t.to(device, non_blocking=True))

    def select(self, rows: Tensor) -> Batch:
        """The batch of some of its texts, by index or bool mask; rows may repeat."""
        return self._map(lambda t: t[rows])

    def _map(self, change) -> Batch:
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return Batch(**{k: None if v is None else change(v) for k, v in values.items()})
