"""Examples to padded tensors: Batch, and the vectoriser that makes batches from words."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from attnlib.data.preprocess import Preprocessing, sentence_starts
from attnlib.data.texts import Example, Ragged, Texts, gathered, packed
from attnlib.data.vocabulary import EOS_ID, PAD_ID, SOS_ID, UNK_ID, Vocabulary
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
    content    (B, T) bool: positions attention may look at, a subset of `mask`; special tokens are not.
               Measures count only these
    labels     (B,) or None
    query, query_mask   (B, Q) or None
    sentences  (B, T) index of the sentence a position belongs to, or None where no model asked
    words      (B, T) index into `Example.tokens` of the word a position belongs to, -1 for special
               tokens and padding
    rows       (B,) index of each text in the sequence the batch was made from
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

    def _map(self, change) -> Batch:
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


@dataclass(frozen=True, eq=False)
class Packed(Sequence[Encoded]):
    """Encoded texts in a few arrays, one text after the other: text i is from ends[i] to ends[i + 1].

    Corpora may be too large for an object per text: an `Encoded` is made when it is asked for.
    """

    ids: np.ndarray
    content: np.ndarray
    words: np.ndarray
    ends: np.ndarray
    labels: np.ndarray
    query: Ragged | None = None
    sentences: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __getitem__(self, i: int | slice) -> Encoded | list[Encoded]:
        if isinstance(i, slice):
            return [self[place] for place in range(len(self))[i]]
        i = range(len(self))[i]
        part = slice(self.ends[i], self.ends[i + 1])
        query = None if self.query is None else self.query.row(i)
        sentences = None if self.sentences is None else self.sentences[part]
        return Encoded(self.ids[part], self.content[part], self.words[part], int(self.labels[i]), query, sentences)

    @classmethod
    def of(cls, texts: Sequence[Encoded]) -> Packed:
        """Texts that are arrays of their own, one after the other; all or none of them have a query."""
        query = None if texts[0].query is None else Ragged.of([e.query for e in texts])
        sentences = None if texts[0].sentences is None else np.concatenate([e.sentences for e in texts])
        ids = Ragged.of([e.ids for e in texts])
        parts = (np.concatenate(part) for part in zip(*((e.content, e.words) for e in texts), strict=True))
        labels = np.array([e.label for e in texts])
        return cls(ids.values, *parts, ids.ends, labels, query, sentences)

    def take(self, rows: np.ndarray) -> Packed:
        """Some of the texts, in the order of `rows`."""
        ends, places = gathered(self.ends[rows], self.ends[rows + 1])
        query = None if self.query is None else self.query.take(rows)
        sentences = None if self.sentences is None else self.sentences[places]
        parts = (self.ids[places], self.content[places], self.words[places])
        return Packed(*parts, ends, self.labels[rows], query, sentences)


class Vectoriser(ABC):
    """Turns Examples into Batches. Subclasses say how texts are encoded; padding and bucketing are here.

    n_ids, pad_id, unk_id, mask_id   ids an embedding must hold (0 … n_ids - 1), and the special ones.
                                     `mask_id` may be n_ids itself: the extra row that masked-word training adds
    """

    kind: ClassVar[str]
    pad_id: int = PAD_ID
    unk_id: int = UNK_ID
    n_ids: int
    mask_id: int
    preprocessing: Preprocessing

    @abstractmethod
    def encode(self, examples: Sequence[Example]) -> Sequence[Encoded]:
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
        """One text as arrays."""
        return self.encode([example])[0]

    def batch(
        self, encoded: Sequence[Encoded | Example], rows: Sequence[int] | None = None, labels: bool = True
    ) -> Batch:
        """One padded batch of these texts, in this order. `rows`: their indices; by default 0, 1, …"""
        if not len(encoded):
            raise DataError("A batch needs at least one text.")
        encoded = self._encoded(encoded)
        texts = encoded if isinstance(encoded, Packed) else Packed.of(encoded)
        lengths, query, numbers = np.diff(texts.ends), texts.query, texts.sentences
        known = labels and (texts.labels >= 0).all()
        return Batch(
            ids=padded(texts.ids, lengths, self.pad_id),
            mask=padded(True, lengths, False),
            content=padded(texts.content, lengths, False),
            words=padded(texts.words, lengths, -1),
            rows=torch.as_tensor(np.arange(len(texts)) if rows is None else np.asarray(rows, dtype=np.int64)),
            labels=torch.as_tensor(texts.labels, dtype=torch.int64) if known else None,
            query=None if query is None else padded(query.values, query.lengths, self.pad_id),
            query_mask=None if query is None else padded(True, query.lengths, False),
            sentences=None if numbers is None else padded(numbers, lengths, 0),
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

        shuffle_seed  None: in order of length, longest first, so that memory runs out at once or not at all.
                      A seed, such as (seed, epoch): buckets of similar length with some noise, in random order
        max_tokens    most padded positions per batch; by default 32,768 without shuffling, and no bound with
                      it (the batch size is part of how one trains). A single longer text is a batch of its own
        """
        if batch_size < 1:
            raise DataError(f"batch_size must be at least 1; got {batch_size}.")
        encoded = self._encoded(items)
        sizes = np.diff(encoded.ends) if isinstance(encoded, Packed) else list(map(len, encoded))
        lengths = np.asarray(sizes, dtype=float)
        if shuffle_seed is None:
            order = np.argsort(-lengths, kind="stable")
            groups = _bounded(order, lengths, batch_size, max_tokens or MAX_TOKENS)
        else:
            rng = np.random.default_rng(shuffle_seed)
            shaken = lengths * rng.uniform(1 - NOISE, 1 + NOISE, len(lengths))
            # Random ties first: texts of no length would otherwise keep their order.
            mixed = rng.permutation(len(lengths))
            order = mixed[np.argsort(-shaken[mixed], kind="stable")]
            groups = _bounded(order, lengths, batch_size, max_tokens)
            groups = [groups[i] for i in rng.permutation(len(groups))]
        for rows in groups:
            part = encoded.take(rows) if isinstance(encoded, Packed) else [encoded[i] for i in rows]
            yield self.batch(part, rows, labels)

    def _encoded(self, items: Sequence[Example | Encoded]) -> Sequence[Encoded]:
        if len(items) and isinstance(items[0], Example):
            return self.encode(items)
        return items


