"""What users say about train, dev and test, in a column or by files, is taken as they mean it, or refused."""

import csv
import re
from pathlib import Path

import pytest

from attnlib.config import DataConfig
from attnlib.data import load_corpus
from attnlib.data.checks import DataWarning
from attnlib.data.readers.split_words import meant
from attnlib.store.keys import key_of
from attnlib.store.specs import Corpora, FitSpec
from attnlib.utils.errors import ConfigError, DataError, UnknownName


def write(path, header, rows):
    path.parent.mkdir(exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([header, *rows])
    return path


def marked(path, values, column="split", header=("text", "label")):
    """Forty rows; the text names the value of its split, so that a leak can be seen."""
    rows = [
        [f"part{values[i % len(values)]} text {i}", "ab"[i // 2 % 2], values[i % len(values)]] for i in range(40)
    ]
    return write(path, [*header, column], rows)


def parts(corpus):
    """Which of the file's values each split holds."""
    return {
        split: {e.tokens[0].removeprefix("part") for s, e in corpus.items() if s == split}
        for split in ("train", "dev", "test")
    }


@pytest.mark.parametrize(
    ("values", "dev", "test"),
    [
        (["train", "holdout"], {"train"}, {"holdout"}),
        (["TRN", "Held-Out"], {"trn"}, {"held"}),
        (["training", "Eval", "tst"], {"eval"}, {"tst"}),
        (["train", "dev", "eval"], {"dev"}, {"eval"}),
        (["train", "holdout", "test"], {"holdout"}, {"test"}),
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
        (["train", "private"], r"'private'.*train \(20\), private \(20\).*Allowed: train.*split=None"),
        (["1", "2", "3"], r"'1', '2', '3'.*1 \(14\)"),
        (["train", ""], r"blank cells.*train \(20\), \(blank\) \(20\)"),
        (["train", "dev", "test", "holdout"], "test texts in two ways, 'holdout'"),
    ],
)
def test_an_unknown_split_is_an_error_that_lists_what_was_found(tmp_path, values, says):
    with pytest.raises(DataError, match=says):
        load_corpus(marked(tmp_path / "a.csv", values))
    with pytest.raises(DataError, match=says):
        load_corpus(marked(tmp_path / "b.csv", values, "which"), split="which")
    drawn = load_corpus(tmp_path / "a.csv", split=None)
    assert any("own split 80/10/10" in note for note in drawn.notes)


def test_a_split_is_found_by_what_it_holds_and_is_no_label(tmp_path):
    corpus = load_corpus(marked(tmp_path / "a.csv", ["train", "holdout"], "part", ("text", "v1")))
    assert corpus.classes == ("a", "b")
    assert parts(corpus)["test"] == {"holdout"}
    path = write(
        tmp_path / "b.csv", ["v1", "v2", "split"], [[f"some text {i}", "ab"[i % 2], "x"] for i in range(20)]
    )
    with pytest.raises(DataError, match="split"):
        load_corpus(path)
    assert load_corpus(path, split=None).classes == ("a", "b")


def test_words_are_read_together():
    assert meant(["train", "eval", "holdout"]) == {"train": "train", "eval": "dev", "holdout": "test"}
    assert meant(["train", "extra"]) == {"train": "train"}


def three(folder, **columns):
    header = [columns.get("text", "text"), columns.get("label", "label"), "id"]
    for part, n in {"train": 40, "dev": 10, "test": 12}.items():
        rows = [[f"part{part} text {i}", "ab"[i % 2], i] for i in range(n)]
        write(folder / f"reviews_{part}.csv", header, rows)
    return {part: str(folder / f"reviews_{part}.csv") for part in ("train", "dev", "test")}


def test_separate_files(tmp_path):
    files = three(tmp_path)
    corpus = load_corpus(**files)
    assert parts(corpus) == {"train": {"train"}, "dev": {"dev"}, "test": {"test"}}
    assert (corpus.name, corpus.test[3].id) == ("reviews", "test/3")
    assert corpus.fingerprint == load_corpus(files).fingerprint == load_corpus(DataConfig.of(files)).fingerprint
    assert load_corpus(files["train"], dev=files["dev"], test=files["test"]).fingerprint == corpus.fingerprint
    no_dev = load_corpus(train=files["train"], test=files["test"])
    assert parts(no_dev) == {"train": {"train"}, "dev": {"train"}, "test": {"test"}}
    assert any("own dev" in note for note in no_dev.notes)
    no_test = load_corpus(train=Path(files["train"]), dev=files["dev"])
    assert parts(no_test)["test"] == {"train"}
    assert any("own test" in note for note in no_test.notes)


def test_separate_files_that_do_not_fit(tmp_path):
    files = three(tmp_path)
    with pytest.raises(DataError, match="train and test are the same file"):
        load_corpus(train=files["train"], test=files["train"])
    other = write(tmp_path / "o.csv", ["text", "kind"], [["a text", "a"]])
    with pytest.raises(DataError, match=r"o.csv has no column 'label'.*it has text, kind"):
        load_corpus(train=files["train"], test=other)
    mixed = marked(tmp_path / "m.csv", ["TRAIN", "Test"])
    with pytest.raises(DataError, match=r"m.csv is given as train.*puts 20 of 40 rows in test.*split=None"):
        load_corpus(train=mixed, test=files["test"])
    with pytest.warns(DataWarning, match="word for word"):
        assert len(load_corpus(train=mixed, test=files["test"], split=None).test) == 12
    with pytest.raises(DataError, match="no file"):
        load_corpus(train=files["train"], test=tmp_path / "absent.csv")


def test_a_run_depends_on_every_file(tmp_path):
    files = three(tmp_path)
    run = FitSpec(data=DataConfig.of(files))
    first = key_of(run, Corpora())
    for part in files:
        with Path(files[part]).open("a") as file:
            file.write(f"one more for {part},a,999\n")
        second = key_of(run, Corpora())
        assert second != first
        first = second


def test_a_config_as_users_write_it(tmp_path):
    assert DataConfig.of("planted") == DataConfig(corpus="planted")
    assert DataConfig.of(tmp_path / "a.csv").corpus == str(tmp_path / "a.csv")
    made = DataConfig.of({"train": "a.csv", "test": "b.csv", "text": "body", "limit": 30}, limit=10, seed=4)
    assert made == DataConfig(corpus="a.csv", options={"test": "b.csv", "text": "body"}, limit=30, seed=4)
    assert DataConfig.of({"path": "x.tsv", "delimiter": ";"}).corpus == "x.tsv"
    assert DataConfig.of({"corpus": "anemia", "path": "x.csv"}).options == {"path": "x.csv"}
    assert DataConfig.of(made, limit=99) == made
    steps = DataConfig.of({"corpus": "planted", "drop_missing": True, "preprocessing": {"lower": False}}).options
    assert steps == {"drop_missing": True, "preprocessing": {"lower": False}}


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ({"path": "a.csv", "delimter": ";"}, ConfigError, "Did you mean 'delimiter'"),
        ({"train": "a.csv", "tests": "b.csv"}, ConfigError, "Did you mean 'test'"),
        ({"train": "a.csv", "limt": 3}, ConfigError, "Did you mean 'limit'"),
        ({"corpus": "planted", "text": "body"}, ConfigError, "Unknown option 'text'"),
        ({"corpus": "plantd"}, UnknownName, "Did you mean 'planted'"),
        ({"corpus": "planted", "train": "a.csv"}, ConfigError, "either corpus"),
        ({"train": "planted"}, ConfigError, "train must be the path of a table"),
        ({"train": ["a.csv"]}, ConfigError, "train must be the path of a table"),
        ({"test": "b.csv"}, ConfigError, "No corpus is named"),
        ({}, ConfigError, "No corpus is named"),
        (7, ConfigError, "No corpus is named"),
        ({"corpus": "planted", "limit": 0}, ConfigError, "limit"),
        ({"corpus": "planted", "options": 3}, ConfigError, "options must be a mapping"),
    ],
)
def test_a_config_that_cannot_be_meant(spec, error, says):
    with pytest.raises(error, match=re.escape(says)):
        DataConfig.of(spec)
