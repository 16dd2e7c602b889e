"""Arguments of a wrong kind, to the functions that take a model and texts: refused with a sentence."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib.utils.errors import ConfigError, DataError


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
    "heatmap": lambda model, texts: al.heatmap(model, texts),
    "explore": lambda model, texts: al.explore(model, texts),
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


def test_one_string_is_one_text(fitted, corpus):
    assert '"name":"a great morning"' in al.explore(fitted, "a great morning").html
    with pytest.raises(ConfigError, match="needs a model"):
        al.explore({}, corpus.test)


@pytest.mark.parametrize("sets", [[0], [[0.5]], [["a"]], 3, None])
def test_sets_that_name_no_words(fitted, sets):
    with pytest.raises(DataError, match="sets of whole numbers"):
        al.erase(fitted, ["a great morning"], [sets])


def test_configs_in_the_wrong_order(corpus):
    with pytest.raises(ConfigError, match="fit takes a ModelConfig, then a TrainConfig; got TrainConfig"):
        al.fit(corpus, al.TrainConfig())


def test_rows_of_a_heat_map_are_names(fitted):
    with pytest.raises(ConfigError, match=r"names.*got ndarray.*text_heatmap"):
        al.heatmap(fitted, "a great morning", [np.ones(3)])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_config_holds_finite_numbers(value):
    with pytest.raises(ConfigError, match="learning_rate"):
        al.TrainConfig(learning_rate=value)


def test_a_grid_of_something_else(tmp_path):
    with pytest.raises(ConfigError, match=r"FitSpecs and MeasureSpecs; got 'lstm'"):
        al.run_grid(["lstm"], store=tmp_path)
    with pytest.raises(ConfigError, match="FitSpecs and MeasureSpecs; got None"):
        al.run_grid(None, store=tmp_path)
