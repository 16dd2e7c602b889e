"""Scores against scikit-learn, and the cases it refuses."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, f1_score, log_loss, roc_auc_score

from attnlib.training.metrics import auc, scores


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("classes", [2, 5])
def test_scores_agree_with_scikit_learn(classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=60)
    logits = rng.normal(size=(60, classes)).round(1) + 0.5 * np.eye(classes)[labels]
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    found, predicted = scores(labels, logits), logits.argmax(1)
    assert found["n"] == 60
    assert found["accuracy"] == accuracy_score(labels, predicted)
    assert found["f1_macro"] == pytest.approx(f1_score(labels, predicted, average="macro"))
    assert found["loss"] == pytest.approx(log_loss(labels, p))
    if classes == 2:
        assert found["f1_positive"] == pytest.approx(f1_score(labels, predicted))
        assert found["auc"] == pytest.approx(roc_auc_score(labels, logits[:, 1] - logits[:, 0]))
    else:
        assert math.isnan(found["f1_positive"])
        assert math.isnan(found["auc"])


def test_by_hand():
    # predictions 1, 0, 0, 1 for labels 1, 1, 0, 1: TP 2, FN 1, FP 0
    found = scores(np.array([1, 1, 0, 1]), np.array([[0, 1], [1, 0], [2, 0], [0, 3]]))
    assert found["accuracy"] == 0.75
    assert found["f1_positive"] == pytest.approx(4 / 5)
    assert found["f1_macro"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found["auc"] == 1.0


def test_one_class_alone_has_no_auc():
    found = scores(np.array([1, 1]), np.array([[0.0, 1.0], [0.0, 2.0]]))
    assert math.isnan(found["auc"])
    assert found["f1_macro"] == 1.0


def test_a_class_nobody_has_or_predicts_counts_nowhere():
    logits = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    assert scores(np.array([0, 1]), logits)["f1_macro"] == 1.0


def test_ties_count_half():
    assert auc(np.array([0, 1]), np.array([0.5, 0.5])) == 0.5


def test_huge_logits_do_not_overflow():
    assert scores(np.array([0]), np.array([[0.0, 1000.0]]))["loss"] == 1000.0
