"""From a reader's rows to a Corpus: split, words, checks, length filter, limit."""

from __future__ import annotations

import hashlib
import unicodedata
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from importlib.metadata import version
from pathlib import Path

import numpy as np

from attnlib.config import DataConfig
from attnlib.data import checks
from attnlib.data.cached import cached, load, save
from attnlib.data.narrowing import length_filter, selected, shortened, thinned, usual_length
from attnlib.data.preprocess import Preprocessing
from attnlib.data.splits import drawn_splits
from attnlib.data.texts import Packer, Texts
from attnlib.data.types import SPLITS, Corpus, Example, RawCorpus, RawExample
from attnlib.data.vocabulary import Vocabulary
from attnlib.utils.errors import DataError
from attnlib.utils.progress import progress

FEW = 500
"""Fewer texts than this are tokenised again every time."""
LONG = 100
"""Words of a text that comes in words from which to clean them takes as long as to tokenise a sentence."""


def assemble(raw: RawCorpus, config: DataConfig | None = None) -> Corpus:
    """A checked Corpus from a reader's rows.

    Labels are checked, splits drawn where none are given, classes thinned to their `shares`, texts tokenised; empty
    texts are dropped and counted; then `strict_length_filter` (the vocabulary is counted before it, as Jain &
    Wallace do), `limit` (a sample of each split, drawn with `seed`), `excerpts` and `max_length`. Whatever was
    dropped, drawn or found doubtful is listed in `Corpus.notes`. Costly ones are kept in the cache.
    """
    config = config or DataConfig(corpus=raw.name)
    digest, costly = hashlib.sha256(f"{_rules()} {replace(raw, rows=[])!r} {config!r}".encode()), 0
    for row in raw.rows:
        digest.update(repr(row).encode())
        costly += row.tokens is None or len(row.tokens) >= LONG
    if costly < FEW:
        corpus = _assembled(raw, config)
    else:
        corpus = load(cached("corpora", digest.hexdigest(), lambda folder: save(_assembled(raw, config), folder)))
    for split, (note, ids) in checks.leaks({split: getattr(corpus, split) for split in SPLITS}).items():
        warnings.warn(
            f"{corpus.name}: {note} (ids {checks.some(ids, 3)}): scores on {split} flatter the model.",
            checks.DataWarning,
            stacklevel=3,
        )
    return corpus


@cache
def _rules() -> str:
    """What else decides the words: the code of this room, spaCy's rules and Unicode's tables."""
    code = [p.read_text(encoding="utf-8") for p in sorted(Path(__file__).parent.glob("*.py"))]
    return f"{hashlib.sha256(repr(code).encode()).hexdigest()} {version('spacy')} {unicodedata.unidata_version}"


def _assembled(raw: RawCorpus, config: DataConfig) -> Corpus:
    """Rows are looked at one by one, so that a source may read them as they are asked for."""
    labelled, notes = checks.labelled(raw)
    classes = checks.class_names(labelled.labels, raw.classes)
    ids = _ids(raw.name, labelled)
    splits, found = drawn_splits(raw.name, labelled.splits, labelled.labels, (raw.rows[i] for i in labelled.rows))
    notes = [*raw.notes, *notes, *found]
    labels = checks.label_indices(raw, labelled.labels, ids, classes)
    stay, found = thinned(raw.name, splits, labels, classes, raw.shares)
    notes += found
    members = {split: array("q") for split in SPLITS}
    for i in stay:
        members[splits[i]].append(i)
    min_df = config.min_df or raw.min_df
    packer, parts, known, longest = Packer(), {}, None, config.max_length

    def example(i: int) -> Example | None:
        row = raw.rows[labelled.rows[i]]
        return to_example(row if row.id is not None else replace(row, id=ids[i]), labels[i], raw.preprocessing)

    for split in SPLITS:
        texts, places, found = _tokenised(raw.name, split, members[split], example, config, packer)
        notes += found
        if split == "train" and config.strict_length_filter and config.limit is None:
            known = Vocabulary.build(texts, min_df=min_df)  # Jain & Wallace count before they filter
        texts, found = _narrowed(split, texts, places, len(members[split]), raw, config)
        notes += found
        if longest == "95%":  # train comes first, and decides for all
            longest = usual_length(texts.lengths)
        parts[split], found = shortened(split, texts, raw.excerpts, longest, packer)
        notes += found
    vocabulary = known or Vocabulary.build(parts["train"], min_df=min_df)
    notes += checks.check_classes(raw.name, parts["train"], classes)
    notes += [note for note, _ in checks.leaks(parts).values()]
    notes += checks.note_unknown(parts, vocabulary)
    corpus = Corpus(
        name=raw.name,
        **parts,
        classes=classes,
        preprocessing=raw.preprocessing,
        min_df=min_df,
        source=raw.source,
        citation=raw.citation,
        notes=tuple(notes),
        options=config.model_dump(mode="json"),
        known=known,
    )
    vars(corpus)["vocabulary"] = vocabulary  # fill the cached property: the same words would be counted again
    return corpus


