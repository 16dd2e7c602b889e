"""AG News: hand-made files always, the real ones where they are."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from attnlib.data import load_corpus
from attnlib.data.readers.news import agnews
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError

ROWS = (
    '"1","Vote","Elections\\today in 3 states."\n"2","Goal","A match."\n'
    '"3","Bank","Shares fell."\n"4","Chip","It hums."\n'
)


def folder(path: Path, train: str = ROWS, test: str = ROWS, name: str = "train.csv") -> str:
    (path / name).write_text(train)
    (path / "test.csv").write_text(test)
    return str(path)


def test_two_classes_are_world_and_business_without_titles(tmp_path: Path) -> None:
    raw = agnews(folder(tmp_path))
    assert raw.classes == ("world", "business")
    assert [(r.text, r.label) for r in raw.rows if r.split == "train"] == [
        ("Elections today in 3 states.", "world"),
        ("Shares fell.", "business"),
    ]
    assert raw.min_df == 5


def test_digits_become_qqq(tmp_path: Path) -> None:
    train = "".join(f'"{c}","x","story {w}"\n' for c in (1, 3) for w in "abcdefghij")
    corpus = load_corpus("agnews", path=folder(tmp_path, train), min_df=1)
    assert corpus.test[0].tokens == ("elections", "today", "in", "qqq", "states", ".")


def test_four_classes_with_titles(tmp_path: Path) -> None:
    raw = agnews(folder(tmp_path), classes=4, title=True)
    assert [r.label for r in raw.rows][:4] == ["world", "sports", "business", "sci/tech"]
    assert raw.rows[1].text == "Goal A match."


def test_two_columns_and_a_header(tmp_path: Path) -> None:
    raw = agnews(
        folder(tmp_path, '"3","Bank Shares fell."\n', "Class Index,Title,Description\n" + ROWS, "train_5k.csv")
    )
    assert [r.text for r in raw.rows if r.split == "train"] == ["Bank Shares fell."]
    assert sum(r.split == "test" for r in raw.rows) == 2
    assert any("the title is kept" in note for note in raw.notes)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('"1","a","b"\n"5","a","b"\n', r"test\.csv, line 2: the class is a number from 1 .*got '5'"),
        ('"1","a","b","c"\n', r"test\.csv, line 1: 4 columns"),
        ('"1","a"b"\n', r"test\.csv, line 1: not proper csv"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, test: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        agnews(folder(tmp_path, test=test))


def test_a_wrong_number_of_classes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="classes must be one of 2, 4; got 3"):
        agnews(folder(tmp_path), classes=3)


@pytest.mark.realdata
@pytest.mark.skipif(paths.development_data() is None, reason="no raw corpora here (set ATTNLIB_DATA)")
def test_real_sizes() -> None:
    raw = agnews(classes=4)
    assert Counter(r.split for r in raw.rows) == {"train": 4999, "test": 7600}
    assert set(Counter(r.label for r in raw.rows if r.split == "test").values()) == {1900}
    assert Counter(r.label for r in agnews().rows if r.split == "test") == {"world": 1900, "business": 1900}
