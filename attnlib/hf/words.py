"""Words of a text and the pieces a Hugging Face model reads: everything is explained at the level of words."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any
from unicodedata import category

import numpy as np
import torch
from torch import Tensor

from attnlib.data.batching import Batch, Encoded, Vectoriser, filled, padded
from attnlib.data.checks import DataWarning
from attnlib.data.preprocess import Preprocessing
from attnlib.data.types import Example
from attnlib.utils.errors import ConfigError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

CHUNK = 1024
"""Texts tokenised at once."""
PIECES = 2**13
"""Most padded pieces of a forward pass."""
CLOSING = frozenset(". , ; : ! ? ) ] } % … ... 's 're 've 'll 'd 'm n't ’s ’re ’ve ’ll ’d ’m n’t".split())
OPENING = frozenset("( [ {".split())
RUN = re.compile(r"\S+")
_HAN = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
UNSPACED = re.compile(f"[{_HAN}]|[^{_HAN}]+")
"""One Han or Kana character, or a run of others."""
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class RawText(Example):
    """A text as somebody wrote it, which the model reads unchanged; `tokens` are its words."""

    raw: str = ""

    @property
    def text(self) -> str:
        return self.raw


def raw_text(text: str, query: str | None = None) -> RawText:
    """A typed text (with its query) as an Example without a label."""
    words = tuple(text[start:end] for start, end in word_spans(text))
    return RawText(words, -1, None if query is None else (query,), raw=text)


def word_spans(text: str) -> list[Span]:
    """Runs without a blank, the signs at their ends apart ("!!!" is one); characters of Han and Kana are words."""
    spans: list[Span] = []
    for run in RUN.finditer(text):
        start, end = run.span()
        inner = [i for i in range(start, end) if category(text[i])[0] not in "PS"]
        first, last = (inner[0], inner[-1] + 1) if inner else (end, end)
        spans += _repeated(text, start, first)
        spans += [(first + part.start(), first + part.end()) for part in UNSPACED.finditer(text[first:last])]
        spans += _repeated(text, last, end)
    return spans


def _repeated(text: str, low: int, high: int) -> list[Span]:
    """Runs of one sign between two places."""
    runs = (list(same) for _, same in groupby(range(low, high), key=text.__getitem__))
    return [(run[0], run[-1] + 1) for run in runs]


def joined(words: Sequence[str]) -> tuple[str, list[Span]]:
    """The text of ready-made words and the span of each: blanks between them, except before closing signs."""
    text, spans = "", []
    for i, word in enumerate(words):
        if i and word not in CLOSING and words[i - 1] not in OPENING:
            text += " "
        spans.append((len(text), len(text) + len(word)))
        text += word
    return text, spans


@dataclass(frozen=True)
class PieceBatch(Batch):
    """Pieces as the model reads them. `words` (B, T): the unit a piece belongs to, or -1; `content`: pieces of
    units; `types` (B, T): token types, or None where the model has none."""

    types: Tensor | None = None


@dataclass(frozen=True)
class WordBatch(Batch):
    """Units of texts: words that have a piece. `ids` (B, W): the first piece of each; `pieces`: what is read."""

    pieces: PieceBatch | None = None


@dataclass(frozen=True, slots=True)
class EncodedPieces(Encoded):
    """One text: its units in the fields of Encoded, and its pieces."""

    piece_ids: np.ndarray = None
    owners: np.ndarray = None
    types: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.piece_ids)


@dataclass(frozen=True)
class Removal:
    """What becomes of a removed word: an operator for `engine.rows.Rows`.

    attention  no piece may attend to it, in any layer; it keeps its place, and its own states are still computed
    pad        it becomes padding: the model leaves it out as it leaves out padding
    delete     its pieces are taken out and the text closes up
    mask, unk  its pieces become that token
    """

    name: str
    token: int

    @property
    def stays(self) -> bool:
        return self.name in ("mask", "unk")

    def __call__(self, batch: WordBatch, removed: Tensor) -> PieceBatch:
        """The pieces of the texts without the `removed` (B, W) units."""
        pieces = batch.pieces
        gone = removed.gather(1, pieces.words.clamp_min(0)) & (pieces.words >= 0)
        ids = pieces.ids if self.name == "attention" else pieces.ids.masked_fill(gone, self.token)
        if self.stays:
            return replace(pieces, ids=ids)
        mask, types = pieces.mask & ~gone, pieces.types
        if self.name == "delete":
            order = torch.argsort((~mask).to(torch.uint8), dim=1, stable=True)
            ids, mask = ids.gather(1, order), mask.gather(1, order)
            types = None if types is None else types.gather(1, order)
            ids = ids.masked_fill(~mask, self.token)
        # A text of which nothing is left, not even a special token, is one piece of padding.
        empty = ~mask.any(1)
        ids = ids.masked_fill(empty.unsqueeze(1), self.token)
        mask[:, 0] |= empty
        return replace(pieces, ids=ids, mask=mask, types=types)


class HFVectoriser(Vectoriser):
    """Texts to words and pieces, by the tokeniser of a checkpoint.

    Pieces are tied to words by their places in the text; a word in which no piece begins is no unit. `truncated` is
    the number of texts that were cut in the last `encode`; `mask_id` and `unk_id` are -1 where there is none.
    """

    kind = "hf"

    def __init__(self, tokenizer: PreTrainedTokenizerFast, max_length: int, pad_id: int) -> None:
        self.tokenizer, self.max_length, self.pad_id = tokenizer, max_length, pad_id
        self.n_ids = len(tokenizer)
        special = (tokenizer.mask_token_id, tokenizer.unk_token_id)
        self.mask_id, self.unk_id = (-1 if token is None else token for token in special)
        self.preprocessing = Preprocessing(lower=False)
        self.truncated = 0

    def operators(self) -> dict[str, Removal]:
        """The ways to remove a word that this tokeniser allows, the default first."""
        tokens = {"mask": self.mask_id, "delete": self.pad_id, "pad": self.pad_id, "unk": self.unk_id}
        known = {name: Removal(name, token) for name, token in tokens.items() if token >= 0}
        return known | {"attention": Removal("attention", self.pad_id)}

    def encode(self, examples: Sequence[Example]) -> list[EncodedPieces]:
        """Every text as arrays; texts that had to be cut are counted, with a warning."""
        found: list[EncodedPieces] = []
        self.truncated = 0
        for start in range(0, len(examples), CHUNK):
            part = examples[start : start + CHUNK]
            read = [(e.raw, word_spans(e.raw)) if isinstance(e, RawText) else joined(e.tokens) for e in part]
            texts = [text for text, _ in read]
            pairs = None if part[0].query is None else [joined(e.query)[0] for e in part]
            pieces = self.tokenizer(texts, pairs, truncation=True, max_length=self.max_length, padding=False)
            for example, (_, spans), one in zip(part, read, pieces.encodings, strict=True):
                self.truncated += bool(one.overflowing)
                found.append(self._encoded_one(example, spans, one))
        if self.truncated:
            told = f"{self.truncated:,} of {len(examples):,} texts have more than {self.max_length} pieces"
            warnings.warn(f"{told} and were cut.", DataWarning, stacklevel=2)
        return found

    def tokens(self, example: Example) -> list[str]:
        """The words that are units."""
        return [example.tokens[i] for i in self.encode_one(example).words]

    def batches(self, items: Sequence, batch_size: int, *args: Any, **options: Any) -> Iterator[Batch]:
        return super().batches(items, batch_size, *args, **{"max_tokens": PIECES} | options)

    def batch(
        self, encoded: Sequence[Encoded | Example], rows: Sequence[int] | None = None, labels: bool = True
    ) -> WordBatch:
        encoded = self._encoded(encoded)
        units = super().batch(encoded, rows, labels)

        def table(name: str, fill: int) -> Tensor:
            return padded([getattr(e, name) for e in encoded], fill)

        owners = table("owners", -1)
        pieces = PieceBatch(
            ids=table("piece_ids", self.pad_id),
            mask=filled(map(len, encoded)),
            content=owners >= 0,
            words=owners,
            rows=units.rows,
            types=None if encoded[0].types is None else table("types", 0),
        )
        return WordBatch(**vars(units), pieces=pieces)

    def to_json(self) -> str:
        raise ConfigError("transformers saves a Hugging Face classifier: model.model.network.save_pretrained(…).")

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> HFVectoriser:
        raise ConfigError("A Hugging Face classifier is read by attnlib.load_model(FOLDER).")

    def _encoded_one(self, example: Example, spans: list[Span], one: Any) -> EncodedPieces:
        ids = np.array(one.ids, dtype=np.int64)
        inside = np.array([s == 0 for s in one.sequence_ids], dtype=bool)
        # the word that holds a piece's first character which is no blank; a blank alone belongs to the next word
        ends, starts = np.array([end for _, end in spans]), np.array([start for start, _ in one.offsets])
        word = np.minimum(np.searchsorted(ends, starts, side="right"), len(spans) - 1)
        word = np.where(inside, word, -1)
        typed = "token_type_ids" in self.tokenizer.model_input_names
        types = np.array(one.type_ids, dtype=np.int64) if typed else None
        if not inside.any():
            # Nothing of the text can be read: one unknown piece stands for its first word.
            middle = (len(ids) + 1) // 2
            unknown = self.unk_id if self.unk_id >= 0 else self.pad_id
            ids, word = np.insert(ids, middle, unknown), np.insert(word, middle, 0)
            types = None if types is None else np.insert(types, middle, 0)
        words, first = np.unique(word, return_index=True)
        units, first = words[words >= 0], first[words >= 0]
        owners = np.where(word >= 0, np.searchsorted(units, word), -1)
        read = {"piece_ids": ids, "owners": owners, "types": types}
        return EncodedPieces(ids[first], np.ones(len(units), bool), units, example.label, None, None, **read)
