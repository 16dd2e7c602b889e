"""What the readers share: finding files, lines, csv rows, and errors that name the place."""

from __future__ import annotations

import gzip
import zipfile
from pathlib import Path

import pytest

from attnlib.data.readers.base import choice, csv_rows, files, lines, one_each
from attnlib.utils.errors import ConfigError, DataError

PATTERN = r"(?:^|/)(?P<key>train|test)\.txt(?:\.gz)?$"


def found(path: Path) -> dict[str, str]:
    return {match["key"]: text for _, match, text in files(str(path), "nowhere", "toy", PATTERN)}


def test_a_folder_at_any_depth_gzipped_or_not(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "train.txt").write_text("one")
    (tmp_path / "test.txt.gz").write_bytes(gzip.compress(b"two"))
    (tmp_path / "other.txt").write_text("three")
    assert found(tmp_path) == {"train": "one", "test": "two"}


def test_an_archive_and_a_folder_that_holds_one(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "toy.zip", "w") as archive:
        archive.writestr("toy/train.txt", "one")
    assert found(tmp_path / "toy.zip") == {"train": "one"}
    assert found(tmp_path) == {"train": "one"}


def test_nothing_that_fits_is_an_error_that_says_what_there_is(tmp_path: Path) -> None:
    (tmp_path / "readme.md").write_text("x")
    with pytest.raises(DataError, match=r"toy: .* holds no file .*Found: readme\.md"):
        found(tmp_path)


def test_a_single_file_asks_for_its_folder(tmp_path: Path) -> None:
    (tmp_path / "train.txt").write_text("x")
    with pytest.raises(DataError, match="Give path= the folder"):
        found(tmp_path / "train.txt")


def test_a_path_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist"):
        found(tmp_path / "absent")


def test_broken_gzip_is_named(tmp_path: Path) -> None:
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(b"x" * 1000)[:-12])
    with pytest.raises(DataError, match=r"train\.txt\.gz: broken gzip"):
        found(tmp_path)


def test_each_file_once_and_all_that_are_needed(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "train.txt").write_text("x")
    with pytest.raises(DataError, match="no file for test"):
        one_each(files(str(tmp_path), "x", "toy", PATTERN), "toy", ("train", "test"))
    (tmp_path / "a" / "train.txt").write_text("x")
    with pytest.raises(DataError, match=r"both .* look like 'train'"):
        one_each(files(str(tmp_path), "x", "toy", PATTERN), "toy", ("train",))


def test_only_line_feeds_end_a_line() -> None:
    assert list(lines("a\u2028b\r\nc\x0bd\n")) == [(1, "a\u2028b"), (2, "c\x0bd")]
    assert list(lines("")) == []


def test_csv_rows_carry_their_lines_and_long_cells() -> None:
    long = "x" * 200_000
    assert list(csv_rows(f'1,"a\nb"\n\n2,{long}\n', "f.csv")) == [(2, ["1", "a\nb"]), (4, ["2", long])]
    with pytest.raises(DataError, match=r"f\.csv, line 2: not proper csv"):
        list(csv_rows('1,"a"\n2,"b"c\n', "f.csv"))


def test_choice_names_what_is_allowed() -> None:
    choice("toy", "classes", 2, (2, 5))
    for wrong in (3, "2", True, None):
        with pytest.raises(ConfigError, match=r"toy: classes must be one of 2, 5; got"):
            choice("toy", "classes", wrong, (2, 5))
