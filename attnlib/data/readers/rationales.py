"""What a human marked, in the forms people write it: character spans, 0 and 1 for each word, or passages."""

from __future__ import annotations

from numbers import Real
from typing import Any

from attnlib.data.readers.files import read_json
from attnlib.utils.errors import DataError

FORMS = (
    "a rationale is a list of character spans [[0, 4], [9, 14]], of 0 and 1 for every word [0, 1, 0], or of "
    'passages of the text ["so good"]'
)


def read_rationale(
    marks: Any, text: str, tokens: tuple[str, ...] | None, where: str
) -> tuple[tuple[str, ...] | None, Any]:
    """Tokens (where the marks are by token) and marks, in the form that RawExample takes."""
    if isinstance(marks, str):
        marks = _parsed(marks.strip(), where)
    if not isinstance(marks, list | tuple):
        raise DataError(f"{where}: {FORMS}; got {str(marks)[:60]!r}.")
    if all(isinstance(m, list | tuple) and len(m) == 2 for m in marks):
        if tokens is not None and marks:
            raise DataError(
                f"{where}: character spans need a text, not a list of tokens. Give 0 or 1 for each token."
            )
        return tokens, [False] * len(tokens) if tokens is not None else [check_span(m, text, where) for m in marks]
    if all(isinstance(m, Real) and m in (0, 1) for m in marks):
        tokens = tuple(text.split()) if tokens is None else tokens
        if len(marks) != len(tokens):
            raise DataError(f"{where}: the rationale marks {len(marks)} words, the text has {len(tokens)}.")
        return tokens, tuple(bool(m) for m in marks)
    if all(isinstance(m, str) for m in marks) and tokens is None:
        return None, [span for passage in marks for span in _occurrences(passage, text, where)]
    raise DataError(f"{where}: {FORMS}; got {str(marks)[:60]!r}.")


def check_span(span: Any, text: str, where: str) -> tuple[int, int]:
    """Start and end of a span, whole numbers within the text."""
    try:
        start, end = span
        whole = int(start) == start and int(end) == end
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise DataError(
            f"{where}: a rationale over a text is a list of character spans (start, end), two whole numbers each; "
            f"got {str(span)[:60]!r}. Marks by token need the text as tokens."
        )
    if not 0 <= start <= end <= len(text):
        raise DataError(
            f"{where}: the span [{start}, {end}] lies outside the text, which has {len(text):,} characters. Count "
            "from 0, start before end."
        )
    return int(start), int(end)


def _parsed(marks: str, where: str) -> Any:
    if marks.startswith("["):
        return read_json(marks, f"{where}: the rationale {marks[:40]!r}")
    if marks.replace(" ", "").strip("01") == "":
        return [int(m) if m in ("0", "1") else m for m in marks.split()]
    return [marks]


def _occurrences(passage: str, text: str, where: str) -> list[tuple[int, int]]:
    spans, start = [], text.find(passage) if passage else -1
    if start < 0:
        raise DataError(f"{where}: the rationale {passage[:40]!r} does not occur in the text.")
    while start >= 0:
        spans.append((start, start + len(passage)))
        start = text.find(passage, start + len(passage))
    return spans
