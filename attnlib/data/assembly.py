"""From a reader's rows to a Corpus: labels, split, words, length filter, limit, vocabulary."""

from __future__ import annotations

import hashlib
import sys
import unicodedata
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import numpy as np

from attnlib.config import DataConfig
from attnlib.data.cached import cached, load, save
from attnlib.data.checks import LEAKED, DataWarning, check_classes, indexed, labelled, leaks, some
from attnlib.data.preprocess import Preprocessing
from attnlib.data.selection import excerpted, selected, usual_length
from attnlib.data.splits import drawn_splits
from attnlib.data.types import SPLITS, Corpus, Example, RawCorpus, RawExample, Vocabulary
from attnlib.utils.errors import DataError
from attnlib.utils.progress import progress

FEW = 500
"""Fewer texts than this are tokenised again every time."""


def assemble(raw: RawCorpus, config: DataConfig | None = None) -> Corpus:
    """A checked Corpus from a reader's rows.

    Labels are checked, splits drawn where none are given, texts tokenised, empty ones dropped; then come
    `strict_length_filter`, `limit` (a sample drawn with `seed`), `excerpts` and `max_length`. What was
    dropped, drawn or doubtful is in `Corpus.notes`. Costly ones are kept in the cache.
    """
    config = config or DataConfig(corpus=raw.name)
    if sum(row.tokens is None for row in raw.rows) < FEW:
        corpus = _assembled(raw, config)
    else:
        digest = hashlib.sha256(f"{_rules()} {replace(raw, rows=[])!r} {config!r}".encode())
        for row in raw.rows:
            digest.update(repr(row).encode())
        corpus = load(cached("corpora", digest.hexdigest(), lambda folder: save(_assembled(raw, config), folder)))
    for note in corpus.notes:
        if note.endswith(LEAKED):
            warnings.warn(f"{corpus.name}: {note}.", DataWarning, stacklevel=3)
    return corpus


@cache
def _rules() -> str:
    """What else decides the words: the code of this room, spaCy's rules and Unicode's tables."""
    code = [p.read_text(encoding="utf-8") for p in sorted(Path(__file__).parent.glob("*.py"))]
    return f"{hashlib.sha256(repr(code).encode()).hexdigest()} {version('spacy')} {unicodedata.unidata_version}"


def _assembled(raw: RawCorpus, config: DataConfig) -> Corpus:
    rows, notes = labelled(raw)
    rows = _named(raw.name, rows)
    splits, drawn = drawn_splits(raw.name, rows)
    classes, labels = indexed(raw, rows)
    notes = [*raw.notes, *notes, *drawn]
    min_df, longest, known, parts = config.min_df or raw.min_df, config.max_length, None, {}
    for split in SPLITS:
        members = [(row, label) for row, label, own in zip(rows, labels, splits, strict=True) if own == split]
        texts, told = _tokenised(raw, split, members, config)
        if split == "train" and config.strict_length_filter and config.limit is None:
            known = Vocabulary.build(texts.values(), min_df)  # Jain & Wallace count before they filter
        if config.strict_length_filter:
            texts, note = _filtered(raw, split, texts)
            told.append(note)
        if config.limit is not None and config.limit < len(members):
            texts = dict(islice(texts.items(), config.limit))
            told.append(f"{split}: {len(texts):,} of {len(members):,} texts sampled (seed {config.seed})")
        if not texts:
            raise DataError(
                f"{raw.name}: no text is left in {split}, of {len(members):,}. {'; '.join(told)}. Check the text "
                "column, the preprocessing, and that every class has at least three texts."
            )
        own = [texts[place] for place in sorted(texts)]
        if raw.excerpts:
            own = [excerpted(text, raw.excerpts) for text in own]
            kept = ", ".join(f"{a or 0}:{b or ''}" for a, b in raw.excerpts)
            told.append(f"{split}: of each text the tokens {kept}")
        if longest == "95%":  # train comes first, and decides for all
            longest = usual_length([len(text) for text in own])
        if longest is not None and (long := sum(len(text) > longest for text in own)):
            own = [excerpted(text, [(0, longest)]) for text in own]
            told.append(f"{long:,} {split} texts cut to {longest} words")
        parts[split], notes = tuple(own), notes + told
    check_classes(raw.name, parts["train"], classes)
    return Corpus(
        name=raw.name,
        **parts,
        classes=classes,
        preprocessing=raw.preprocessing,
        min_df=min_df,
        source=raw.source,
        citation=raw.citation,
        notes=(*notes, *leaks(parts)),
        options=config.model_dump(mode="json"),
        known=known,
    )


