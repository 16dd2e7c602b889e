"""Measures of the TaSc study on a tiny planted corpus."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.config import TrainConfig
from attnlib.studies.tasc.grid import RANKINGS, faithfulness, words

PLAIN = {"baselines": [], "texts": None, "baseline_texts": None, "ig_steps": 4}
QUICK = TrainConfig(epochs=2, learning_rate=1e-2)


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=60, n_dev=20, n_test=12)


@pytest.fixture(scope="module")
def fitted(corpus):
    return al.fit(corpus, al.ModelConfig(encoder="mlp", scaling="lin", hidden_size=8, embedding_size=8), QUICK)


def test_faithfulness_holds_every_ranking_and_text(corpus, fitted):
    options = PLAIN | {"baselines": ["omission"], "texts": 7, "baseline_texts": 4}
    found = faithfulness(fitted, corpus, **options)
    flips = found["flips"]
    texts = {name: set(part["instance"]) for name, part in flips.groupby("importance")}
    assert {name: len(own) for name, own in texts.items()} == dict.fromkeys(RANKINGS, 7) | {"omission": 4}
    assert texts["omission"] < texts["alpha"], "the slower rankings look at some of the same texts"
    direct = al.fraction_to_flip(fitted, [e for e in corpus.test if e.id in texts["alpha"]], "alpha")
    mine = flips[flips["importance"] == "alpha"]
    np.testing.assert_array_equal(mine["fraction"].to_numpy(), direct["fraction"].to_numpy())
    labels = found["labels"]
    accuracy = (labels["truth"] == labels["prediction"]).mean()
    assert (len(labels), accuracy) == (12, pytest.approx(fitted.evaluate(corpus.test)["accuracy"]))


def test_words_read_u_and_s_of_every_word_that_occurs(corpus, fitted):
    frame = words(fitted, corpus).set_index("word")
    word = corpus.train[0].tokens[0]
    where = corpus.vocabulary.ids([word])[0]
    u = fitted.model.scaling.table.weight[where].item()
    assert frame["u"][word] == pytest.approx(u)
    assert frame["s"][word] == pytest.approx(u * fitted.model.embedding.weight[where].sum().item(), rel=1e-4)
    assert frame["count"].sum() == sum(len(e) for e in corpus.train)
