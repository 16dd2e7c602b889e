"""Information by attention rank, on states whose information is set by hand and on a small trained model."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib import stats
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures import rank_information as ri
from attnlib.training.fit import fit
from attnlib.utils.errors import DataError


def _states(informative: list[float], n: int = 240, seed: int = 0) -> ri.RankedStates:
    """Ranks whose states give the class away (1), hint at it, or are noise (0)."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    noise = rng.normal(size=(n, len(informative), 4)).astype(np.float32) * 0.2
    hidden = noise + 5 * np.array(informative)[None, :, None] * np.eye(4, dtype=np.float32)[y][:, None]
    alpha = np.tile(np.linspace(0.5, 0.1, len(informative)), (n, 1))
    return ri.RankedStates(alpha, hidden, np.full(n, len(informative)), np.full(n, 0.8), np.eye(3)[y])


def test_attention_that_finds_the_informative_states_has_a_high_tau() -> None:
    ranks, good = ri.rank_information(_states([1, 0.12, 0.06, 0]), [5, 8], resamples=20)
    _, bad = ri.rank_information(_states([0, 0.06, 0.12, 1]), [5, 8], resamples=20)
    assert ranks["information"][0] == pytest.approx(np.log(3), abs=0.02), "the whole entropy of three classes"
    assert ranks["information"].is_monotonic_decreasing
    assert good["tau"] == 1.0
    assert bad["tau"] == -1.0
    assert (ranks["low"] <= ranks["information"]).all()
    assert (ranks["information"] <= ranks["high"]).all()


def test_the_order_of_the_texts_does_not_matter() -> None:
    states = _states([1, 0.12, 0.06, 0], n=120)
    states.alpha[:] += np.random.default_rng(1).random(120)[:, None] / 100
    order = np.random.default_rng(2).permutation(120)
    for some in (states, states._replace(logits=states.logits[:, :2])):  # of three classes, and the margin of two
        ranks, facts = ri.rank_information(some, [5, 8], resamples=10)
        again, same = ri.rank_information(
            ri.RankedStates(*(values[order] for values in some)), [5, 8], resamples=10
        )
        np.testing.assert_allclose(ranks, again, atol=1e-12)
        assert facts == pytest.approx(same, abs=1e-12)


def test_tau_is_shiehs_with_mean_weights() -> None:
    ranks, facts = ri.rank_information(_states([1, 0, 1]), [6], resamples=10)
    a = ranks["alpha"]
    assert facts["tau"] == stats.weighted_kendall(ranks["information"].round(ri.DIGITS), a, a)


def test_short_texts_are_left_out_rank_by_rank() -> None:
    states = _states([1, 1, 1])
    states.lengths[:40] = 2
    ranks, _ = ri.rank_information(states, [6], resamples=10)
    assert ranks["n"].tolist() == [240, 240, 200]
    states.lengths[:1] = 0
    with pytest.raises(DataError, match="attended position"):
        ri.rank_information(states, [6])
    states.lengths[:] = 1
    with pytest.raises(DataError, match="no ranks to compare"):
        ri.rank_information(states, [6])


def test_more_clusters_than_half_the_texts_are_not_on_offer() -> None:
    for counts, chosen in (([6, 30], 6), ([100, 50], 20)):
        assert ri.rank_information(_states([1, 0], n=40), counts, resamples=5)[1]["clusters"] == chosen


def test_a_constant_output_has_no_tau() -> None:
    states = _states([1, 0.5, 0])._replace(logits=np.ones((240, 3)))
    _, flat = ri.rank_information(states, [6], resamples=5)
    assert np.isnan([flat["tau"], flat["over_texts"]]).all()


def test_number_of_ranks() -> None:
    even = [np.full(n, 1 / n) for n in range(10, 31)]
    assert ri.number_of_ranks(even) == 12, "the 10th percentile of lengths"
    sharp = np.array([0.5, 0.3, 0.2 - 1e-7, 5e-8, 5e-8, 0, 0, 0, 0, 0])
    assert ri.number_of_ranks([sharp] * 20) == 3, "weights up to 1e-5 are none"
    assert ri.number_of_ranks([sharp] * 3 + [np.full(10, 0.1)] * 17) == 10, "85 % still have weight"
    assert ri.number_of_ranks([np.array([1.0, 0, 0])] * 9) == 2, "a correlation needs two"


def test_number_of_clusters_is_the_largest_without_lone_points() -> None:
    corners = np.repeat(np.eye(6) * 10, 4, axis=0) + np.random.default_rng(0).normal(size=(24, 6)) * 0.1
    n, labels = ri.number_of_clusters(corners, [3, 6])
    assert n == 6
    assert np.bincount(labels).tolist() == [4] * 6
    assert ri.number_of_clusters(corners, [3, 6, 24])[0] == 6
    assert ri.number_of_clusters(corners[::4], [6])[0] == 6, "none will do: the smallest"


def test_ranked_states_of_a_model() -> None:
    corpus = load_corpus("planted", n_train=40, n_dev=10, n_test=20)
    fitted = fit(corpus, ModelConfig(hidden_size=6, embedding_size=5), TrainConfig(epochs=1))
    found = ri.ranked(fitted, corpus.test)
    assert (np.diff(found.alpha, axis=1) <= 0).all()
    for i in (0, 7, 19):
        trace = fitted.trace([corpus.test[i]])
        alpha = trace.alpha[0].double().numpy()
        order = np.argsort(-alpha, kind="stable")[: found.alpha.shape[1]]
        np.testing.assert_allclose(found.alpha[i, : len(order)], alpha[order], atol=1e-6)
        np.testing.assert_allclose(found.hidden[i, : len(order)], trace.hidden[0].numpy()[order], atol=1e-5)
        assert found.lengths[i] == len(corpus.test[i].tokens)
        assert found.entropy[i] == pytest.approx(stats.normalized_entropy(alpha), abs=1e-5)
    assert ri.ranked(fitted, corpus.test, 3).hidden.shape == (20, 3, 6)
