"""What an audit is given: texts, and scores from elsewhere; all checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.auditing.rules import rules
from attnlib.data.checks import floats, some
from attnlib.data.readers.tables import read_json, read_table
from attnlib.data.types import Corpus, Example
from attnlib.utils.errors import DataError
from attnlib.utils.paths import user_path

TEST_SHARE = 0.25
DRAWN = "own split 80/10/10"
"""How the notes of a corpus say that its split was drawn by the kit."""


def pools(corpus: Corpus, *, given: bool, seed: int = 0) -> tuple[Corpus, list[Example], list[str]]:
    """The corpus to train on, the texts to judge on, and what was done to get enough of them.

    given  the model is there already: where the split was drawn here, all texts can be judged on
    """
    least, every, test = rules()["texts"], [example for _, example in corpus.items()], corpus.test
    drawn = any(note.startswith(DRAWN) for note in corpus.notes)
    if len(every) < least:
        raise DataError(
            f"{corpus.name} has {len(every):,} texts; an audit needs at least {least} to judge on"
            f"{'' if given else ', and others to train on'}. With fewer, no interval is narrow enough."
        )
    if given and drawn:
        return corpus, every, [f"the split was drawn here, so all {len(every):,} texts are judged on"]
    wanted = max(least, min(500, round(TEST_SHARE * len(every))))
    if len(test) >= (wanted if drawn else least):
        return corpus, list(test), []
    if not drawn:
        raise DataError(
            f"{corpus.name}: its test part has {len(test):,} texts; an audit needs at least {least}. Put "
            "more texts there, or leave the split out, and one is drawn."
        )
    order = np.random.default_rng([seed, 7]).permutation(len(corpus.train))
    moved = {int(i) for i in order[: wanted - len(test)]}
    test = [*test, *(corpus.train[i] for i in sorted(moved))]
    known = {example.tokens for example in test}
    train = [e for i, e in enumerate(corpus.train) if i not in moved and e.tokens not in known]
    if len({e.label for e in train}) < 2 or len(train) < least:
        raise DataError(
            f"{corpus.name}: of {len(every):,} texts, {len(train):,} are left to train on once {len(test):,} are "
            f"kept to judge on. Give at least {3 * least} texts, or a model."
        )
    said = f"{len(test):,} texts are kept to judge on, {len(train):,} to train on (seed {seed})"
    return replace(corpus, train=tuple(train), test=tuple(test), known=None), test, [said]


def load_scores(
    scores: Any, examples: Sequence[Example], tokens: Callable[[Example], Sequence[str]]
) -> list[np.ndarray]:
    """An explanation made elsewhere: one number per token of each text, by the ids of the data.

    A file is a table (csv, tsv, jsonl, parquet) with the columns `id` and `scores`; a cell of scores is a list of
    numbers (in csv: `[0.1, 0.7]`). Texts that are lacking are an error.
    """
    if isinstance(scores, str | Path):
        scores = _score_table(user_path(scores))
    if not isinstance(scores, Mapping):
        raise DataError("scores are a file, or a mapping by id: {example.id: array for …}.")
    if missing := [e.id for e in examples if e.id not in scores]:
        raise DataError(
            f"scores: {len(missing):,} of {len(examples):,} texts have none (ids {some(map(repr, missing), 3)}). "
            f"The scores have ids such as {some(map(repr, list(scores)[:3]))}. Give both the same ids."
        )
    return [_checked(scores[e.id], e, tokens(e)) for e in examples]


def _checked(given: Any, example: Example, tokens: Sequence[str]) -> np.ndarray:
    """The scores of one text: a finite number per token."""
    array = floats(given, f"text {example.id!r}")
    if array.shape != (len(tokens),) or not np.isfinite(array).all():
        raise DataError(
            f"scores of text {example.id!r}: {array.size} numbers for {len(tokens)} tokens ({some(tokens, 6)}). "
            "Give one per token as the model reads them (`model.tokens(text)`), none of them NaN or infinite."
        )
    return array


def _score_table(path: Path) -> dict[str, Any]:
    table = read_table(path, names=("id", "scores"))
    if not {"id", "scores"} <= set(table.columns):
        raise DataError(
            f"scores: {path.name} needs the columns 'id' and 'scores'; it has {', '.join(table.columns)}."
        )
    ids = table["id"].astype(str)
    if ids.duplicated().any():
        raise DataError(f"scores: {path.name} has ids more than once: {some(map(repr, ids[ids.duplicated()]), 3)}.")
    where = f"scores: {path.name}, text"
    cells = zip(ids, table["scores"], strict=True)
    return {i: read_json(cell, f"{where} {i!r}") if isinstance(cell, str) else cell for i, cell in cells}
