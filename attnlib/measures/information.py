r"""Mutual information between discrete labels, such as those of clustered vectors.

.. math:: I(X; Y) = \sum_{x, y} p(x, y) \ln \frac{p(x, y)}{p(x)\,p(y)} \quad \text{in nats}

The plug-in estimate from n samples is biased upwards by about :math:`(K_{xy} - K_x - K_y + 1) / 2n`, K counting
the occupied cells. So every estimate here comes with its floor: the value for shuffled labels, which share nothing.

`retention` is how much a hidden state keeps of its word (Tutek & Šnajder 2020, section 3.4, after Voita et al.
2019): I(word; cluster of its states), over the occurrences of a few hundred words. On the input side the word is
itself the label: with at least as many clusters as words, clustering their embeddings could do no better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from attnlib.data.types import Corpus, Example
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import DataError, one_of

SAMPLES = {"mi_most_frequent": "the most frequent words", "mi_random_sample": "words drawn by frequency^(3/4)"}
"""MF and RS of the paper."""
POWER = 0.75
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


def choose_words(corpus: Corpus, n: int, sample: str, *, seed: int = 0) -> list[str]:
    """`n` words of the vocabulary, by their frequency in the training texts (equal counts by spelling): the most
    frequent, or drawn without replacement with probabilities proportional to count^(3/4)."""
    one_of("sample of words", sample, SAMPLES)
    known = set(corpus.vocabulary.words)
    counts = Counter(token for example in corpus.train for token in example.tokens if token in known)
    words = sorted(counts, key=lambda word: (-counts[word], word))
    if sample == "mi_most_frequent" or n >= len(words):
        return words[:n]
    weights = np.array([counts[word] for word in words], dtype=float) ** POWER
    drawn = np.random.default_rng(seed).choice(len(words), n, replace=False, p=weights / weights.sum())
    return [words[i] for i in np.sort(drawn)]


def occurrences(
    fitted: Fitted, examples: Sequence[Example], words: Sequence[str], most: int | None, *, seed: int = 0
) -> pd.DataFrame:
    """Where the words occur: row (of the text), position in it and id; `most` of them at random."""
    ids = np.unique(np.asarray(fitted.vectoriser.vocabulary.ids(list(words))))
    places = []
    for row, encoded in enumerate(fitted.vectoriser.encode(examples)):
        (at,) = np.nonzero(np.isin(encoded.ids, ids) & encoded.content)
        places.append(np.column_stack([np.full(len(at), row), at, encoded.ids[at]]))
    found = np.concatenate(places)
    if not len(found):
        raise DataError(f"None of the {len(words)} words occurs in the {len(examples)} texts.")
    if most is not None and most < len(found):
        chosen = np.random.default_rng([seed, 2]).permutation(len(found))[:most]
        found = found[np.sort(chosen)]
    return pd.DataFrame(found, columns=["row", "position", "id"])


def states(fitted: Fitted, examples: Sequence[Example], places: pd.DataFrame) -> np.ndarray:
    """Hidden states (n, H) at the places, in their order."""
    by_row = places.groupby("row").indices
    position, hidden = places["position"].to_numpy(), None
    for batch, trace in fitted.traces(examples):
        if hidden is None:
            hidden = np.empty((len(places), trace.hidden.shape[-1]), np.float32)
        for b, row in enumerate(batch.rows.tolist()):
            if row in by_row:
                at = by_row[row]
                hidden[at] = trace.hidden[b, position[at]].float().cpu().numpy()
    return hidden


def retention(
    fitted: Fitted,
    corpus: Corpus,
    *,
    words: int = 1000,
    k: int = 1000,
    most: int | None = 1_000_000,
    batch_size: int = 4096,
    seed: int = 0,
) -> pd.DataFrame:
    """I(word; cluster of its hidden state) in nats, one row per sample of words (`SAMPLES`).

    words  how many are chosen (`choose_words`);  k: clusters of hidden states;  most: occurrences at most
    seed   draws words, occurrences and the first centroids; give every model the same

    Columns: metric (the sample), value, floor (value of shuffled labels: what bias alone gives), ceiling (entropy
    of the words, the most there is to keep), n (occurrences), words (that occur), k. There is no interval over
    occurrences: another training would change the value more than they do.
    """
    examples = list(corpus.train)
    rows = []
    for sample in SAMPLES:
        chosen = choose_words(corpus, words, sample, seed=seed)
        places = occurrences(fitted, examples, chosen, most, seed=seed)
        known = places["id"].to_numpy()
        labels = clusters(states(fitted, examples, places), k, seed=seed, batch_size=batch_size)
        row = {"metric": sample, "value": mutual_information(known, labels)}
        row |= {"floor": floor(known, labels, seed=seed), "ceiling": entropy_of(known)}
        rows.append(row | {"n": len(places), "words": places["id"].nunique(), "k": k})
    return pd.DataFrame(rows)
