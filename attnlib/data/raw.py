"""What a reader hands over: rows as they were found, before any text became words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from attnlib.data.preprocess import Preprocessing

Split = Literal["train", "dev", "test"]
Spans = Sequence[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class RawExample:
    """One row. Either `text`, or `tokens` where the source is tokenised.

    label      class name, or a number: an index into `RawCorpus.classes` where those are given
    split      None where the source has none; `assemble` then splits
    query      question (QA) or hypothesis (NLI), as text or as tokens
    rationale  one bool a token (with `tokens`), or character spans [start, end) of `text`
    id         None: one is made from split and row
    sentences  index of the first token of every sentence (with `tokens`)
    """

    text: str = ""
    label: str | int | float | None = None
    tokens: tuple[str, ...] | None = None
    split: Split | None = None
    query: str | tuple[str, ...] | None = None
    rationale: tuple[bool, ...] | Spans | None = None
    id: str | None = None
    sentences: tuple[int, ...] | None = None


@dataclass(frozen=True)
class RawCorpus:
    """A reader's rows with all that `assemble` needs to make a Corpus of them.

    classes        names in the order of their indices; None: the labels that occur, sorted
    length_filter  (min, max) for `strict_length_filter`; None: the shortest or longest of each split
    drop_missing   leave out rows without a label instead of refusing them
    notes          what the reader itself did that one should know
    """

    name: str
    rows: list[RawExample]
    classes: tuple[str, ...] | None = None
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    min_df: int = 1
    source: str = ""
    citation: str = ""
    notes: tuple[str, ...] = ()
    length_filter: tuple[int | None, int | None] = (None, None)
    drop_missing: bool = False