def _ids(name: str, rows: checks.Labelled) -> list[str]:
    """What every text is called: as its source says, else by split and number."""
    given = Counter(one for one in rows.ids if one is not None)
    if len(given) < given.total():
        twice = [i for i, n in given.items() if n > 1]
        raise DataError(
            f"{name}: {len(twice):,} ids occur more than once: {checks.some(map(repr, twice))}. Make them unique, "
            "or leave them out (id=None for a table), and ids are generated."
        )
    made = []
    for i, (one, split) in enumerate(zip(rows.ids, rows.splits, strict=True)):
        if one is None:
            one = f"{split or 'row'}-{i}"
            while one in given:
                one += "'"
        made.append(one)
    return made


def _tokenised(
    name: str,
    split: str,
    members: Sequence[int],
    example: Callable[[int], Example | None],
    config: DataConfig,
    packer: Packer,
) -> tuple[Texts, np.ndarray, list[str]]:
    """The texts of one split, in the order of the draw where there is a limit, and their places in the source.

    With a limit and no length filter, only as many texts are tokenised as are needed.
    """
    order = np.arange(len(members))
    enough = len(members)
    if config.limit is not None and config.limit < len(members):
        order = np.random.default_rng([config.seed, SPLITS.index(split)]).permutation(len(members))
        enough = len(members) if config.strict_length_filter else config.limit
    kept, empty = array("q"), 0

    def examples() -> Iterator[Example]:
        nonlocal empty
        for i in progress(order, f"{name} {split}", unit="text"):
            made = example(members[i])
            if made is None:
                empty += 1
                continue
            kept.append(i)
            yield made
            if len(kept) >= enough:
                return

    texts = packer.pack(examples())
    if not len(texts):
        why = f"none of the {len(members):,} holds a word" if members else "there are too few to split"
        raise DataError(
            f"{name}: no text is left in {split}: {why}. Check the text column, the preprocessing, and that "
            "every class has at least three texts."
        )
    return texts, np.frombuffer(kept, np.int64), [f"{empty:,} empty {split} texts dropped"] if empty else []


def _narrowed(
    split: str, texts: Texts, places: np.ndarray, total: int, raw: RawCorpus, config: DataConfig
) -> tuple[Texts, list[str]]:
    """Length filter and limit, in that order; the texts in the order of the source."""
    notes, rows = [], np.arange(len(texts))
    if config.strict_length_filter:
        rows, found = length_filter(split, texts.lengths, raw.length_filter)
        notes += found
    if config.limit is not None and config.limit < total:
        rows = rows[: config.limit]
        notes.append(f"{split}: {len(rows):,} of {total:,} texts sampled (seed {config.seed})")
    if not len(rows):
        raise DataError(f"{raw.name}: no text is left in {split}. {'; '.join(notes)}")
    return (texts.take(rows[np.argsort(places[rows])]) if notes else texts), notes


def to_example(row: RawExample, label: int, preprocessing: Preprocessing) -> Example | None:
    """The row as an Example, or None where it holds no word."""
    ready = row.tokens is not None
    words = preprocessing.words(row.tokens) if ready else preprocessing.tokens(row.text)
    marks = None if row.rationale is None else tuple(map(bool, row.rationale))
    starts = row.sentences
    if not ready:
        starts = tuple(range(0, len(words), starts)) if isinstance(starts, int) else None
    example = Example(words, label, None, marks, row.id or "", starts)
    if not any(words):
        return None
    query = row.query
    if query is not None:
        query = preprocessing.tokens(query) if isinstance(query, str) else preprocessing.words(query)
        query = tuple(word for word in query if word)
        if not query:
            raise DataError(f"Text {row.id!r} has an empty query. Fill it in, or leave the row out.")
        example = replace(example, query=query)
    # tokens that preprocessing leaves empty go, with their marks
    return selected(example, [i for i, word in enumerate(words) if word]) if ready else example
