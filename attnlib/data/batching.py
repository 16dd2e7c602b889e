"""Examples to padded tensors: Batch, and the vectoriser that makes batches from words."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from attnlib.data.preprocess import Preprocessing, sentence_starts
from attnlib.data.types import EOS_ID, PAD_ID, SOS_ID, UNK_ID, Example, Vocabulary
from attnlib.utils.errors import DataError

MAX_TOKENS = 2**15
"""Most padded positions of an inference batch: bounds memory for texts of thousands of words."""
NOISE = 0.1
"""Lengths are shaken by up to this share before training texts are put in buckets (as Jain & Wallace do)."""


@dataclass(frozen=True)
class Batch:
    """Padded texts as tensors. B texts, T positions, Q query positions.

    ids        (B, T) word or word-piece ids, 0 where padded
    mask       (B, T) bool: positions the encoder reads
    content    (B, T) bool: positions attention may look at and measures count, `mask` without special tokens
    words      (B, T) place in `Example.tokens` of the word a position belongs to, -1 for special tokens and padding
    rows       (B,) index of each text in the sequence the batch was made from
    labels     (B,) or None
    query, query_mask   (B, Q) or None
    sentences  (B, T) index of the sentence a position belongs to, or None where no model asked
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

    def until(self, length: int) -> Batch:
        """The first `length` positions of every text."""
        names = ("ids", "mask", "content", "words", "sentences")
        known = {name: value for name in names if (value := getattr(self, name)) is not None}
        return replace(self, **{name: value[:, :length] for name, value in known.items()})

    def _map(self, change: Callable[[Tensor], Tensor]) -> Batch:
        known = {f.name: value for f in fields(self) if (value := getattr(self, f.name)) is not None}
        return replace(self, **{k: v._map(change) if isinstance(v, Batch) else change(v) for k, v in known.items()})


@dataclass(frozen=True, slots=True)
class Encoded:
    """One text as arrays of its own length, before padding; the fields are those of Batch. label -1: unknown."""

    ids: np.ndarray
    content: np.ndarray
    words: np.ndarray
    label: int = -1
    query: np.ndarray | None = None
    sentences: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.ids)


