import re
import subprocess
import sys

import pytest

from attnlib.config import DataConfig
from attnlib.data import load_corpus
from attnlib.data.corpora import data_config
from attnlib.utils.errors import ConfigError, UnknownName


def test_unknown_options_name_the_nearest_and_list_the_allowed():
    with pytest.raises(
        ConfigError, match=r"'vocabluary' of corpus 'planted'. Did you mean 'vocabulary'.*n_train.*limit"
    ):
        load_corpus("planted", vocabluary=50)
    with pytest.raises(ConfigError, match="Did you mean 'strict_length_filter'"):
        load_corpus("planted", strict_lenght_filter=True)
    with pytest.raises(ConfigError, match="limit"):
        load_corpus("planted", limit=0)


def test_options_and_config_are_the_same_thing():
    config = DataConfig(corpus="planted", options={"n_train": 40, "n_dev": 9, "n_test": 9}, limit=30, seed=5)
    first = load_corpus(config)
    second = load_corpus("planted", n_train=40, n_dev=9, n_test=9, limit=30, seed=5)
    assert first.fingerprint == second.fingerprint
    assert len(first.train) == 30
    assert len(load_corpus(config, limit=20).train) == 20
    assert load_corpus(DataConfig(**first.options)).fingerprint == first.fingerprint


def test_preprocessing_can_be_changed_for_every_corpus():
    plain = load_corpus("planted", n_train=30, preprocessing={"punctuation": "drop"})
    assert not any("." in e.tokens for e in plain.train)
    assert plain.preprocessing.lower
    with pytest.raises(ConfigError, match="preprocessing must be"):
        load_corpus("planted", preprocessing="lower")
    with pytest.raises(ConfigError, match="Did you mean 'punctuation'"):
        load_corpus("planted", preprocessing={"punctuatio": "drop"})


def test_the_list_of_corpora_does_not_wait_for_heavy_libraries():
    code = "import sys, attnlib.data.corpora as d; list(d.corpora); print([m for m in HEAVY if m in sys.modules])"
    heavy = ("torch", "pandas", "transformers", "datasets", "spacy", "sklearn")
    run = subprocess.run(
        [sys.executable, "-c", code.replace("HEAVY", repr(heavy))], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == "[]"


def test_a_config_as_users_write_it(tmp_path):
    assert data_config("planted") == DataConfig(corpus="planted")
    assert data_config(tmp_path / "a.csv").corpus == str(tmp_path / "a.csv")
    made = data_config({"train": "a.csv", "test": "b.csv", "text": "body", "limit": 30}, {"limit": 10, "seed": 4})
    assert made == DataConfig(corpus="a.csv", options={"test": "b.csv", "text": "body"}, limit=30, seed=4)
    assert data_config({"path": "x.tsv", "sep": ";"}).corpus == "x.tsv"
    assert data_config({"corpus": "anemia", "path": "x.csv"}).options == {"path": "x.csv"}
    assert data_config(made, {"limit": 99}) == made
    steps = data_config({"corpus": "planted", "drop_missing": True, "preprocessing": {"lower": False}}).options
    assert steps == {"drop_missing": True, "preprocessing": {"lower": False}}


@pytest.mark.parametrize(
    ("spec", "error", "says"),
    [
        ({"path": "a.csv", "spe": ";"}, ConfigError, "Did you mean 'sep'"),
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
        data_config(spec)