def _named(name: str, rows: Sequence[RawExample]) -> list[RawExample]:
    """The rows, each with what it is called: as its source says, else by split and number."""
    given = Counter(row.id for row in rows if row.id is not None)
    if twice := [one for one, n in given.items() if n > 1]:
        raise DataError(
            f"{name}: {len(twice):,} ids occur more than once: {some(map(repr, twice))}. Make them unique, "
            "or leave them out (id=None for a table), and ids are generated."
        )
    named = []
    for i, row in enumerate(rows):
        if row.id is None:
            one = f"{row.split or 'row'}-{i}"
            while one in given:
                one += "'"
            row = replace(row, id=one)
        named.append(row)
    return named


def _tokenised(
    raw: RawCorpus, split: str, members: Sequence[tuple[RawExample, int]], config: DataConfig
) -> tuple[dict[int, Example], list[str]]:
    """Place in the split -> text, in the order of the draw where there is a limit; and a note on empty ones.

    With a limit and no length filter, only as many texts are tokenised as are needed.
    """
    order, enough = np.arange(len(members)), len(members)
    if config.limit is not None and config.limit < len(members):
        order = np.random.default_rng([config.seed, SPLITS.index(split)]).permutation(len(members))
        enough = len(members) if config.strict_length_filter else config.limit
    texts, empty = {}, 0
    for place in progress(order.tolist(), f"{raw.name} {split}", unit="text"):
        if made := to_example(*members[place], raw.preprocessing):
            texts[place] = made
        else:
            empty += 1
        if len(texts) >= enough:
            break
    return texts, [f"{empty:,} empty {split} texts dropped"] if empty else []


def _filtered(raw: RawCorpus, split: str, texts: dict[int, Example]) -> tuple[dict[int, Example], str]:
    """The texts whose length lies strictly between the bounds, and a note."""
    lengths = [*map(len, texts.values())] or [0]
    low, high = raw.length_filter
    low, high = min(lengths) if low is None else low, max(lengths) if high is None else high
    inside = {place: text for place, text in texts.items() if low < len(text) < high}
    told = f"{len(inside):,} of {len(texts):,} {split} texts have {low} < words < {high}"
    return inside, f"strict length filter: {told}"


def to_example(row: RawExample, label: int, preprocessing: Preprocessing) -> Example | None:
    """The row as an Example, or None where it holds no word."""
    ready, starts = row.tokens is not None, row.sentences
    words = preprocessing.words(row.tokens) if ready else preprocessing.tokens(row.text)
    words = tuple(map(sys.intern, words))  # one string for every word of a corpus
    if not any(words):
        return None
    if not ready:
        starts = tuple(range(0, len(words), starts)) if isinstance(starts, int) else None
    marks = None if row.rationale is None else tuple(map(bool, row.rationale))
    query = row.query
    if query is not None:
        query = preprocessing.tokens(query) if isinstance(query, str) else preprocessing.words(query)
        query = tuple(word for word in query if word)
        if not query:
            raise DataError(f"Text {row.id!r} has an empty query. Fill it in, or leave the row out.")
    example = Example(words, label, query, marks, row.id or "", starts)
    # tokens that preprocessing leaves empty go, with their marks
    return example if all(words) else selected(example, [i for i, word in enumerate(words) if word])
