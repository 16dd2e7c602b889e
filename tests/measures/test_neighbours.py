"""Information by neighbours against values known in closed form."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.special import digamma

from attnlib.measures.information import mutual_information, neighbour_information

RNG = np.random.default_rng(0)


def test_labels_that_place_the_vectors_share_their_entropy() -> None:
    y = RNG.integers(0, 2, 600)
    x = RNG.normal(size=(600, 3))
    assert neighbour_information(x + 50 * y[:, None], y) == pytest.approx(np.log(2), abs=0.01)
    assert neighbour_information(x, y) == pytest.approx(0.0, abs=0.06), "nothing shared"


def test_vectors_that_repeat_give_the_plug_in_estimate() -> None:
    y = RNG.integers(0, 2, 1500)
    word = np.where(RNG.random(1500) < 0.7, y, RNG.integers(0, 5, 1500))
    vectors = np.eye(5)[word] + RNG.normal(size=(1500, 5)) * 1e-9
    assert neighbour_information(vectors, y) == pytest.approx(mutual_information(word, y), abs=0.01)


@pytest.mark.parametrize("k", [1, 3])
def test_neighbours_are_counted_as_defined_far_from_zero_too(k: int) -> None:
    y = np.repeat([0, 1, 2], [2, 30, 40])  # a label of two has one neighbour to offer, whatever k
    x = 1e4 + RNG.normal(size=(72, 6)) + y[:, None]
    terms = []
    for i, row in enumerate(cdist(x, x)):
        others = np.arange(72) != i
        own = others & (y == y[i])
        radius = np.sort(row[own])[min(k, own.sum()) - 1]
        inside = row <= radius
        terms.append(digamma((inside & own).sum()) - digamma(own.sum() + 1) - digamma((inside & others).sum()))
    found = neighbour_information(x, y, k=k)
    assert found == pytest.approx(float(digamma(72) + np.mean(terms)))
