"""Names, options and arguments of a wrong kind: refused with a sentence, and nothing is waited for."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hostile.cases import meets, table

import attnlib as al
from attnlib.utils.errors import ConfigError, DataError

NAMES = [
    ("nope.csv", "There is no file"),
    ("no/such/folder/a.csv", "does not exist either"),
    ("a\0b.csv", "cannot be a path|no file"),
    ("x" * 5000 + ".csv", "cannot be a path"),
    ("text,label\ngood,1\nbad,0\n" * 300, "cannot be a path"),
    ("~nobody-of-that-name/a.csv", "cannot be a path"),
    ("pipe.csv", "There is no file"),
    ("nowhere.csv", "no file|cannot be a path"),
    ("round.csv", "no file|cannot be a path"),
    (".", "not a table"),
    ("a.xlsx", "Unknown corpus"),
    ("hub:", "not a name of the hub"),
    ("hub:../../x", "hub"),
    ("http://example.org/a.csv", "There is no file"),
    ("/dev/zero", "Unknown corpus|not a table"),
    ("/dev/stdin.csv", "There is no file"),
    *((name, "No corpus is named") for name in ("", None, 3, b"a.csv", {"corpus": None})),
    ({"train": "nope.csv", "test": "nope.csv"}, "same file|no file"),
    ({"train": Path("a.csv"), "dev": 3}, "cannot be a path|not a table"),
]


@pytest.mark.parametrize(("name", "says"), NAMES, ids=lambda value: str(value)[:30].replace("\0", "0"))
def test_names_that_are_no_corpus(tmp_path, monkeypatch, name, says):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("pipe.csv")
    Path("nowhere.csv").symlink_to(tmp_path / "gone.csv")
    Path("round.csv").symlink_to(tmp_path / "round.csv")
    meets(lambda: al.load_corpus(name), says, tmp_path)


OPTIONS = [
    ({"limit": -5}, "limit"),
    ({"limit": "many"}, "limit"),
    ({"max_length": 0}, "max_length"),
    ({"min_df": 0}, "min_df"),
    ({"seed": -1}, "seed"),
    ({"preprocessing": {"clean": "rm -rf"}}, "'none', 'sst' or 'mimic'"),
    ({"preprocessing": 7}, "preprocessing must be"),
    ({"preprocessing": {1: "x"}}, "preprocessing.*valid string"),
    ({"drop_missing": "perhaps"}, "drop_missing"),
    ({"options": "x"}, "options must be a mapping"),
    ({"train": "b.csv"}, "either corpus"),
    ({"path": "b.csv"}, "Unknown option 'path'"),
    ({"__class__": "x"}, "Unknown option '__class__'"),
]


@pytest.mark.parametrize(("options", "says"), OPTIONS, ids=str)
def test_options(tmp_path, options, says):
    (tmp_path / "a.csv").write_bytes(table())
    meets(lambda: al.load_corpus(tmp_path / "a.csv", **options), says, tmp_path)


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=60, n_dev=10, n_test=6)


@pytest.fixture(scope="module")
def fitted(corpus):
    return al.fit(corpus, al.ModelConfig(encoder="none", embedding_size=4), al.TrainConfig(epochs=1))


CALLS = {
    "importance": lambda model, texts: al.importance(model, texts, "alpha"),
    "fraction_to_flip": lambda model, texts: al.fraction_to_flip(model, texts, "alpha"),
    "top_token_flips": lambda model, texts: al.top_token_flips(model, texts, "alpha"),
    "comprehensiveness": lambda model, texts: al.comprehensiveness(model, texts, "alpha"),
    "erase": lambda model, texts: al.erase(model, texts, [[[0]]]),
    "heatmap": al.heatmap,
    "explore": al.explore,
}


@pytest.mark.parametrize("name", CALLS)
def test_no_model_and_no_texts(fitted, corpus, name):
    call = CALLS[name]
    with pytest.raises(ConfigError, match=r"got NoneType. The model comes first"):
        call(None, corpus.test)
    with pytest.raises(ConfigError, match=r"Load it: al.load_model\('my-model'\)"):
        call("my-model", corpus.test)
    for texts in (corpus, None, {"text": ["good"]}, pd.DataFrame({"text": ["good"]})):
        with pytest.raises(DataError, match=f"got {type(texts).__name__}. Of a corpus, give a part"):
            call(fitted, texts)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        *(
            (lambda fitted, sets=sets: al.erase(fitted, ["a great morning"], [sets]), "sets of whole numbers")
            for sets in ([0], [[0.5]], [["a"]], 3, None)
        ),
        (lambda fitted: al.fit(["a text"], al.TrainConfig()), "got TrainConfig, TrainConfig"),
        (
            lambda fitted: al.heatmap(fitted, "a great morning", [np.ones(3)]),
            "row of a heat map.*Available: alpha",
        ),
        (lambda fitted: al.explore({}, ["a text"]), "needs a model"),
        (lambda fitted: al.TrainConfig(learning_rate=float("nan")), "learning_rate"),
        (lambda fitted: al.TrainConfig(learning_rate=float("inf")), "learning_rate"),
        (lambda fitted: al.run_grid(["lstm"]), "FitSpecs and MeasureSpecs; got 'lstm'"),
        (lambda fitted: al.run_grid(None), "FitSpecs and MeasureSpecs; got None"),
    ],
)
def test_arguments_of_a_wrong_kind(tmp_path, monkeypatch, fitted, call, says):
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path))
    meets(lambda: call(fitted), says, tmp_path)
