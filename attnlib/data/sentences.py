"""Where sentences begin: a rule over tokens, for hierarchical models. No model, no language data."""

from __future__ import annotations

from collections.abc import Sequence

ENDS = frozenset((".", "!", "?", "…", "...", "....", "?!", "!?", "!!", "??"))
CLOSING = frozenset(('"', "'", "''", "”", "’", "»", ")", "]", "}"))


def sentence_starts(tokens: Sequence[str]) -> tuple[int, ...]:
    """Index of the first token of every sentence; the first is 0, and no sentence is empty.

    A sentence ends with . ! ? or … (any run of them) and the closing quotes and brackets behind it. A text
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


def sentence_index(starts: Sequence[int], length: int) -> list[int]:
    """For each of `length` tokens, the number of its sentence, from 0."""
    index, current, following = [], 0, iter([*starts[1:], length])
    nxt = next(following)
    for i in range(length):
        while i >= nxt:
            current += 1
            nxt = next(following)
        index.append(current)
    return index
