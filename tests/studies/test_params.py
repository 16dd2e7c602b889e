"""Datasets as parameters name them."""

from __future__ import annotations

import pickle

import pytest

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.studies.datasets import Dataset
from attnlib.studies.params import StudyParams
from attnlib.studies.tasc.params import Params as Tasc
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("spec", "name", "corpus"),
    [
        ("sst", "sst", "sst"),
        ("20news", "20news", "20news"),
        ("data/reviews.csv", "reviews", "data/reviews.csv"),
        ("hub:stanfordnlp/sst2", "hub:stanfordnlp/sst2", "hub:stanfordnlp/sst2"),
        ({"corpus": "sst", "path": "data/sst"}, "sst", "sst"),
        ({"path": "data/reviews.csv", "text": "body"}, "reviews", "data/reviews.csv"),
        ({"train": "reviews/train.csv", "test": "reviews/test.csv"}, "reviews", "reviews/train.csv"),
        ({"name": "imdb10", "corpus": "aclimdb", "labels": "stars"}, "imdb10", "aclimdb"),
    ],
)
def test_a_data_set_has_a_name_and_a_source(spec, name: str, corpus: str) -> None:
    found = Dataset(spec)
    assert (found, found.corpus, found.config().corpus) == (name, corpus, corpus)
    assert pickle.loads(pickle.dumps(found)).spec == spec


def test_a_name_of_ones_own_is_that_of_the_corpus() -> None:
    params = Tasc(corpora={"corpus": "planted", "n_train": 40, "n_dev": 10, "n_test": 10, "name": "mine"})
    assert load_corpus(params.data("mine")).name == params.corpora[0] == "mine"


def test_two_files_of_one_name_need_names_of_their_own() -> None:
    with pytest.raises(ConfigError, match="each once"):
        Tasc(corpora=["a/reviews.csv", "b/reviews.csv"])
    params = Tasc(corpora=["a/reviews.csv", {"path": "b/reviews.csv", "name": "other"}])
    assert [params.data(name).corpus for name in params.corpora] == ["a/reviews.csv", "b/reviews.csv"]


def test_configs_take_the_parameters_of_their_names_unless_told_otherwise() -> None:
    class Own(StudyParams):
        epochs: int = 3
        max_length: int | None = 40

    params = Own(limit=7, vectors="glove")
    assert params.config(ModelConfig).vectors == "glove"
    assert params.config(TrainConfig) == TrainConfig(epochs=3)
    assert params.config(TrainConfig, epochs=1, patience=None) == TrainConfig(epochs=1, patience=None)
    assert (params.data("planted").limit, params.data("planted").max_length) == (7, 40)
    assert params.data("planted", limit=None).limit is None
