r"""Attention rank against information (Wen et al. 2022, section 3.2, Figure 1).

The hidden states of each text are sorted by their attention weights. For each rank r, the states of that rank, one
per text, are clustered, and so is the model's output:

.. math:: m_r = I(\mathrm{cluster}(h_{(r)}); \mathrm{cluster}(\hat y)), \qquad
          \bar a_r = \text{mean of the r-th largest weight}, \qquad \tau = \tau_w(m, \bar a; \bar a)

with Shieh's weighted tau. Two choices that the paper leaves open are made so that they cannot favour a rank: the
number of ranks k is the 10th percentile of text lengths, or fewer if weights get too small, and one number of
clusters N serves every rank, since the bias of the estimate grows with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.data.types import Example
from attnlib.measures.information import clusters, entropy_of, information, plugin
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError, DataError

TINY = 1e-5
"""Weights up to this count as none when k is chosen (section 3.2.1)."""
OUTPUTS = 5
"""Clusters of the margin of a two-class model (section 3.2.1); with more classes the predicted class is used."""
DIGITS = 9
"""Information is compared to this many decimals: where it saturates, ranks differ only by rounding."""


class RankedStates(NamedTuple):
    """Texts seen through their attention.

    alpha    (n, k) weights, largest first; zero beyond a text's end
    hidden   (n, k, H) the states they multiply
    lengths  (n,) attended positions;  entropy: (n,) normalised entropy of all weights, NaN for one position
    logits   (n, C)
    """

    alpha: np.ndarray
    hidden: np.ndarray
    lengths: np.ndarray
    entropy: np.ndarray
    logits: np.ndarray


def number_of_ranks(weights: Sequence[np.ndarray]) -> int:
    """k: the 10th percentile of lengths, or the last rank at which 80 % of weights exceed 1e-5 if that is less; two
    at least. weights: one array per text, largest first; texts shorter than a rank do not count at it."""
    lengths = np.array([len(w) for w in weights])
    longest = int(np.percentile(lengths, 10))
    for rank in range(2, longest + 1):
        here = np.array([w[rank - 1] for w in weights if len(w) >= rank])
        if (here > TINY).mean() < 0.8:
            return max(2, rank - 1)
    return max(2, longest)


def ranked(fitted: Fitted, examples: Sequence[Example], k: int | None = None) -> RankedStates:
    """The k most attended states of every text; k None: `number_of_ranks`. Equal weights keep the text's order."""
    if fitted.model_config.hierarchical:
        raise ConfigError("Attention ranks are defined for flat attention; this model is hierarchical.")
    if k is None:
        weights: list[np.ndarray] = []
        for _, trace in fitted.traces(examples):
            alpha, mask = trace.alpha.double().cpu().numpy(), trace.mask.cpu().numpy()
            weights += [np.sort(a[m])[::-1] for a, m in zip(alpha, mask, strict=True)]
        k = number_of_ranks(weights)
    n = len(examples)
    found = None
    for batch, trace in fitted.traces(examples):
        rows, mask = batch.rows.cpu().numpy(), trace.mask.cpu().numpy()
        alpha = trace.alpha.double().cpu().numpy()
        hidden = trace.hidden.float().cpu().numpy()
        if found is None:
            found = RankedStates(
                np.zeros((n, k)), np.zeros((n, k, hidden.shape[-1]), np.float32), np.zeros(n, int),
                np.full(n, np.nan), np.zeros((n, trace.logits.shape[1])),
            )  # fmt: skip
        order = np.argsort(-np.where(mask, alpha, -1.0), axis=1, kind="stable")[:, :k]
        width = order.shape[1]
        found.alpha[rows, :width] = np.take_along_axis(alpha, order, 1)
        found.hidden[rows, :width] = np.take_along_axis(hidden, order[..., None], 1)
        found.lengths[rows] = mask.sum(1)
        found.entropy[rows] = stats.normalized_entropy(alpha, mask)
        found.logits[rows] = trace.logits.double().cpu().numpy()
    return found


