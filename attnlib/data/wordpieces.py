"""Word pieces for pretrained encoders: the same batches as words give, with each piece tied to its word."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.data.batching import Encoded, Vectoriser, WordVectoriser
from attnlib.data.checks import DataWarning
from attnlib.data.preprocess import Preprocessing
from attnlib.data.pretrained import pinned, reading
from attnlib.data.readers import packaged
from attnlib.data.types import Example
from attnlib.utils.errors import ConfigError, DataError, unknown
from attnlib.utils.extras import needs

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer
    from transformers import PreTrainedTokenizerFast

LONGEST = 512
"""Pieces a text may have where neither the tokeniser nor the model says."""
Loaded = tuple["Tokenizer", dict[str, str | None], int]
"""A tokeniser, its special tokens by role, and how many pieces its model reads."""
CHUNK = 1024
"""Texts tokenised at once."""


class WordPieceVectoriser(Vectoriser):
    """Words cut into the pieces of a pretrained tokeniser (WordPiece of BERT, BPE of RoBERTa).

    pretrained     `minilm` (packaged), a folder that `save_pretrained` wrote, or a hub id
    preprocessing  how a typed text becomes words, before those become pieces

    Texts are cut to what the model can read. Special tokens ([CLS], [SEP]) are read by the encoder (`mask`), never
    attended (`content`). A word without any piece (a sign the tokeniser drops) has no position; a text of such
    words alone is one unknown piece.
    """

    kind = "wordpieces"

    def __init__(
        self,
        pretrained: str | Path = "minilm",
        preprocessing: Preprocessing | None = None,
        *,
        loaded: Loaded | None = None,
    ) -> None:
        """loaded: the tokeniser, if it is loaded already, as in `from_values`; otherwise it is read."""
        self.pretrained = str(pretrained)
        self._tokenizer, self._special, self.max_length = loaded or _load(self.pretrained)
        self.preprocessing = preprocessing or Preprocessing()
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(self.max_length)
        self.pad_id = self._id("pad")
        self.unk_id = self._id("unk")

    @property
    def n_ids(self) -> int:
        return self._tokenizer.get_vocab_size(with_added_tokens=True)

    @property
    def mask_id(self) -> int:
        return self._id("mask")

    def encode(self, examples: Sequence[Example]) -> list[Encoded]:
        """Every text as arrays of pieces; texts that had to be cut are counted, with a warning."""
        encoded: list[Encoded] = []
        cut = 0
        for start in range(0, len(examples), CHUNK):
            part = examples[start : start + CHUNK]
            pieces = self._pieces([example.tokens for example in part])
            asked = self._pieces([example.query or () for example in part])
            cut += sum(bool(found.overflowing) for found in pieces)
            encoded += map(self._encoded_one, part, pieces, asked)
        if cut:
            told = f"{cut:,} of {len(examples):,} texts have more than {self.max_length} word pieces and were cut."
            warnings.warn(told, DataWarning, stacklevel=2)
        return encoded

    def tokens(self, example: Example) -> list[str]:
        """The pieces at content positions, as the tokeniser writes them ("##ing")."""
        encoded = self._encoded_one(example, *self._pieces([example.tokens, ()]))  # no warning of a cut
        return [self._tokenizer.id_to_token(int(i)) for i in encoded.ids[encoded.content]]

    def to_json(self) -> str:
        """The name of the pretrained model and the tokeniser itself: loading needs neither files nor network."""
        values = {
            "kind": self.kind,
            "pretrained": self.pretrained,
            "max_length": self.max_length,
            "preprocessing": self.preprocessing.model_dump(mode="json"),
            "special": self._special,
            "tokenizer": json.loads(self._tokenizer.to_str()),
        }
        return json.dumps(values, ensure_ascii=False)

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> WordPieceVectoriser:
        from tokenizers import Tokenizer

        loaded = (Tokenizer.from_str(json.dumps(values["tokenizer"])), values["special"], values["max_length"])
        return cls(values["pretrained"], Preprocessing(**values["preprocessing"]), loaded=loaded)

    def _pieces(self, texts: Sequence[Sequence[str]]) -> list[Encoding]:
        return self._tokenizer.encode_batch([list(words) for words in texts], is_pretokenized=True)

    def _encoded_one(self, example: Example, found: Encoding, asked: Encoding) -> Encoded:
        ids = np.array(found.ids, dtype=np.int64)
        content = np.array(found.special_tokens_mask, dtype=np.int64) == 0
        words = np.array([-1 if w is None else w for w in found.word_ids], dtype=np.int64)
        if not content.any():
            # between the opening and the closing token: attention needs something to look at
            middle = (len(ids) + 1) // 2
            ids, content = np.insert(ids, middle, self.unk_id), np.insert(content, middle, True)
            words = np.insert(words, middle, 0)
        query = None if example.query is None else np.array(asked.ids, dtype=np.int64)
        return Encoded(ids, content, np.where(content, words, -1), example.label, query)

    def _id(self, role: str) -> int:
        name = self._special.get(role)
        found = None if name is None else self._tokenizer.token_to_id(name)
        if found is None:
            raise ConfigError(f"The tokeniser of {self.pretrained!r} has no {role} token, which is needed here.")
        return found


def vectoriser_from_json(text: str) -> Vectoriser:
    """The vectoriser that `to_json` wrote, of whichever kind."""
    values = json.loads(text)
    kinds = {cls.kind: cls for cls in (WordVectoriser, WordPieceVectoriser)}
    if (kind := values.get("kind")) not in kinds:
        raise DataError(unknown("kind of vectoriser", kind, kinds))
    return kinds[kind].from_values(values)


def fast_tokenizer(place: str, name: str, **options: Any) -> PreTrainedTokenizerFast:
    """The tokeniser of a folder or hub id, which must know words and tie pieces to their places."""
    needs("transformers", "hub")
    from transformers import AutoTokenizer

    with reading("tokeniser", place):
        tokenizer = AutoTokenizer.from_pretrained(place, trust_remote_code=False, **options)
    if len(tokenizer) <= len(tokenizer.all_special_tokens):
        # without its files, the library makes a tokeniser that knows no word
        raise ConfigError(f"The tokeniser of {name!r} has no words: tokenizer.json or the vocabulary is missing.")
    if not tokenizer.is_fast:
        raise ConfigError(
            f"The tokeniser of {name!r} has no fast version (tokenizer.json), which ties pieces to words."
        )
    return tokenizer


def longest_text(tokenizer: PreTrainedTokenizerFast, positions: int | None) -> int:
    """Pieces a model reads: what its tokeniser says or its positions allow, whichever is less."""
    return min((n for n in (tokenizer.model_max_length, positions) if n and 0 < n < 10**6), default=LONGEST)


def _load(pretrained: str) -> Loaded:
    place, revision = pinned(str(packaged.minilm()) if pretrained == "minilm" else pretrained)
    # byte-level tokenisers see words only where a space is put before each
    tokenizer = fast_tokenizer(place, pretrained, add_prefix_space=True, **revision)
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(place, trust_remote_code=False, **revision)
        positions = getattr(config, "max_position_embeddings", None)
    except (OSError, ValueError):
        positions = None  # a tokeniser saved on its own
    special = {role: getattr(tokenizer, f"{role}_token") for role in ("pad", "unk", "mask")}
    return tokenizer.backend_tokenizer, special, longest_text(tokenizer, positions)