class Vectoriser(ABC):
    """Examples to Batches. Subclasses say how texts are encoded; padding and bucketing are here.

    n_ids, pad_id, unk_id, mask_id  ids an embedding must hold (0 … n_ids - 1), and the special ones; `mask_id` may
                                    be n_ids itself: the extra row that masked-word training adds
    """

    kind: ClassVar[str]
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    n_ids: int
    mask_id: int
    preprocessing: Preprocessing

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Every text as arrays."""

    @abstractmethod
    def tokens(self, example: Example) -> list[str]:
        """The units the model sees at content positions, in order."""

    @abstractmethod
    def to_json(self) -> str:
        """All that is needed to make the same vectoriser again, with the key `kind`."""

    @classmethod
    @abstractmethod
    def from_values(cls, values: dict[str, Any]) -> Vectoriser:
        """The inverse of `to_json`, on the parsed values; `wordpieces.vectoriser_from_json` knows every kind."""

    def encode_one(self, example: Example) -> Encoded:
        return self.encode([example])[0]

    def batch(
        self, encoded: Sequence[Encoded | Example], rows: Sequence[int] | None = None, labels: bool = True
    ) -> Batch:
        """One padded batch of these texts, in this order. `rows`: their indices; by default 0, 1, …"""
        encoded = self._encoded(encoded)
        if not encoded:
            raise DataError("A batch needs at least one text.")
        tables = {"ids": self.pad_id, "content": False, "words": -1, "query": self.pad_id, "sentences": 0}
        for name, fill in tables.items():
            found = [getattr(text, name) for text in encoded]
            tables[name] = None if found[0] is None else padded(found, fill)
        numbers = np.array([text.label for text in encoded], dtype=np.int64)
        return Batch(
            **tables,
            mask=filled(map(len, encoded)),
            rows=torch.as_tensor(np.arange(len(encoded)) if rows is None else np.asarray(rows, dtype=np.int64)),
            labels=torch.from_numpy(numbers) if labels and (numbers >= 0).all() else None,
            query_mask=None if encoded[0].query is None else filled(len(text.query) for text in encoded),
        )

    def batches(
        self,
        items: Sequence[Example | Encoded],
        batch_size: int,
        shuffle_seed: int | Sequence[int] | None = None,
        labels: bool = True,
        max_tokens: int | None = None,
    ) -> Iterator[Batch]:
        """All texts once, in batches of similar length; `rows` of a batch holds the index of each text in `items`.

        shuffle_seed  None: longest first, so that memory runs out at once or not at all. A seed, such as
                      (seed, epoch): buckets of similar length with some noise, in random order
        max_tokens    most padded positions per batch, unless a single text is longer; by default 32,768, and with
                      shuffling no bound: the batch size is part of how one trains
        """
        if batch_size < 1:
            raise DataError(f"batch_size must be at least 1; got {batch_size}.")
        encoded = self._encoded(items)
        lengths = np.array(list(map(len, encoded)), dtype=float)
        if shuffle_seed is None:
            order = np.argsort(-lengths, kind="stable")
            groups = _bounded(order, lengths, batch_size, max_tokens or MAX_TOKENS)
        else:
            rng = np.random.default_rng(shuffle_seed)
            shaken = lengths * rng.uniform(1 - NOISE, 1 + NOISE, len(lengths))
            mixed = rng.permutation(len(lengths))  # ties are broken at random
            order = mixed[np.argsort(-shaken[mixed], kind="stable")]
            groups = _bounded(order, lengths, batch_size, max_tokens)
            groups = [groups[i] for i in rng.permutation(len(groups))]
        for rows in groups:
            yield self.batch([encoded[i] for i in rows], rows, labels)

    def _encoded(self, items: Sequence[Example | Encoded]) -> Sequence[Encoded]:
        return self.encode(items) if items and isinstance(items[0], Example) else items


@dataclass(eq=False)
class WordVectoriser(Vectoriser):
    """Words of a vocabulary as ids.

    sentences   give every position the number of its sentence (the example's own, else by rule)
    special     SOS before and EOS after the words: read by the encoder, never attended (Jain & Wallace)
    unattended  words that are read but never attended, as "." in TaSc; texts of nothing else are wholly attended
    """

    kind = "words"
    vocabulary: Vocabulary
    preprocessing: Preprocessing = Preprocessing()  # noqa: RUF009  immutable
    sentences: bool = False
    special: bool = False
    unattended: Sequence[str] = ()

    @property
    def n_ids(self) -> int:
        return len(self.vocabulary)

    @property
    def mask_id(self) -> int:
        return self.vocabulary.mask_id

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        return [self.encode_one(example) for example in examples]

    def encode_one(self, example: Example) -> Encoded:
        tokens = example.tokens
        ids = np.array(self.vocabulary.ids(tokens), dtype=np.int32)
        words = np.arange(len(tokens), dtype=np.int32)
        content = np.array([token not in self.unattended for token in tokens], dtype=bool)
        if not content.any():
            content[:] = True
        numbers = None
        if self.sentences:
            starts = sentence_starts(tokens) if example.sentences is None else example.sentences
            numbers = np.searchsorted(starts[1:], words, side="right").astype(np.int32)
        if self.special:
            ids, words = _around(ids, SOS_ID, EOS_ID), _around(words, -1, -1)
            content = _around(content, False, False)
            if numbers is not None:  # the closing sign belongs to the last sentence
                numbers = _around(numbers, 0, numbers[-1] if len(numbers) else 0)
        query = None if example.query is None else np.array(self.vocabulary.ids(example.query), dtype=np.int32)
        return Encoded(ids, content, words, example.label, query, numbers)

    def tokens(self, example: Example) -> list[str]:
        encoded = self.encode_one(example)
        return [example.tokens[i] for i in encoded.words[encoded.content]]

    def to_json(self) -> str:
        values = {
            "kind": self.kind,
            "vocabulary": json.loads(self.vocabulary.to_json()),
            "preprocessing": self.preprocessing.model_dump(mode="json"),
            **{name: getattr(self, name) for name in ("sentences", "special", "unattended")},
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> WordVectoriser:
        values = {k: v for k, v in values.items() if k != "kind"}
        vocabulary = Vocabulary.from_json(json.dumps(values.pop("vocabulary")))
        return cls(vocabulary, Preprocessing(**values.pop("preprocessing")), **values)


def padded(rows: Sequence[np.ndarray], fill: int | bool) -> Tensor:
    """(len(rows), longest row, at least 1): the rows one below the other, each followed by `fill`."""
    mask = filled(map(len, rows)).numpy()
    table = np.full(mask.shape, fill, dtype=bool if isinstance(fill, bool) else np.int64)
    table[mask] = np.concatenate(rows)
    return torch.from_numpy(table)


def filled(lengths: Iterable[int]) -> Tensor:
    """(rows, longest, at least 1) bool: which positions of rows of these lengths are no padding."""
    lengths = np.fromiter(lengths, np.int64)
    return torch.from_numpy(np.arange(max(1, lengths.max())) < lengths[:, None])


def _around(values: np.ndarray, before: int | bool, after: int | bool) -> np.ndarray:
    """The values with one before and one after them."""
    return np.concatenate([[before], values, [after]]).astype(values.dtype)


def _bounded(order: np.ndarray, lengths: np.ndarray, size: int, max_tokens: int | None) -> list[np.ndarray]:
    """Consecutive groups of `order`, each of at most `size` texts and `max_tokens` padded positions."""
    cuts, longest = [0], 1.0
    for i, length in enumerate(lengths[order]):
        longest = max(longest, length)
        n = i - cuts[-1]
        if n == size or (n and max_tokens is not None and longest * (n + 1) > max_tokens):
            cuts.append(i)
            longest = max(1.0, length)
    return np.split(order, cuts[1:]) if len(order) else []
