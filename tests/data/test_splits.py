from collections import Counter
from dataclasses import replace

import pytest
from data.readers.written import marked, parts

from attnlib.data import RawExample, load_corpus
from attnlib.data.splits import drawn_splits
from attnlib.utils.errors import DataError


def rows(n, split=None, classes=2, text="text {i}"):
    return [RawExample(text.format(i=i), label=i % classes, split=split) for i in range(n)]


def with_splits(name, given):
    """The rows with the splits that they were given."""
    splits, notes = drawn_splits(name, given)
    return [replace(row, split=split) for row, split in zip(given, splits, strict=True)], notes


def sizes(made):
    return dict(Counter(row.split for row in made))


def test_own_split_is_stratified_and_fixed():
    made, notes = with_splits("toy", rows(1000, classes=4))
    assert sizes(made) == {"train": 800, "dev": 100, "test": 100}
    assert Counter(r.label for r in made if r.split == "test") == dict.fromkeys(range(4), 25)
    assert made == with_splits("toy", rows(1000, classes=4))[0]
    assert "own split 80/10/10" in notes[0]
    # not simply the last rows
    assert [r.split for r in made[-100:]].count("train") > 50


def test_missing_dev_or_test_is_taken_from_train():
    made, notes = with_splits("toy", rows(200, "train") + rows(50, "test"))
    assert sizes(made) == {"train": 170, "dev": 30, "test": 50}
    assert notes == ["own dev: 15% of train (stratified, seed 1378); the source has none"]
    made, notes = with_splits("toy", rows(200, "train") + rows(50, "dev"))
    assert sizes(made) == {"train": 170, "dev": 50, "test": 30}


def test_identical_texts_stay_together():
    made, _ = with_splits("toy", rows(60) + rows(60, text="TEXT  {i}") + rows(60))
    where = {}
    for row in made:
        where.setdefault(row.text.lower().split()[1], set()).add(row.split)
    assert all(len(splits) == 1 for splits in where.values())


def test_small_classes_still_reach_every_split():
    made, _ = with_splits("toy", rows(6))
    assert sizes(made) == {"train": 2, "dev": 2, "test": 2}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (rows(3) + rows(3, "train"), "3 of 6 rows have no split"),
        (rows(3, "test"), "no row has the split 'train'"),
        (rows(3, "trian"), "Did you mean 'train'"),
        ([], "no text"),
    ],
)
def test_bad_splits_are_named(given, message):
    with pytest.raises(DataError, match=message):
        with_splits("toy", given)


@pytest.mark.parametrize(
    ("values", "dev", "test"),
    [
        (["train", "holdout"], {"train"}, {"holdout"}),
        (["TRN", "Held-Out"], {"trn"}, {"held"}),
        (["training", "Eval", "tst"], {"eval"}, {"tst"}),
        (["Train", "validation", "test"], {"validation"}, {"test"}),
        (["train", "evaluation"], {"evaluation"}, {"train"}),
    ],
)
def test_held_out_rows_never_reach_training(tmp_path, values, dev, test):
    corpus = load_corpus(marked(tmp_path / "a.csv", values))
    assert parts(corpus) == {"train": {values[0].lower()}, "dev": dev, "test": test}
    assert any("split" in note and values[-1] in note for note in corpus.notes)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (["train", "private"], r"'private'.*train \(20\), private \(20\).*Allowed.*split=None"),
        (["1", "2", "3"], r"'1', '2', '3'.*1 \(14\)"),
        (["train", ""], r"blank cells.*train \(20\), \(blank\) \(20\)"),
        (["train", "dev", "test", "holdout"], "two words for one split"),
        (["train", "dev", "eval"], r"two words for one split. Found: train \(14\), dev \(13\), eval \(13\)"),
    ],
)
def test_an_unknown_split_is_an_error_that_lists_what_was_found(tmp_path, values, says):
    with pytest.raises(DataError, match=says):
        load_corpus(marked(tmp_path / "a.csv", values))
    with pytest.raises(DataError, match=says):
        load_corpus(marked(tmp_path / "b.csv", values, "which"), split="which")
    drawn = load_corpus(tmp_path / "a.csv", split=None)
    assert any("own split 80/10/10" in note for note in drawn.notes)
