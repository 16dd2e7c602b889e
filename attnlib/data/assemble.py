"""From a reader's rows to a Corpus: split, words, checks, length filter, limit."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from attnlib.config import DataConfig
from attnlib.data import checks
from attnlib.data.narrowing import length_filter, shortened, thinned, usual_length
from attnlib.data.preprocess import Preprocessing
from attnlib.data.splits import with_splits
from attnlib.data.tokenised import tokenised
from attnlib.data.types import SPLITS, Corpus, Example, RawCorpus, RawExample
from attnlib.data.vocabulary import Vocabulary
from attnlib.utils.errors import DataError
from attnlib.utils.progress import progress


def assemble(raw: RawCorpus, config: DataConfig | None = None) -> Corpus:
    """A checked Corpus from a reader's rows.

    Labels are checked, splits drawn where none are given, classes thinned to their `shares`, texts tokenised; empty
    texts are dropped and counted; then `strict_length_filter` (the vocabulary is counted before it, as Jain &
    Wallace do), `limit` (a sample of each split, drawn with `seed`), `excerpts` and `max_length`. Whatever was
    dropped, drawn or found doubtful is listed in `Corpus.notes`.
    """
    corpus = tokenised(raw, config or DataConfig(corpus=raw.name), _assembled)
    for split, (note, ids) in checks.leaks({split: getattr(corpus, split) for split in SPLITS}).items():
        warnings.warn(
            f"{corpus.name}: {note} (ids {checks.some(ids, 3)}): scores on {split} flatter the model.",
            checks.DataWarning,
            stacklevel=3,
        )
    return corpus


def _assembled(raw: RawCorpus, config: DataConfig) -> Corpus:
    rows, notes = checks.with_labels(raw)
    classes = checks.class_names(rows, raw.classes)
    rows, found = with_splits(raw.name, _with_ids(raw.name, rows))
    notes = [*raw.notes, *notes, *found, *checks.note_html(rows, raw.preprocessing)]
    labels = checks.label_indices(raw, rows, classes)
    stay, found = thinned(raw.name, [row.split for row in rows], labels, classes, raw.shares)
    notes += found
    members: dict[str, list[tuple[RawExample, int]]] = {split: [] for split in SPLITS}
    for i in stay:
        members[rows[i].split].append((rows[i], labels[i]))
    min_df = config.min_df or raw.min_df
    splits, known, longest = {}, None, config.max_length
    for split in SPLITS:
        kept, found = _tokenised(split, members[split], raw, config)
        notes += found
        if split == "train" and config.strict_length_filter and config.limit is None:
            known = Vocabulary.build(kept.values(), min_df=min_df)  # Jain & Wallace count before they filter
        examples, found = _narrowed(split, kept, len(members[split]), raw, config)
        notes += found
        if longest == "95%":  # train comes first, and decides for all
            longest = usual_length(list(map(len, examples)))
        splits[split], found = shortened(split, examples, raw.excerpts, longest)
        notes += found
    vocabulary = known or Vocabulary.build(splits["train"], min_df=min_df)
    notes += checks.check_classes(raw.name, splits["train"], classes)
    notes += [note for note, _ in checks.leaks(splits).values()]
    notes += checks.note_unknown(splits, vocabulary)
    corpus = Corpus(
        name=raw.name,
        **{split: tuple(examples) for split, examples in splits.items()},
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


def _with_ids(name: str, rows: Sequence[RawExample]) -> list[RawExample]:
    given = Counter(row.id for row in rows if row.id is not None)
    if twice := [i for i, n in given.items() if n > 1]:
        raise DataError(
            f"{name}: {len(twice):,} ids occur more than once: {checks.some(map(repr, twice))}. Make them unique, "
            "or leave them out (id=None for a table), and ids are generated."
        )
    made = []
    for i, row in enumerate(rows):
        if row.id is None:
            new = f"{row.split or 'row'}-{i}"
            while new in given:
                new += "'"
            row = replace(row, id=new)
        made.append(row)
    return made


def _tokenised(
    split: str, members: list[tuple[RawExample, int]], raw: RawCorpus, config: DataConfig
) -> tuple[dict[int, Example], list[str]]:
    """Position -> words of one split, in the order of the draw where there is a limit.

    With a limit and no length filter, only as many texts are tokenised as are needed.
    """
    order = np.arange(len(members))
    enough = len(members)
    if config.limit is not None and config.limit < len(members):
        order = np.random.default_rng([config.seed, SPLITS.index(split)]).permutation(len(members))
        enough = len(members) if config.strict_length_filter else config.limit
    kept: dict[int, Example] = {}
    empty = 0
    for i in progress(order, f"{raw.name} {split}", unit="text"):
        example = to_example(*members[i], raw.preprocessing)
        if example is None:
            empty += 1
        else:
            kept[int(i)] = example
        if len(kept) >= enough:
            break
    if not kept:
        why = f"none of the {len(members):,} holds a word" if members else "there are too few to split"
        raise DataError(
            f"{raw.name}: no text is left in {split}: {why}. Check the text column, the preprocessing, and that "
            "every class has at least three texts."
        )
    return kept, [f"{empty:,} empty {split} texts dropped"] if empty else []


def _narrowed(
    split: str, kept: dict[int, Example], total: int, raw: RawCorpus, config: DataConfig
) -> tuple[list[Example], list[str]]:
    """Length filter and limit, in that order; the texts in the order of the source."""
    notes = []
    if config.strict_length_filter and kept:
        kept, found = length_filter(split, kept, raw.length_filter)
        notes += found
    if config.limit is not None and config.limit < total:
        kept = dict(list(kept.items())[: config.limit])
        notes.append(f"{split}: {len(kept):,} of {total:,} texts sampled (seed {config.seed})")
    if not kept:
        raise DataError(f"{raw.name}: no text is left in {split}. {'; '.join(notes)}")
    examples = [kept[i] for i in sorted(kept)]
    return examples, notes


def to_example(row: RawExample, label: int, preprocessing: Preprocessing) -> Example | None:
    """The row as an Example, or None where it holds no word."""
    marks = sentences = None
    if row.tokens is not None:
        words, marks, sentences = _from_tokens(row, preprocessing)
    elif row.rationale is not None:
        spans = [checks.check_span(s, row.text, f"Text {row.id!r}") for s in row.rationale]
        words, marks = preprocessing.marked(row.text, spans)
    else:
        words = preprocessing.tokens(row.text)
    if not words:
        return None
    query = row.query
    if query is not None:
        query = preprocessing.tokens(query) if isinstance(query, str) else preprocessing.words(query)
        query = tuple(word for word in query if word)
        if not query:
            raise DataError(f"Text {row.id!r} has an empty query. Fill it in, or leave the row out.")
    return Example(words, label, query, marks, row.id or "", sentences)


def _from_tokens(
    row: RawExample, preprocessing: Preprocessing
) -> tuple[tuple[str, ...], tuple[bool, ...] | None, tuple[int, ...] | None]:
    """Words, marks and starts of sentences, without the tokens that preprocessing leaves empty."""
    words, marks, starts = preprocessing.words(row.tokens), row.rationale, None
    if marks is not None and len(marks) != len(words):
        raise DataError(
            f"Text {row.id!r}: the rationale marks {len(marks)} tokens, the text has {len(words)}. Give one mark "
            "per token."
        )
    keep = [i for i, word in enumerate(words) if word]
    if row.sentences is not None:
        # A sentence may begin with a token that vanished, or vanish as a whole.
        before = np.searchsorted(keep, row.sentences)
        starts = tuple(int(s) for s in sorted({0, *before}) if s < len(keep))
    kept_marks = None if marks is None else tuple(bool(marks[i]) for i in keep)
    return tuple(words[i] for i in keep), kept_marks, starts
