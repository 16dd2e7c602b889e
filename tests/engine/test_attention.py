"""Erasure of attention weights: values worked out by hand."""

from __future__ import annotations

import torch

from attnlib.engine import attention
from tests.conformance.toy import trace

HAND = {"alpha": [[0.5, 0.3, 0.2]], "values": [[[2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]]}


def test_all_prefixes_by_hand():
    # 0.5 * (2, 0) + 0.3 * (0, 1) + 0.2 * (0, 2) = (1, 0.7); then what is left, renormalised
    found = attention.prefix_logits(trace(**HAND), torch.tensor([[2, 1, 0]]))[0]
    expected = [[1.0, 0.7], [1 / 0.8, 0.3 / 0.8], [2.0, 0.0], [0.0, 0.0]]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_all_single_removals_by_hand():
    found = attention.single_logits(trace(**HAND))[0]
    expected = [[0.0, 0.7 / 0.5], [1 / 0.7, 0.4 / 0.7], [1 / 0.8, 0.3 / 0.8]]
    torch.testing.assert_close(found, torch.tensor(expected, dtype=torch.float64))


def test_scale_multiplies_but_is_not_renormalised():
    scaled = trace(**HAND, scale=[[1.0, 2.0, -1.0]])
    found = attention.single_logits(scaled)[0, 0]
    torch.testing.assert_close(found, torch.tensor([0.0, (0.6 - 0.4) / 0.5], dtype=torch.float64))


def test_a_weight_of_almost_one_leaves_what_the_others_say():
    # By subtraction from the whole, nothing of the others would survive in float64.
    tiny = 1e-18
    found = attention.single_logits(trace([[1.0, tiny]], [[[5.0, 0.0], [0.0, 3.0]]]))[0, 0]
    torch.testing.assert_close(found, torch.tensor([0.0, 3.0], dtype=torch.float64))


def test_sparse_weights_are_projected_again():
    # sparsemax of (1, 0.9, 0) is (0.55, 0.45, 0); without the first, the threshold moves to (0, 0.95, 0.05)
    values = [[[1.0, 0.0], [0.0, 1.0], [4.0, 0.0]]]
    sparse = trace([[0.55, 0.45, 0.0]], values, scores=[[1.0, 0.9, 0.0]], projection="sparsemax")
    renormalised = attention.single_logits(sparse)[0, 0]
    projected = attention.single_logits(sparse, reproject=True)[0, 0]
    torch.testing.assert_close(renormalised, torch.tensor([0.0, 1.0], dtype=torch.float64))
    torch.testing.assert_close(projected, torch.tensor([0.2, 0.95], dtype=torch.float64))
    outside = attention.single_logits(sparse, reproject=True)[0, 2]
    torch.testing.assert_close(outside, sparse.logits[0])