class WordVectoriser(Vectoriser):
    """Words of a vocabulary as ids.

    max_length  longer texts are cut
    sentences   give every position the number of its sentence (the example's own, else by rule)
    special     SOS before and EOS after the words: read by the encoder, never attended (Jain & Wallace)
    unattended  words that are read but never attended, such as (".",) for TaSc's. A text of nothing else is
                attended as a whole, since attention needs something to look at
    """

    kind = "words"

    def __init__(
        self,
        vocabulary: Vocabulary,
        preprocessing: Preprocessing | None = None,
        max_length: int | None = None,
        sentences: bool = False,
        special: bool = False,
        unattended: Sequence[str] = (),
    ) -> None:
        self.vocabulary = vocabulary
        self.preprocessing = preprocessing or Preprocessing()
        self.max_length = max_length
        self.sentences = sentences
        self.special = special
        self.unattended = tuple(unattended)

    @property
    def n_ids(self) -> int:
        return len(self.vocabulary)

    @property
    def mask_id(self) -> int:
        return self.vocabulary.mask_id

    def encode(self, examples: Sequence[Example]) -> Packed:
        """Every text as arrays, looked up word by word of the table of words, not of the texts."""
        texts = packed(examples)
        tokens = texts.tokens
        if self.max_length is not None and len(texts) and texts.lengths.max() > self.max_length:
            tokens = tokens.first(self.max_length)
        table = np.array(self.vocabulary.ids(texts.words), dtype=np.int32)
        ids, lengths = table[tokens.values], tokens.lengths
        content = np.ones(len(ids), dtype=bool)
        if self.unattended:
            seen = np.array([word not in self.unattended for word in texts.words], dtype=bool)
            content = seen[tokens.values]
            content |= np.repeat(~texts.holding(seen, tokens), lengths)  # of nothing else, all are attended
        words = np.arange(len(ids), dtype=np.int32)
        words -= np.repeat(tokens.ends[:-1].astype(np.int32), lengths)
        numbers = self._numbers(texts, tokens) if self.sentences else None
        ends = tokens.ends
        if self.special:
            ids, content = _around(ids, ends, SOS_ID, EOS_ID), _around(content, ends, False, False)
            words = _around(words, ends, -1, -1)
            if numbers is not None:  # the closing sign belongs to the last sentence; a text without words has one
                last = np.append(numbers, 0)[ends[1:] - 1]
                numbers = _around(numbers, ends, 0, np.where(lengths > 0, last, 0))
            ends = ends + 2 * np.arange(len(ends))
        query = texts.query
        if query is not None:
            query = Ragged(table[query.values], query.ends, query.there)
        return Packed(ids, content, words, ends, texts.labels, query, numbers)

    def _numbers(self, texts: Texts, tokens: Ragged) -> np.ndarray:
        """The sentence of every position."""
        numbers = np.zeros(len(tokens.values), dtype=np.int32)
        for i in range(len(texts)):
            own = None if texts.sentences is None else texts.sentences.row(i)
            part = slice(tokens.ends[i], tokens.ends[i + 1])
            if own is None:
                own = sentence_starts([texts.words[k] for k in tokens.values[part].tolist()])
            numbers[part] = np.searchsorted(own[1:], np.arange(part.stop - part.start), side="right")
        return numbers

    def tokens(self, example: Example) -> list[str]:
        encoded = self.encode_one(example)
        return [example.tokens[i] for i in encoded.words[encoded.content]]

    def to_json(self) -> str:
        values = {
            "kind": self.kind,
            "vocabulary": json.loads(self.vocabulary.to_json()),
            "preprocessing": self.preprocessing.model_dump(mode="json"),
            **{name: getattr(self, name) for name in ("max_length", "sentences", "special", "unattended")},
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> WordVectoriser:
        values = {k: v for k, v in values.items() if k != "kind"}
        vocabulary = Vocabulary.from_json(json.dumps(values.pop("vocabulary")))
        return cls(vocabulary, Preprocessing(**values.pop("preprocessing")), **values)


def padded(values: np.ndarray | bool, lengths: np.ndarray, fill: int | bool) -> Tensor:
    """(len(lengths), longest row, at least 1): rows of the flat `values` (or one value for all), then `fill`."""
    width = max(1, int(lengths.max()))
    table = np.full((len(lengths), width), fill, dtype=bool if isinstance(fill, bool) else np.int64)
    table[np.arange(width) < lengths[:, None]] = values
    return torch.from_numpy(table)


def _around(values: np.ndarray, ends: np.ndarray, before: int, after: int | np.ndarray) -> np.ndarray:
    """Every row of `values` with a value before and one after it; `after` may differ from row to row."""
    with_first = np.insert(values, ends[:-1], before)
    places = ends[1:] + np.arange(1, len(ends))
    return np.insert(with_first, places, after)


def _bounded(order: np.ndarray, lengths: np.ndarray, size: int, max_tokens: int | None) -> list[np.ndarray]:
    """Consecutive groups of `order`, each of at most `size` texts and `max_tokens` padded positions."""
    groups: list[np.ndarray] = []
    start, longest = 0, 1.0
    for i in range(len(order)):
        longest = max(longest, lengths[order[i]])
        full = i - start == size
        if i > start and (full or (max_tokens is not None and longest * (i - start + 1) > max_tokens)):
            groups.append(order[start:i])
            start, longest = i, max(1.0, lengths[order[i]])
    if start < len(order):
        groups.append(order[start:])
    return groups
