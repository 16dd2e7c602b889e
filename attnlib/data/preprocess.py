"""Text to words, by the cleaning and tokenising of Jain & Wallace as named steps; words to sentences, by a rule."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Literal

from attnlib.config import Config

DIGITS = "qqq"
"""What Jain & Wallace write for every word that holds a digit."""
LONGEST = 64
"""Letters of a word: longer ones are links or garbage, and are cut."""
RUN = 2_000
"""Letters and signs without a blank that are tokenised at once: only links and garbage are that long."""
ENDS = frozenset((".", "!", "?", "…", "...", "....", "?!", "!?", "!!", "??"))
CLOSING = frozenset(('"', "'", "''", "”", "’", "»", ")", "]", "}"))
_ENDLESS = re.compile(rf"\S{{{RUN + 1},}}")
_SPACE = re.compile(r"\s+")
_NOT_WORD = re.compile(r"\W")
_RUN = re.compile(r"(\W)+")
_DEIDENTIFIED = re.compile(r"\[\*\*.*?\*\*\]", re.DOTALL)
_REPEATED = re.compile(r"([^a-zA-Z0-9\s])(\s*\1)+")


class Preprocessing(Config):
    """How a text becomes words. The steps run in this order; all of them are deterministic.

    1. Unicode NFKC; control and zero-width characters become spaces or vanish; runs of white space become one.
    2. `clean`: `sst` deletes "-LRB-", turns "-RRB-" and then every `\\W` into a space; `mimic` turns `[** … **]`
       into `<DE>` and collapses repeated signs ("----" to "-").
    3. spaCy's blank English tokeniser (rules only).
    4. `lower`, then `digits`: with `qqq`, every word that holds a digit becomes "qqq".
    5. `punctuation`: `drop` leaves out words without a letter or digit; `last_of_run` is what Jain & Wallace do to
       20 Newsgroups, `(\\W)+` to ` \\1 ` on the joined words: signs between words vanish, signs within split.
    """

    clean: Literal["none", "sst", "mimic"] = "none"
    lower: bool = True
    digits: Literal["keep", "qqq"] = "keep"
    punctuation: Literal["keep", "drop", "last_of_run"] = "keep"

    def tokens(self, text: str) -> tuple[str, ...]:
        """The words of a text, none of them empty; no word at all for a blank text."""
        words = [self._word(token) for token in _spacy()(self._cleaned(text)) if token and not token.isspace()]
        if self.punctuation == "drop":
            words = [word for word in words if any(map(str.isalnum, word))]
        elif self.punctuation == "last_of_run":
            words = _RUN.sub(r" \1 ", " ".join(words)).split()
        return tuple(words)

    def words(self, tokens: Iterable[str]) -> tuple[str, ...]:
        """Ready-made tokens, each through the steps that keep one token one word.

        A token that holds nothing after cleaning comes back as an empty string, so that marks of the
        tokens stay aligned; the caller drops both.
        """
        found = []
        for token in tokens:
            word = "" if token is None else self._cleaned(str(token)).replace(" ", "_")
            if self.punctuation == "drop" and not any(map(str.isalnum, word)):
                word = ""
            found.append(self._word(word))
        return tuple(found)

    def _cleaned(self, text: str) -> str:
        text = _normalised(text)
        if self.clean == "sst":
            text = _NOT_WORD.sub(" ", text.replace("-LRB-", "").replace("-RRB-", " "))
        elif self.clean == "mimic":
            text = _REPEATED.sub(r"\1 ", _DEIDENTIFIED.sub(" <DE> ", text))
        return _SPACE.sub(" ", text).strip()

    def _word(self, token: str) -> str:
        if self.lower:
            token = token.lower()
        if self.digits == "qqq" and any(map(str.isdigit, token)):
            return DIGITS
        return token[:LONGEST]


def sentence_starts(tokens: Sequence[str]) -> tuple[int, ...]:
    """Index of the first token of every sentence; the first is 0, and no sentence is empty.

    A sentence ends with . ! ? or … (any run of them) and the closing quotes and brackets after it. A text
    without an end mark is one sentence; a text of end marks alone is one sentence too. No token: no sentence.
    """
    if not tokens:
        return ()
    starts = [0]
    ended = wordy = False
    for i, token in enumerate(tokens):
        if token in ENDS or (token and not token.strip(".!?…")):
            # Marks at the very start close nothing: they belong to the sentence that follows.
            ended = wordy
        elif ended and token not in CLOSING:
            starts.append(i)
            ended = False
        wordy = wordy or not (token in ENDS or token in CLOSING)
    return tuple(starts)


def _normalised(text: str) -> str:
    if text.isascii() and text.isprintable():
        return text
    text = unicodedata.normalize("NFKC", text)
    # Cc are control characters (tabs and line ends among them), Cs lone surrogates, Cf zero-width and
    # direction marks, Co and Cn private or unassigned: none of them is part of a word.
    return "".join(_REPLACED.get(unicodedata.category(c), c) for c in text)


_REPLACED = {"Cc": " ", "Cs": " ", "Co": " ", "Cn": " ", "Cf": "", "Zl": " ", "Zp": " ", "Zs": " "}


@cache
def _spacy() -> Callable[[str], list[str]]:
    import spacy
    from spacy.symbols import ORTH

    tokenizer = spacy.blank("en").tokenizer
    tokenizer.add_special_case("<DE>", [{ORTH: "<DE>"}])
    return lambda text: [token.text for token in tokenizer(_ENDLESS.sub(_shorter, text))]


def _shorter(match: re.Match[str]) -> str:
    """A run of characters without a blank, in pieces: the tokeniser's time grows with the square of its length."""
    run = match[0]
    if run.isalnum():
        return run[:RUN]
    return " ".join(run[i : i + RUN] for i in range(0, len(run), RUN))
