"""Mutual information of vectors and labels from nearest neighbours, without clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import digamma

from attnlib.utils.errors import ConfigError, DataError


def neighbour_information(vectors: ArrayLike, labels: ArrayLike, *, k: int = 3) -> float:
    r"""I(X; Y) of (n, D) vectors and discrete labels, in nats (Ross 2014; ties as in Gao et al. 2017).

    .. math:: \psi(n) + \langle \psi(k_i) - \psi(n_{y_i}) - \psi(m_i) \rangle

    Within the distance of the k-th nearest vector of its own label, the i-th has k_i others of that label and m_i
    others in all. Vectors that repeat (a word's state without context) give k_i > k, and where all do this becomes
    the plug-in estimate. Vectors whose label occurs once are left out. Below zero means nothing was found.
    """
    vectors, labels = np.asarray(vectors, dtype=float), np.asarray(labels)
    if vectors.ndim != 2 or labels.shape != (len(vectors),) or not len(vectors):
        raise DataError(f"Neighbours need (n, D) vectors and n labels; got {vectors.shape} and {labels.shape}.")
    if k < 1:
        raise ConfigError(f"neighbour_information: k must be at least 1; got {k}.")
    sizes = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    kept = np.array([sizes[label] > 1 for label in labels])
    vectors, labels = vectors[kept], labels[kept]
    if len(set(labels.tolist())) < 2:
        return 0.0
    apart = cdist(vectors, vectors)
    close = 1e-5 * apart.mean()  # the same word in two batches differs by rounding
    np.fill_diagonal(apart, np.inf)
    same = np.where(labels[:, None] == labels, apart, np.inf)
    size = np.array([sizes[label] for label in labels])
    place = np.minimum(k, size - 1) - 1
    radius = np.take_along_axis(np.sort(same, axis=1), place[:, None], 1) + close
    own, within = (same <= radius).sum(1), (apart <= radius).sum(1)
    return float(digamma(len(labels)) + (digamma(own) - digamma(size) - digamma(within)).mean())