def output_labels(logits: np.ndarray, n: int = OUTPUTS, seed: int = 0) -> np.ndarray:
    """Labels of the output: for two classes n clusters of the margin z_1 - z_0, else the predicted class."""
    if logits.shape[1] == 2:
        return clusters((logits[:, 1] - logits[:, 0])[:, None], n, seed=seed)
    return logits.argmax(1)


def number_of_clusters(vectors: np.ndarray, counts: Sequence[int], seed: int = 0) -> tuple[int, np.ndarray]:
    """The largest N of `counts` whose clusters all hold two vectors or more, else the smallest, and its labels.
    (The paper asks for "the minimal value", which one cluster would have; a fine grid needs the largest.)"""
    for n in sorted(counts, reverse=True):
        labels = clusters(vectors, n, seed=seed)
        if np.unique(labels, return_counts=True)[1].min() >= 2:
            break
    return n, labels


def rank_information(
    states: RankedStates, counts: Sequence[int], *, resamples: int = 200, seed: int = 0
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """m_r and mean weight by rank, and how well they agree.

    Of the numbers of clusters `counts` those up to n / 2 are tried, for n texts with two positions or more; where
    there is none, n / 2. With more, states are alone in their clusters, and every rank seems to decide the output.

    The frame, one row per rank: rank, alpha (mean weight), n, information with low and high (95 %, over texts) and
    floor (shuffled outputs). The facts: tau (Shieh, weighted; NaN where the output is constant), over_texts (half
    the width of its 95 % interval over texts), k, clusters, n, entropy (mean).
    """
    several = int((states.lengths > 1).sum())
    if (states.lengths < 1).any() or not several:
        raise DataError("Every text needs an attended position, and some two: else there are no ranks to compare.")
    counts = [count for count in counts if 2 * count <= several] or [several // 2]
    # a canonical order of the texts: by outputs, then weights, then states
    last = states.hidden.sum((1, 2), dtype=float)
    order = np.lexsort([last, *states.alpha.T[::-1], *states.logits.T[::-1]])
    states = RankedStates(*(values[order] for values in states))
    y = output_labels(states.logits, seed=seed)
    k = states.alpha.shape[1]
    n_clusters, top = number_of_clusters(states.hidden[:, 0], counts, seed)
    labels = np.full(states.alpha.shape, -1)
    rows = []
    for r in range(k):
        there = states.lengths > r
        labels[there, r] = clusters(states.hidden[there, r], n_clusters, seed=seed) if r else top
        found = information(labels[there, r], y[there], resamples=resamples, seed=seed)
        rows.append({"rank": r + 1, "alpha": states.alpha[there, r].mean(), "n": int(there.sum()), **found})
    frame = pd.DataFrame(rows)
    facts = {
        "tau": _tau(frame["information"], frame["alpha"], entropy_of(y)),
        "over_texts": 1.96 * _error_over_texts(labels, states.alpha, y, resamples, seed),
        "k": k,
        "clusters": n_clusters,
        "n": len(states.alpha),
        "entropy": float(np.nanmean(states.entropy)) if np.isfinite(states.entropy).any() else float("nan"),
    }
    return frame, facts


def _tau(m: Sequence[float], alpha: Sequence[float], told: float) -> float:
    """Weighted tau of information, rounded, with attention; NaN where the output's entropy `told` is zero."""
    return stats.weighted_kendall(np.round(m, DIGITS), alpha, alpha) if told > 0 else float("nan")


def _error_over_texts(labels: np.ndarray, alpha: np.ndarray, y: np.ndarray, resamples: int, seed: int) -> float:
    """Standard error of tau over bootstrap samples of texts, clusters kept."""
    rng = np.random.default_rng([seed, 2])
    draws = []
    for _ in range(resamples):
        rows = rng.integers(0, len(y), len(y))
        m, means = [], []
        for r in range(labels.shape[1]):
            here = rows[labels[rows, r] >= 0]
            if not len(here):
                break
            m.append(plugin(labels[here, r], y[here]))
            means.append(alpha[here, r].mean())
        if len(m) > 1:
            draws.append(_tau(m, means, entropy_of(y[rows])))
    return float(np.nanstd(draws)) if np.isfinite(draws).sum() > 1 else float("nan")
