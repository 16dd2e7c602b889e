"""Plausibility: values worked out by hand, ERASER's own curve behind its quirk, random and human controls."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

import attnlib as al
from attnlib.measures.rationales import (
    average_precision,
    iou_counts,
    plausibility,
    rationale_scores,
    spans,
    summary,
    token_f1,
)
from attnlib.utils.errors import DataError


def test_average_precision_by_hand_and_as_scikit_learn_has_it():
    marked = np.array([True, False, True, False])
    assert average_precision([4.0, 3.0, 2.0, 1.0], marked) == pytest.approx((1 + 2 / 3) / 2)
    rng = np.random.default_rng(0)
    for _ in range(20):
        scores, marks = rng.random(12), rng.random(12) < 0.4
        if marks.any():
            assert average_precision(scores, marks) == pytest.approx(average_precision_score(marks, scores))
    assert np.isnan(average_precision([1.0, 2.0], [False, False]))


def test_ties_are_broken_at_random():
    marked = np.zeros(40, bool)
    marked[:4] = True
    flat = np.ones(40)
    seeded = [average_precision(flat, marked, seed=s) for s in range(200)]
    chance = np.mean([average_precision(np.random.default_rng(s).random(40), marked) for s in range(200)])
    assert average_precision(flat, marked, seed=3) == average_precision(flat, marked, seed=3)
    assert np.mean(seeded) == pytest.approx(chance, abs=0.04)


def test_token_f1_and_spans_by_hand():
    marked = np.array([1, 1, 0, 0, 1, 1, 1], bool)
    told = np.array([1, 0, 0, 1, 1, 1, 0], bool)
    assert token_f1(told, marked) == pytest.approx(2 * 3 / 9)
    assert spans(marked) == [(0, 2), (4, 7)]
    # [0, 1) has IoU 1/2 with [0, 2); [3, 6) has 2/4 with [4, 7)
    assert iou_counts(told, marked) == (1.0, 1.0)
    assert iou_counts(np.array([0, 0, 1, 1, 1, 0, 0], bool), marked) == (0.0, 0.0)


def test_iou_f1_is_of_averages_and_k_is_the_mean_length():
    masks = [np.array([1, 1, 0, 0], bool), np.array([1, 1, 0, 0], bool)]
    frame = rationale_scores([np.array([4.0, 3, 2, 1]), np.array([1.0, 2, 3, 4])], masks)
    found = summary(frame).set_index("metric")["value"]
    assert found["iou_f1"] == pytest.approx(0.5)
    assert found["token_f1"] == pytest.approx(0.5)


def test_a_model_and_scores_that_do_not_fit():
    corpus = al.load_corpus("planted", n_train=60, n_dev=10, n_test=30)
    fitted = al.fit(corpus, al.ModelConfig(encoder="none"), al.TrainConfig(epochs=1))
    found = al.plausibility(fitted, corpus.test, "alpha")
    assert set(found["metric"]) == {"average_precision", "token_f1", "iou_f1"}
    assert (found["texts"] == 30).all()
    assert found["random"].between(0, 1).all()
    with pytest.raises(DataError, match="3 scores for a rationale over 2 tokens"):
        plausibility([np.zeros(3)], [np.ones(2, bool)])
    with pytest.raises(DataError, match="no numbers"):
        plausibility([[1, 10**400]], [[True, False]])
    with pytest.raises(DataError, match="no text"):
        al.plausibility(fitted, [al.Example(("a",), 0)], "alpha")
