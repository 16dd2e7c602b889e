"""Facts about the measures: ranges, agreement with SciPy, defined answers to bad input."""

import numpy as np
import pytest
import torch
from scipy import stats as scipy_stats
from scipy.spatial.distance import jensenshannon

from attnlib import stats
from attnlib.utils.errors import DataError

RNG = np.random.default_rng(0)
P, Q = RNG.dirichlet(np.ones(7), 20), RNG.dirichlet(np.ones(7), 20)


def test_divergences_agree_with_scipy_and_are_symmetric():
    np.testing.assert_allclose(stats.jsd(P, Q), jensenshannon(P, Q, axis=-1) ** 2, rtol=1e-10)
    np.testing.assert_allclose(stats.jsd(P, Q), stats.jsd(Q, P), rtol=1e-12)
    assert (stats.jsd(P, P) == 0).all()


def test_normalized_entropy():
    assert stats.normalized_entropy([0.25] * 4) == pytest.approx(1.0)
    assert stats.normalized_entropy([1, 0, 0]) == 0.0
    assert np.isnan(stats.normalized_entropy([1.0]))
    p = np.array([[0.5, 0.5, 0, 0], [1, 0, 0, 0]])
    mask = np.array([[1, 1, 0, 0], [1, 0, 0, 0]], dtype=bool)
    value = stats.normalized_entropy(p, mask)
    assert value[0] == pytest.approx(1.0)
    assert np.isnan(value[1])
    assert stats.normalized_entropy([0.5, 0.5, 0, 0]) == pytest.approx(0.5)


@pytest.mark.parametrize("bad", [[0.5, -0.1], [np.nan, 1.0], [], [0.7, 0.7], [0.2, 0.2], [np.inf, 0.0]])
def test_what_is_no_distribution_is_refused(bad):
    with pytest.raises(DataError):
        stats.normalized_entropy(bad)
    for measure in (stats.tvd, stats.jsd):
        for pair in ((bad, [0.5, 0.5]), ([[0.5, 0.5], [0.0, 1.0]], bad)):
            with pytest.raises(DataError):
                measure(*pair)


def test_zeros_are_no_distribution_and_rounding_is_forgiven():
    assert np.isnan(stats.normalized_entropy([0.0, 0.0, 0.0]))
    found = stats.normalized_entropy([[0.0, 0.0], [0.5, 0.5]], [[True, True], [True, True]])
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(1.0)
    for measure in (stats.tvd, stats.jsd):
        value = measure([[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
        assert np.isnan(value[0])
        assert value[1] > 0
    long = torch.rand(2, 20_000, generator=torch.Generator().manual_seed(0)).softmax(-1)
    assert stats.tvd(*long) >= 0


def test_unlike_lengths_are_refused():
    with pytest.raises(DataError, match="same outcomes"):
        stats.jsd([0.5, 0.5], [1.0])
    with pytest.raises(DataError, match="one length"):
        stats.kendall_tau([1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="NaN"):
        stats.kendall_tau([1, np.nan], [1, 2])


def test_kendall_tau_is_scipys_with_ties_and_nan_where_constant():
    x, y = RNG.integers(0, 4, 30), RNG.integers(0, 4, 30)
    assert stats.kendall_tau(x, y) == pytest.approx(scipy_stats.kendalltau(x, y).statistic)
    assert stats.kendall_tau([1, 2, 3], [3, 2, 1]) == pytest.approx(-1)
    assert np.isnan(stats.kendall_tau([1, 1, 1], [1, 2, 3]))
    assert np.isnan(stats.kendall_tau([1], [1]))


def test_weighted_kendall_with_equal_weights_is_kendall_and_sorted_is_one():
    x, y = RNG.random(15), RNG.random(15)
    assert stats.weighted_kendall(x, y, np.ones(15)) == pytest.approx(scipy_stats.kendalltau(x, y).statistic)
    assert stats.weighted_kendall(np.sort(x), np.sort(y), RNG.random(15)) == pytest.approx(1)
    assert stats.weighted_kendall(np.sort(x), -np.sort(y), RNG.random(15)) == pytest.approx(-1)
    assert np.isnan(stats.weighted_kendall(x, y, np.zeros(15)))
    assert stats.weighted_kendall([1, 1], [1, 2], [1, 1]) == 0.0
    with pytest.raises(DataError, match="one finite weight"):
        stats.weighted_kendall(x, y, [1.0])
