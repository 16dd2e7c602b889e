"""Words and their ids."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from attnlib.data.texts import packed
from attnlib.utils.errors import DataError

PAD, UNK, SOS, EOS = "<pad>", "<unk>", "<sos>", "<eos>"
SPECIAL = (PAD, UNK, SOS, EOS)
PAD_ID, UNK_ID, SOS_ID, EOS_ID = range(4)


class Vocabulary:
    """Ids of words: PAD 0, UNK 1, SOS 2, EOS 3, then the words.

    `len(vocabulary)` counts all of them. `words[i]` is the word of id i. `counts[i]` is the number of training
    texts that hold it (0 for the special ones). A word of a text that looks like a special one ("<pad>") is an
    ordinary word, with an id of its own where it is frequent enough.
    """

    def __init__(self, words: Sequence[str], counts: Sequence[int]) -> None:
        """words, counts: without the special ones."""
        if len(words) != len(counts):
            raise DataError(f"A vocabulary needs one count per word; got {len(words)} words, {len(counts)} counts.")
        self.words: tuple[str, ...] = (*SPECIAL, *words)
        self.counts: tuple[int, ...] = (0,) * len(SPECIAL) + tuple(counts)
        self._ids = {word: i for i, word in enumerate(words, start=len(SPECIAL))}
        if len(self._ids) != len(words):
            raise DataError("A vocabulary must not hold a word twice.")

    @classmethod
    def build(cls, examples: Iterable[Any], min_df: int = 1) -> Vocabulary:
        """Words that occur in at least `min_df` of the examples, the most frequent first, ties by alphabet.

        A text counts once however often it repeats a word (the document frequency of scikit-learn's
        CountVectorizer, which Jain & Wallace use); a text's query counts as part of it.
        """
        texts = packed(examples)
        found = zip(texts.words, texts.documents().tolist(), strict=True)
        kept = sorted(((w, n) for w, n in found if n >= max(min_df, 1)), key=lambda item: (-item[1], item[0]))
        return cls([w for w, _ in kept], [n for _, n in kept])

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """One id per token; UNK for unknown words."""
        get = self._ids.get
        return [get(token, UNK_ID) for token in tokens]

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

    def __repr__(self) -> str:
        return f"Vocabulary({len(self):,} ids: {', '.join(self.words[4:9])}, …)"

    def to_json(self) -> str:
        """Words and counts, without the special ones."""
        n = len(SPECIAL)
        return json.dumps({"words": self.words[n:], "counts": self.counts[n:]}, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Vocabulary:
        """The inverse of `to_json`."""
        try:
            values = json.loads(text)
            return cls(values["words"], values["counts"])
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(f"This is not a saved vocabulary: {error}.") from None
