"""Facts about the measures: hand-worked values, ranges, agreement with SciPy, defined answers to bad input."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import stats as scipy_stats
from scipy.spatial.distance import jensenshannon

from attnlib import stats
from attnlib.utils.errors import DataError

RNG = np.random.default_rng(0)
P, Q = RNG.dirichlet(np.ones(7), 20), RNG.dirichlet(np.ones(7), 20)


def test_hand_worked_divergences():
    p, q = [0.5, 0.5], [0.25, 0.75]
    assert stats.kl(p, q) == pytest.approx(0.5 * np.log(2) + 0.5 * np.log(2 / 3))
    assert stats.tvd(p, q) == pytest.approx(0.25)
    assert stats.jsd([1, 0], [0.5, 0.5]) == pytest.approx(
        0.5 * np.log(4 / 3) + 0.25 * np.log(2 / 3) + 0.25 * np.log(2)
    )


def test_disjoint_supports_reach_the_bounds():
    assert stats.jsd([1, 0, 0], [0, 0.5, 0.5]) == pytest.approx(np.log(2), abs=1e-15)
    assert stats.jsd([1, 0, 0], [0, 0.5, 0.5]) <= np.log(2)
    assert stats.tvd([1, 0, 0], [0, 0.5, 0.5]) == 1.0
    assert stats.kl([1, 0], [0, 1]) == np.inf
    assert stats.kl([1, 0], [0, 1], floor=1e-12) == pytest.approx(12 * np.log(10))


def test_binary_total_variation_is_the_difference_of_probabilities():
    a, b = RNG.random(50), RNG.random(50)
    both = stats.tvd(np.stack([a, 1 - a], -1), np.stack([b, 1 - b], -1))
    np.testing.assert_allclose(both, np.abs(a - b), atol=1e-15)


def test_divergences_agree_with_scipy_and_are_symmetric():
    np.testing.assert_allclose(stats.kl(P, Q), scipy_stats.entropy(P, Q, axis=-1), rtol=1e-12)
    np.testing.assert_allclose(stats.jsd(P, Q), jensenshannon(P, Q, axis=-1) ** 2, rtol=1e-10)
    np.testing.assert_allclose(stats.jsd(P, Q), stats.jsd(Q, P), rtol=1e-12)
    assert (stats.jsd(P, P) == 0).all()


def test_padding_adds_nothing():
    padded = [np.pad(x, ((0, 0), (0, 5))) for x in (P, Q)]
    for measure in (stats.kl, stats.jsd, stats.tvd):
        np.testing.assert_allclose(measure(*padded), measure(P, Q), atol=1e-15)
        assert np.isfinite(measure(*padded)).all()
    np.testing.assert_allclose(stats.entropy(padded[0]), stats.entropy(P), atol=1e-15)


def test_tensors_are_accepted():
    assert stats.jsd(torch.tensor([1.0, 0.0]), torch.tensor([0.0, 1.0])) == pytest.approx(np.log(2))


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
    for measure in (stats.entropy, stats.normalized_entropy):
        with pytest.raises(DataError):
            measure(bad)
    for measure in (stats.tvd, stats.jsd, stats.kl):
        for pair in ((bad, [0.5, 0.5]), ([[0.5, 0.5], [0.0, 1.0]], bad)):
            with pytest.raises(DataError):
                measure(*pair)


def test_weight_outside_a_mask_is_refused():
    with pytest.raises(DataError, match=r"sums to 0\.5"):
        stats.normalized_entropy([[0.5, 0.0, 0.5]], [[True, True, False]])


def test_zeros_are_no_distribution_and_rounding_is_forgiven():
    assert np.isnan(stats.normalized_entropy([0.0, 0.0, 0.0]))
    found = stats.normalized_entropy([[0.0, 0.0], [0.5, 0.5]], [[True, True], [True, True]])
    assert np.isnan(found[0])
    assert found[1] == pytest.approx(1.0)
    for measure in (stats.tvd, stats.jsd, stats.kl):
        value = measure([[0.0, 0.0], [1.0, 0.0]], [0.5, 0.5])
        assert np.isnan(value[0])
        assert value[1] > 0
    long = torch.rand(2, 20_000, generator=torch.Generator().manual_seed(0)).softmax(-1)
    assert stats.tvd(*long) >= 0


def test_unlike_lengths_are_refused():
    with pytest.raises(DataError, match="same outcomes"):
        stats.kl([0.5, 0.5], [1.0])
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


def test_weighted_kendall_by_hand():
    # pairs (0,1): agree, weight 6; (0,2): disagree, 3; (1,2): disagree, 2 -> (6 - 3 - 2) / 11
    assert stats.weighted_kendall([1, 2, 0], [1, 2, 3], [3, 2, 1]) == pytest.approx(1 / 11)


def test_weighted_kendall_with_equal_weights_is_kendall_and_sorted_is_one():
    x, y = RNG.random(15), RNG.random(15)
    assert stats.weighted_kendall(x, y, np.ones(15)) == pytest.approx(scipy_stats.kendalltau(x, y).statistic)
    assert stats.weighted_kendall(np.sort(x), np.sort(y), RNG.random(15)) == pytest.approx(1)
    assert stats.weighted_kendall(np.sort(x), -np.sort(y), RNG.random(15)) == pytest.approx(-1)
    assert np.isnan(stats.weighted_kendall(x, y, np.zeros(15)))
    assert stats.weighted_kendall([1, 1], [1, 2], [1, 1]) == 0.0
    with pytest.raises(DataError, match="one weight"):
        stats.weighted_kendall(x, y, [1.0])


def test_ranks_and_order():
    assert stats.descending([0.1, 0.9, 0.9, 0.5]).tolist() == [1, 2, 3, 0]
    assert stats.ranks([0.1, 0.9, 0.9, 0.5]).tolist() == [4, 1.5, 1.5, 3]


def test_bootstrap_covers_the_mean_like_the_normal_interval():
    x = np.random.default_rng(1).normal(3, 2, 400)
    found = stats.bootstrap(x, resamples=4000)
    half = 1.96 * x.std(ddof=1) / 20
    assert found.estimate == pytest.approx(x.mean())
    assert found.low == pytest.approx(x.mean() - half, abs=0.03)
    assert found.high == pytest.approx(x.mean() + half, abs=0.03)
    assert (found.n, found.missing) == (400, 0)
    assert stats.bootstrap(x, resamples=300) == stats.bootstrap(x, resamples=300)


def test_seeds_widen_the_interval():
    rng = np.random.default_rng(2)
    seeds = np.repeat(np.arange(5), 200)
    x = rng.normal(0, 1, 1000) + np.repeat(rng.normal(0, 2, 5), 200)
    flat, nested = stats.bootstrap(x), stats.bootstrap(x, groups=seeds)
    crossed = stats.bootstrap(x, groups=seeds, instances=np.tile(np.arange(200), 5))
    for found in (nested, crossed):
        assert found.high - found.low > 3 * (flat.high - flat.low)
        assert found.estimate == flat.estimate


def test_the_same_texts_in_every_seed_are_not_more_texts():
    texts = np.random.default_rng(3).normal(0, 1, 50)
    x, seeds, ids = np.tile(texts, 10), np.repeat(np.arange(10), 50), np.tile(np.arange(50), 10)
    crossed, once = stats.bootstrap(x, groups=seeds, instances=ids), stats.bootstrap(texts)
    assert crossed.high - crossed.low == pytest.approx(once.high - once.low, rel=0.1)


@pytest.mark.parametrize("kept", [10**6, 100])
def test_crossed_bootstrap_is_its_definition(monkeypatch, kept):
    """A value weighs as often as its text and its seed were drawn, whether the draws are kept or made in blocks."""
    monkeypatch.setattr(stats, "KEPT", kept)
    rng = np.random.default_rng(5)
    x, ids, seeds = rng.normal(size=60), rng.integers(0, 12, 60), rng.integers(0, 3, 60)
    draws, means = np.random.default_rng(0), []
    for _ in range(40):
        weight = draws.multinomial(12, np.full(12, 1 / 12))[ids] * draws.multinomial(3, np.full(3, 1 / 3))[seeds]
        means.append(weight @ x / weight.sum())
    found = stats.bootstrap(x, groups=seeds, instances=ids, resamples=40)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(means, [0.025, 0.975])), rel=1e-12)


def test_bootstrap_of_a_frame_and_its_missing_values():
    frame = pd.DataFrame({"value": [1.0, 2.0, np.nan, 3.0], "seed": [0, 0, 1, 1], "id": list("abab")})
    found = stats.bootstrap(frame, groups="seed", instances="id", resamples=200)
    assert (found.estimate, found.n, found.missing) == (2.0, 3, 1)
    with pytest.raises(DataError, match="no column 'sede'"):
        stats.bootstrap(frame, groups="sede")


def test_too_few_values_have_no_interval():
    one, none = stats.bootstrap([2.0]), stats.bootstrap([np.nan])
    assert (one.estimate, one.n) == (2.0, 1)
    assert np.isnan(one.low)
    assert np.isnan(none.estimate)
    assert (none.n, none.missing) == (0, 1)


def test_paired_difference():
    rng = np.random.default_rng(4)
    noise = rng.normal(0, 5, 200)
    a, b = noise + 0.3 + rng.normal(0, 0.5, 200), noise
    found = stats.paired_bootstrap(a, b)
    assert found.low > 0
    assert found.p < 0.01
    assert stats.paired_bootstrap(b, b + rng.normal(0, 1, 200)).p > 0.05
    assert stats.paired_bootstrap([1, np.nan, 2], [0, 1, np.nan]).missing == 2
    with pytest.raises(DataError, match="pair"):
        stats.paired_bootstrap([1, 2], [1])


def test_holm_by_hand():
    np.testing.assert_allclose(stats.holm([0.01, 0.04, 0.03, np.nan]), [0.03, 0.06, 0.06, np.nan])
    with pytest.raises(DataError):
        stats.holm([1.2])


def test_several_values_of_one_text_under_one_seed_have_no_interval():
    alone = {"groups": [0, 0, 0], "instances": ["a", "a", "a"]}
    found = stats.bootstrap([0.1, 0.5, 0.9], **alone)
    assert found.estimate == pytest.approx(0.5)
    assert np.isnan([found.low, found.high]).all()
    difference = stats.paired_bootstrap([0.1, 0.5, 0.9], [0.0, 0.0, 0.0], **alone)
    assert np.isnan([difference.low, difference.high, difference.p]).all()
    assert not np.isnan(stats.bootstrap([0.1, 0.5, 0.9], groups=[0, 1, 2], instances=["a", "a", "a"]).low)


def test_an_expanded_interval_of_few_units_covers_as_often_as_it_says():
    rng = np.random.default_rng(0)
    samples = rng.normal(size=(400, 3))
    plain = [stats.bootstrap(x, resamples=300) for x in samples]
    assert np.mean([f.low <= 0 <= f.high for f in plain]) < 0.85
    factor = stats.expansion(3)
    wide = [stats.widened(f.estimate, f.low, f.high, 3) for f in plain]
    assert np.mean([low <= 0 <= high for low, high in wide]) > 0.92
    assert factor == pytest.approx(1.5**0.5 * 4.3027 / 1.95996, abs=1e-4)
    assert stats.expansion(1000) == pytest.approx(1, abs=0.01)
    assert np.isnan(stats.expansion([1, 2]))[0]
