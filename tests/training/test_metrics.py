"""Scores by hand and by definition, and the cases that have none."""

from __future__ import annotations

import math

import numpy as np
import pytest

from attnlib.training.metrics import scores


def test_by_hand():
    # predictions 1, 0, 0, 1 for labels 1, 1, 0, 1: TP 2, FN 1, FP 0
    found = scores(np.array([1, 1, 0, 1]), np.array([[0, 1], [1, 0], [2, 0], [0, 3]]))
    assert found["accuracy"] == 0.75
    assert found["f1_positive"] == pytest.approx(4 / 5)
    assert found["f1_macro"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found["auc"] == 1.0
    assert found["n"] == 4


@pytest.mark.parametrize("seed", range(3))
def test_auc_is_the_share_of_pairs_in_order_and_ties_count_half(seed):
    rng = np.random.default_rng(seed)
    labels, score = rng.integers(2, size=40), rng.normal(size=40).round(1)
    apart = score[labels == 1][:, None] - score[labels == 0]
    found = scores(labels, np.stack([np.zeros(40), score], 1))["auc"]
    assert found == pytest.approx((apart > 0).mean() + (apart == 0).mean() / 2)


def test_one_class_alone_has_no_auc():
    found = scores(np.array([1, 1]), np.array([[0.0, 1.0], [0.0, 2.0]]))
    assert math.isnan(found["auc"])
    assert found["f1_macro"] == 1.0


def test_a_positive_class_that_neither_occurs_nor_is_predicted_has_f1_zero():
    found = scores(np.array([0, 0]), np.array([[1.0, 0.0], [2.0, 0.0]]))
    assert found["f1_positive"] == 0.0
    assert found["f1_macro"] == 1.0


def test_more_than_two_classes_have_neither_auc_nor_a_positive_class():
    found = scores(np.array([0, 1, 2]), np.eye(3))
    assert math.isnan(found["auc"])
    assert math.isnan(found["f1_positive"])


def test_a_class_nobody_has_or_predicts_counts_nowhere():
    logits = np.array([[3.0, 0.0, 0.0], [0.0, 3.0, 0.0]])
    assert scores(np.array([0, 1]), logits)["f1_macro"] == 1.0


def test_huge_logits_do_not_overflow():
    assert scores(np.array([0]), np.array([[0.0, 1000.0]]))["loss"] == 1000.0
