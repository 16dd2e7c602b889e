"""Example, one text; and Texts, many of them in little memory: words as numbers in one array.

A tuple of Examples takes about 2.7 KB per short text; here a text of twenty words takes about 120 bytes, so that a
million of them fit in a laptop. `Texts` behaves like a tuple of Examples, which it equals where the texts do; an
Example is made when it is asked for.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from attnlib.utils.errors import DataError

BLOCK = 4096
"""Texts that are turned into Examples at once."""


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
            raise DataError(
                f"Example {self.id!r}: the rationale marks {len(self.rationale)} tokens, the text has "
                f"{len(self.tokens)}. Give one mark per token."
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def text(self) -> str:
        """The tokens joined by spaces, for display."""
        return " ".join(self.tokens)


@dataclass(frozen=True)
class Ragged:
    """Rows of different lengths in one array: row i is `values[ends[i] : ends[i + 1]]`; None if not `there[i]`."""

    values: np.ndarray
    ends: np.ndarray
    there: np.ndarray | None = None

    @property
    def lengths(self) -> np.ndarray:
        return np.diff(self.ends)

    def row(self, i: int) -> np.ndarray | None:
        if self.there is not None and not self.there[i]:
            return None
        return self.values[self.ends[i] : self.ends[i + 1]]

    def lists(self, start: int, stop: int) -> Iterator[list | None]:
        """The rows from start to stop."""
        ends = self.ends[start : stop + 1]
        flat, cuts = self.values[ends[0] : ends[-1]].tolist(), (ends - ends[0]).tolist()
        there = [True] * (stop - start) if self.there is None else self.there[start:stop].tolist()
        for a, b, ok in zip(cuts, cuts[1:], there, strict=False):
            yield flat[a:b] if ok else None

    @classmethod
    def of(cls, rows: Sequence[np.ndarray]) -> Ragged:
        """Rows that are arrays of their own."""
        return cls(np.concatenate(rows), np.concatenate([[0], np.cumsum([len(row) for row in rows])]))

    def first(self, n: int) -> Ragged:
        """At most n values of every row."""
        starts = self.ends[:-1]
        return self._gathered(starts, np.minimum(starts + n, self.ends[1:]), self.there)

    def take(self, rows: np.ndarray) -> Ragged:
        """Some of the rows."""
        there = None if self.there is None else self.there[rows]
        return self._gathered(self.ends[rows], self.ends[rows + 1], there)

    def _gathered(self, starts: np.ndarray, stops: np.ndarray, there: np.ndarray | None) -> Ragged:
        ends, places = gathered(starts, stops)
        return Ragged(self.values[places], ends, there)


def gathered(starts: np.ndarray, stops: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Ends and places of rows that lie at starts[i] to stops[i] of an array, one after the other."""
    lengths = stops - starts
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.arange(ends[-1])
    places -= np.repeat(ends[:-1] - starts, lengths)
    return ends, places


