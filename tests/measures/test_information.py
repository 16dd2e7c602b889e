"""Mutual information against values known in closed form; what states keep of their words."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures.information import (
    choose_words,
    clusters,
    entropy_of,
    floor,
    information,
    mutual_information,
    occurrences,
    retention,
    states,
)
from attnlib.training.fit import fit

RNG = np.random.default_rng(0)


def test_identical_labels_share_their_entropy() -> None:
    x = RNG.integers(0, 7, 5000)
    assert mutual_information(x, x) == pytest.approx(entropy_of(x))
    assert mutual_information(x, x + 100) == pytest.approx(entropy_of(x)), "names of labels do not matter"


def test_by_hand() -> None:
    # p(0,0) = p(1,1) = 3/8, p(0,1) = p(1,0) = 1/8: I = 2 * 3/8 ln(3/2) + 2 * 1/8 ln(1/2)
    x = [0, 0, 0, 0, 1, 1, 1, 1]
    y = [0, 0, 0, 1, 1, 1, 1, 0]
    assert mutual_information(x, y) == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5))


def test_independent_labels_reach_the_floor() -> None:
    x, y = RNG.integers(0, 15, 8000), RNG.integers(0, 15, 8000)
    plugin = mutual_information(x, y)
    bias = 14 * 14 / (2 * 8000)
    assert plugin == pytest.approx(bias, rel=0.3), "the bias that theory foretells"
    assert abs(plugin - floor(x, y)) < 0.3 * plugin


def test_interval_covers_the_truth_and_comes_with_its_floor() -> None:
    p = np.array([[0.4, 0.1], [0.1, 0.4]])
    truth = float((p * np.log(p / 0.25)).sum())
    cells = RNG.choice(4, 2000, p=p.reshape(-1))
    found = information(cells // 2, cells % 2)
    assert found["low"] < truth < found["high"]
    assert 0 <= found["floor"] < 0.01 < found["information"]


@pytest.mark.parametrize("batch_size", [4096, 100])
def test_clusters_find_separated_groups(batch_size: int) -> None:
    centres = np.eye(6) * 20
    truth = RNG.integers(0, 6, 1200)
    labels = clusters(centres[truth] + RNG.standard_normal((1200, 6)), 6, batch_size=batch_size)
    assert mutual_information(labels, truth) == pytest.approx(entropy_of(truth))


@pytest.mark.parametrize(("distinct", "k"), [(6, 50), (80, 50)])
def test_equal_vectors_share_a_label(distinct: int, k: int) -> None:
    rng = np.random.default_rng(1)
    states = rng.standard_normal((distinct, 8)).astype(np.float32)
    truth = rng.integers(0, distinct, 1000)
    labels = clusters(states[truth], k)
    occupied = len(np.unique(labels))
    assert occupied == 6 if distinct == 6 else 30 < occupied <= k
    assert all(len(np.unique(labels[truth == state])) == 1 for state in range(distinct))
    for y in (truth % 2, rng.integers(0, 3, 1000)):
        assert mutual_information(labels, y) <= mutual_information(truth, y) + 1e-12
    zeros = np.array([[0.0, 1.0], [-0.0, 1.0], [1.0, 0.0]])
    assert clusters(zeros, 3).tolist() == [0, 0, 1], "minus zero is zero"


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
