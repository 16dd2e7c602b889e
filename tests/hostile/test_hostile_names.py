"""Names that are no corpus: an error says what to do, and nothing is waited for."""

import os
from pathlib import Path

import pytest
from hostile.cases import meets

from attnlib.data import load_corpus


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("nope.csv", "There is no file"),
        ("no/such/folder/a.csv", "does not exist either"),
        ("a\0b.csv", "cannot be a path|no file"),
        ("x" * 5000 + ".csv", "cannot be a path"),
        ("text,label\ngood,1\nbad,0\n" * 300, "cannot be a path"),
        ("~nobody-of-that-name/a.csv", "cannot be a path"),
        ("", "No corpus is named"),
        (".", "not a table"),
        ("a.xlsx", "Unknown corpus"),
        ("hub:", "not a name of the hub"),
        ("hub:../../x", "hub"),
        ("http://example.org/a.csv", "There is no file"),
        ("/dev/zero", "Unknown corpus|not a table"),
        ("/dev/stdin.csv", "There is no file"),
        (None, "No corpus is named"),
        (3, "No corpus is named"),
        (b"a.csv", "No corpus is named"),
        ({"corpus": None}, "No corpus is named"),
        ({"train": "nope.csv", "test": "nope.csv"}, "same file|no file"),
        ({"train": Path("a.csv"), "dev": 3}, "cannot be a path|not a table"),
    ],
    ids=lambda value: str(value)[:30].replace("\0", "0"),
)
def test_names_that_are_no_corpus(tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    meets(lambda: load_corpus(name), says, tmp_path)


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "a.csv")
    meets(lambda: load_corpus(tmp_path / "a.csv"), "There is no file", tmp_path)


def test_a_link_that_leads_nowhere_or_round(tmp_path):
    (tmp_path / "a.csv").symlink_to(tmp_path / "gone.csv")
    (tmp_path / "b.csv").symlink_to(tmp_path / "b.csv")
    for name in ("a.csv", "b.csv"):
        meets(lambda name=name: load_corpus(tmp_path / name), "no file|cannot be a path", tmp_path)