@dataclass(frozen=True, eq=False, repr=False)
class Texts(Sequence[Example]):
    """Examples, packed.

    words      the distinct words, one list for all splits of a corpus; `tokens` and `query` hold places in it
    labels     (n,) indices of classes
    ids        what the texts are called
    query, rationale, sentences   None where no text has them
    """

    words: Sequence[str]
    tokens: Ragged
    labels: np.ndarray
    ids: Sequence[str]
    query: Ragged | None = None
    rationale: Ragged | None = None
    sentences: Ragged | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def lengths(self) -> np.ndarray:
        """(n,) tokens of every text."""
        return self.tokens.lengths

    def __getitem__(self, place: int | slice) -> Example | Texts:
        if isinstance(place, slice):
            return self.take(np.arange(len(self))[place])
        i = range(len(self))[place]
        return next(self._made(i, i + 1))

    def __iter__(self) -> Iterator[Example]:
        return chain.from_iterable(self._made(i, min(i + BLOCK, len(self))) for i in range(0, len(self), BLOCK))

    def _made(self, start: int, stop: int) -> Iterator[Example]:
        word = self.words.__getitem__
        empty: list[None] = [None] * (stop - start)
        columns = [
            empty if part is None else part.lists(start, stop)
            for part in (self.tokens, self.query, self.rationale, self.sentences)
        ]
        labels, ids = self.labels[start:stop].tolist(), self.ids[start:stop]
        for tokens, query, marks, starts, label, name in zip(*columns, labels, ids, strict=True):
            yield Example(
                tuple(map(word, tokens)),
                label,
                None if query is None else tuple(map(word, query)),
                None if marks is None else tuple(marks),
                name,
                None if starts is None else tuple(starts),
            )

    def take(self, rows: Sequence[int] | np.ndarray) -> Texts:
        """Some of the texts, in the order of `rows`."""
        rows = np.asarray(rows, dtype=np.int64)
        ragged = (self.query, self.rationale, self.sentences)
        parts = [None if part is None else part.take(rows) for part in ragged]
        ids = [self.ids[i] for i in rows.tolist()]
        return Texts(self.words, self.tokens.take(rows), self.labels[rows], ids, *parts)

    def readable(self, *, query: bool) -> bool:
        """Whether there are texts, none is empty, and all of them have a query or, where none is read, none has."""
        asked = self.query is not None and self.query.there is None and bool(self.query.lengths.min())
        return bool(len(self) and self.lengths.min()) and (asked if query else self.query is None)

    def documents(self) -> np.ndarray:
        """(words,) how many texts hold each word, in their tokens or their query."""
        counts = np.zeros(len(self.words), dtype=np.int64)
        for start in range(0, len(self), BLOCK):
            stop = min(start + BLOCK, len(self))
            pairs = []
            for part in (self.tokens, self.query):
                if part is not None:
                    ends = part.ends[start : stop + 1]
                    rows = np.repeat(np.arange(stop - start), np.diff(ends))
                    pairs.append(rows * len(self.words) + part.values[ends[0] : ends[-1]])
            counts += np.bincount(np.unique(np.concatenate(pairs)) % len(self.words), minlength=len(self.words))
        return counts

    def holding(self, known: np.ndarray, tokens: Ragged | None = None) -> np.ndarray:
        """(n,) whether a text has a token of which `known` (words,) is true; `tokens`: others than its own."""
        tokens = tokens or self.tokens
        hits = np.zeros(len(tokens.values) + 1, dtype=np.int32)
        np.cumsum(known[tokens.values], out=hits[1:])
        return hits[tokens.ends[1:]] > hits[tokens.ends[:-1]]

    def keys(self) -> Iterator[tuple[bytes, bytes | None]]:
        """For every text what texts of the same tokens and query share, among those with the same `words`."""
        for i in range(len(self)):
            query = None if self.query is None else self.query.row(i)
            yield self.tokens.row(i).tobytes(), None if query is None else query.tobytes()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence) or isinstance(other, str):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]

    def __add__(self, other: Iterable[Example]) -> tuple[Example, ...]:
        return (*self, *other)

    def __radd__(self, other: Iterable[Example]) -> tuple[Example, ...]:
        return (*other, *self)

    def __repr__(self) -> str:
        return f"Texts({len(self):,} texts, {len(self.tokens.values):,} tokens)"


class Packer:
    """Packs Examples as they come. Texts of one packer share their words."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}
        self.words: list[str] = []

    def pack(self, examples: Iterable[Example]) -> Texts:
        """The examples as Texts; they are read once, and none is kept."""
        tokens, query, rationale, sentences = (_Column(kind) for kind in "iiBi")
        labels, ids = array("i"), []
        for example in examples:
            tokens.add(map(self._place, example.tokens))
            query.add(None if example.query is None else map(self._place, example.query))
            rationale.add(example.rationale)
            sentences.add(example.sentences)
            labels.append(example.label)
            ids.append(example.id)
        parts = [column.ragged() for column in (query, rationale, sentences)]
        numbers = np.frombuffer(labels, dtype=np.int32) if labels else np.zeros(0, np.int32)
        return Texts(self.words, tokens.ragged() or _NONE, numbers, ids, *parts)

    def _place(self, word: str) -> int:
        place = self.places.get(word)
        if place is None:
            place = self.places[word] = len(self.words)
            self.words.append(word)
        return place


class _Column:
    """One field of many Examples, of numbers ("i") or marks ("B")."""

    def __init__(self, kind: str) -> None:
        self.kind, self.values, self.ends, self.there = kind, array(kind), array("q", [0]), array("B")

    def add(self, row: Iterable[int] | None) -> None:
        if row is not None:
            self.values.extend(row)
        self.ends.append(len(self.values))
        self.there.append(row is not None)

    def ragged(self) -> Ragged | None:
        """None where no Example has the field."""
        there = np.frombuffer(self.there, dtype=bool) if self.there else np.zeros(0, bool)
        if not there.any():
            return None
        kind = bool if self.kind == "B" else np.int32
        values = np.frombuffer(self.values, dtype=kind) if self.values else np.zeros(0, kind)
        return Ragged(values, np.frombuffer(self.ends, dtype=np.int64), None if there.all() else there)


_NONE = Ragged(np.zeros(0, np.int32), np.zeros(1, np.int64))


def packed(examples: Iterable[Example]) -> Texts:
    """These examples packed, if they are not already."""
    return examples if isinstance(examples, Texts) else Packer().pack(examples)
