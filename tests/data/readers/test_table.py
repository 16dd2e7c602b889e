"""Your own files: labels, tokens, and separate files for train, dev and test."""

from pathlib import Path

import pandas as pd
import pytest
from data.readers.written import PAIRS, marked, parts, table

from attnlib.data import load_corpus
from attnlib.data.checks import DataWarning
from attnlib.data.corpora import data_config
from attnlib.store.keys import Keys
from attnlib.store.specs import Corpora, FitSpec
from attnlib.utils.errors import ConfigError, DataError


def test_line_breaks_of_a_page_are_blanks(tmp_path):
    rows = [[f"good<br /><br/>bad x{chr(97 + i)}", i % 2] for i in range(20)]
    corpus = load_corpus(table(tmp_path / "a.csv", ["text", "label"], rows))
    assert all(e.tokens[:2] == ("good", "bad") for _, e in corpus.items())


def three(folder, **columns):
    header = [columns.get("text", "text"), columns.get("label", "label"), "id"]
    for part, n in {"train": 40, "dev": 10, "test": 12}.items():
        rows = [[f"part{part} text {i}", "ab"[i % 2], i] for i in range(n)]
        table(folder / f"reviews_{part}.csv", header, rows)
    return {part: str(folder / f"reviews_{part}.csv") for part in ("train", "dev", "test")}


def test_separate_files(tmp_path):
    files = three(tmp_path)
    corpus = load_corpus(**files)
    assert parts(corpus) == {"train": {"train"}, "dev": {"dev"}, "test": {"test"}}
    assert (corpus.name, corpus.test[3].id) == ("reviews", "test/3")
    assert corpus.fingerprint == load_corpus(files).fingerprint == load_corpus(data_config(files)).fingerprint
    assert load_corpus(files["train"], dev=files["dev"], test=files["test"]).fingerprint == corpus.fingerprint
    no_dev = load_corpus(train=files["train"], test=files["test"])
    assert parts(no_dev) == {"train": {"train"}, "dev": {"train"}, "test": {"test"}}
    assert any("own dev" in note for note in no_dev.notes)
    no_test = load_corpus(train=Path(files["train"]), dev=files["dev"])
    assert parts(no_test)["test"] == {"train"}
    assert any("own test" in note for note in no_test.notes)


def test_separate_files_that_do_not_fit(tmp_path):
    files = three(tmp_path)
    with pytest.raises(DataError, match="two are the same file"):
        load_corpus(train=files["train"], test=files["train"])
    other = table(tmp_path / "o.csv", ["text", "kind"], [["a text", "a"]])
    with pytest.raises(DataError, match=r"test has no column 'label'.*it has text, kind"):
        load_corpus(train=files["train"], test=other)
    mixed = marked(tmp_path / "m.csv", ["TRAIN", "Test"])
    with pytest.raises(DataError, match=r"m: a table is given as train.*puts 20 rows in test.*split=None"):
        load_corpus(train=mixed, test=files["test"])
    with pytest.warns(DataWarning, match="word for word"):
        assert len(load_corpus(train=mixed, test=files["test"], split=None).test) == 12
    with pytest.raises(DataError, match="no file"):
        load_corpus(train=files["train"], test=tmp_path / "absent.csv")


def test_a_run_depends_on_every_file(tmp_path):
    files = three(tmp_path)
    run = FitSpec(data=data_config(files))
    first = Keys(Corpora()).of(run)
    for part in files:
        with Path(files[part]).open("a") as file:
            file.write(f"one more for {part},a,999\n")
        second = Keys(Corpora()).of(run)
        assert second != first
        first = second


def test_clinical_tables_bring_the_papers_settings(tmp_path):
    rows = [[f"Pt [**Name {i}**] with HCT 2{i} stable {chr(97 + i)}", i % 2] for i in range(20)]
    path = table(tmp_path / "anemia.csv", ["text", "label"], rows)
    corpus = load_corpus("anemia", path=str(path))
    assert (corpus.name, corpus.min_df) == ("anemia", 5)
    assert corpus.train[0].tokens[:5] == ("pt", "<de>", "with", "hct", "qqq")
    assert (load_corpus("adr", path=str(path)).min_df, load_corpus("diabetes", path=str(path)).min_df) == (2, 5)
    with pytest.raises(DataError, match=r"may not ship.*load_corpus\('anemia', path='anemia.csv'\)"):
        load_corpus("anemia")


def test_texts_in_memory_are_read_as_from_a_file(tmp_path):
    frame = pd.DataFrame({"body": [t for t, _ in PAIRS], "kind": [y for _, y in PAIRS], "note": [None, 1] * 16})
    frame.to_csv(tmp_path / "texts.csv", index=False)
    named = dict(text="body", label="kind")
    corpus = load_corpus(frame, **named)
    assert corpus.fingerprint == load_corpus(tmp_path / "texts.csv", **named).fingerprint
    assert corpus.fingerprint == load_corpus(PAIRS).fingerprint == load_corpus(corpus).fingerprint
    assert (corpus.name, load_corpus(PAIRS, name="mine", limit=5).name) == ("texts", "mine")
    with pytest.raises(ConfigError, match="options are for texts that are read"):
        load_corpus(corpus, limit=5)
    for wrong in (3, [], ["a text"], [("a", "b", "c")]):
        with pytest.raises(ConfigError, match=r"No corpus is named.*a list of pairs"):
            load_corpus(wrong)
    with pytest.raises(DataError, match="names of their own"):
        load_corpus(pd.DataFrame([["a", "b"]]))
