"""What states keep of their words: everything where the state is the word, nothing where it is noise."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures.information import choose_words, occurrences, retention, states
from attnlib.training.fit import fit

FEW = {"words": 20, "k": 20, "most": 800}


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=20, n_test=20)


@pytest.fixture(scope="module")
def words_alone(corpus):
    """A model whose states are the word vectors themselves."""
    return fit(corpus, ModelConfig(encoder="none", embedding_size=12), TrainConfig(epochs=0), seed=0)


@pytest.fixture(scope="module")
def untrained(corpus):
    return fit(corpus, ModelConfig(hidden_size=12, embedding_size=12), TrainConfig(epochs=0), seed=0)


def test_a_state_that_is_its_word_knows_all_of_it(corpus, words_alone) -> None:
    found = retention(words_alone, corpus, **FEW)
    assert found["metric"].tolist() == ["mi_most_frequent", "mi_random_sample"]
    for _, row in found.iterrows():
        assert row["value"] == pytest.approx(row["ceiling"])
        assert 0 < row["floor"] < row["value"]
        assert (row["words"], row["k"]) == (20, 20)
        assert row["n"] <= 800


def test_a_constant_state_knows_nothing(corpus, words_alone) -> None:
    with torch.no_grad():
        kept = words_alone.model.embedding.weight.clone()
        words_alone.model.embedding.weight.zero_()
        row = retention(words_alone, corpus, **FEW).iloc[0]
        words_alone.model.embedding.weight.copy_(kept)
    assert row["value"] == 0
    assert row["ceiling"] > 1


def test_the_most_frequent_words(corpus) -> None:
    counts = Counter(t for e in corpus.train for t in e.tokens)
    chosen = choose_words(corpus, 10, "mi_most_frequent")
    assert min(counts[w] for w in chosen) >= max(c for w, c in counts.items() if w not in chosen)


def test_states_stand_at_their_words(corpus, words_alone) -> None:
    chosen = choose_words(corpus, 15, "mi_most_frequent")
    places = occurrences(words_alone, list(corpus.train), chosen, 200)
    assert len(places) == 200
    vocabulary = words_alone.vectoriser.vocabulary
    for row, position, word in places.head(20).itertuples(index=False):
        assert vocabulary.words[word] == corpus.train[row].tokens[position]
    hidden = states(words_alone, list(corpus.train), places)
    table = words_alone.model.embedding.weight.detach().numpy()
    np.testing.assert_allclose(hidden, table[places["id"]], atol=1e-6)
