"""How much a hidden state retains of its word: mutual information of word and state.

Tutek & Šnajder 2020, section 3.4, after Voita et al. 2019: occurrences of a few hundred words are collected, their
hidden states clustered, and the mutual information of word and cluster estimated. On the input side the word itself
is the label: with at least as many clusters as words, clustering their embeddings could do no better.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.measures.information import clusters, entropy_of, floor, mutual_information
from attnlib.utils.errors import DataError, one_of

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted

SAMPLES = {"mi_most_frequent": "the most frequent words", "mi_random_sample": "words drawn by frequency^(3/4)"}
"""MF and RS of the paper."""
POWER = 0.75


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
