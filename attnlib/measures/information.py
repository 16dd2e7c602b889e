r"""Mutual information between discrete labels, such as those of clustered vectors.

.. math:: I(X; Y) = \sum_{x, y} p(x, y) \ln \frac{p(x, y)}{p(x)\,p(y)} \quad \text{in nats}

The plug-in estimate from n samples is biased upwards by about :math:`(K_{xy} - K_x - K_y + 1) / 2n`, K counting
the occupied cells. So every estimate here comes with its floor: the value for shuffled labels, which share nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from attnlib.utils.errors import DataError

SHUFFLES = 20
"""Permutations of one side that a floor is the mean of."""


def mutual_information(x: ArrayLike, y: ArrayLike) -> float:
    """I(X; Y) of two label sequences, in nats, by the sample frequencies (the papers)."""
    return plugin(*_labels(x, y))


def floor(x: ArrayLike, y: ArrayLike, *, seed: int = 0) -> float:
    """What bias alone gives: the mean plug-in value of `SHUFFLES` permutations of y."""
    x, y = _labels(x, y)
    rng = np.random.default_rng([seed, 1])
    return float(np.mean([plugin(x, rng.permutation(y)) for _ in range(SHUFFLES)]))


def information(x: ArrayLike, y: ArrayLike, *, resamples: int = 200, seed: int = 0) -> dict[str, float]:
    """The plug-in estimate, `information`, with its `floor` and a bootstrap interval (`low`, `high`) over samples.

    A bootstrap sample repeats values and so carries more bias than the sample itself: the spread of the draws about
    their median is used, not where they lie. The interval keeps between zero and the smaller entropy of the two.
    """
    x, y = _labels(x, y)
    value, rng = plugin(x, y), np.random.default_rng(seed)
    samples = [rng.integers(0, len(x), len(x)) for _ in range(resamples)]
    draws = [plugin(x[rows], y[rows]) for rows in samples]
    low, middle, high = np.quantile(draws, [0.025, 0.5, 0.975])
    most = max(value, min(entropy_of(x), entropy_of(y)))
    low, high = max(value - (high - middle), 0.0), min(value + (middle - low), most)
    return {"information": value, "low": float(low), "high": float(high), "floor": floor(x, y, seed=seed)}


def entropy_of(x: ArrayLike) -> float:
    """Plug-in entropy of labels, in nats."""
    counts = np.unique(np.asarray(x), return_counts=True)[1]
    p = counts / counts.sum()
    return float(-(p * np.log(p)).sum())


def clusters(vectors: ArrayLike, k: int, *, seed: int = 0, batch_size: int = 4096) -> np.ndarray:
    """Labels of k-means over (n, D) vectors, by mini-batches where there are more than `batch_size` of them.

    Equal vectors share a label: the distinct ones are clustered, each with the weight of its copies; up to k
    give each its own. Large batches are faster and reach lower inertia than Tutek & Šnajder's 100.
    """
    from sklearn.cluster import KMeans, MiniBatchKMeans

    distinct, copy_of, copies = _distinct(np.ascontiguousarray(vectors, dtype=np.float32))
    if len(distinct) <= k:
        return copy_of
    if len(distinct) <= batch_size:
        means = KMeans(k, n_init=1, random_state=seed)
        distinct = distinct.astype(np.float64)  # scikit-learn is faster with them than with single precision
    else:
        means = MiniBatchKMeans(k, batch_size=batch_size, n_init=1, random_state=seed)
    return means.fit_predict(distinct, sample_weight=copies)[copy_of]


def _distinct(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The distinct rows in order of appearance, the place of each row among them, and how often each occurs."""
    places: dict[bytes, int] = {}
    copy_of = np.array([places.setdefault(row.tobytes(), len(places)) for row in rows + 0.0])  # -0 is 0
    first = np.unique(copy_of, return_index=True)[1]
    return rows[first], copy_of, np.bincount(copy_of)


def plugin(x: np.ndarray, y: np.ndarray) -> float:
    """The plug-in estimate for labels that are whole numbers from 0 on; not all of them need occur."""
    n = len(x)
    cells, counts = np.unique(x * (y.max() + 1) + y, return_counts=True)
    of_x, of_y = np.bincount(x), np.bincount(y)
    expected = of_x[cells // (y.max() + 1)] * of_y[cells % (y.max() + 1)]
    return max(0.0, float((counts / n * np.log(counts * n / expected)).sum()))


def _labels(x: ArrayLike, y: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    x, y = np.asarray(x), np.asarray(y)
    if x.ndim != 1 or x.shape != y.shape or not len(x):
        raise DataError(f"Mutual information needs two label sequences of one length; got {x.shape} and {y.shape}.")
    return tuple(np.unique(side, return_inverse=True)[1].reshape(-1).astype(np.int64) for side in (x, y))
