"""Scores to orders of removal, and the first flips along them."""

from __future__ import annotations

import torch

from attnlib.engine import orders


def test_equal_scores_keep_the_order_of_the_text():
    scores = torch.tensor([[1.0, 2.0, 2.0, 0.0]])
    units = torch.tensor([[True, True, True, False]])
    assert orders.descending(scores, units).tolist() == [[1, 2, 0, 3]]


def test_a_decision_that_flips_back_counts_from_its_first_flip():
    # k = 0, 1, 2, 3: no, yes, no, yes. Bisection would look at k = 2 first and answer 3.
    logits = torch.tensor([[[1.0, 0], [0, 1], [1, 0], [0, 1]]])
    found = orders.from_table(logits, torch.tensor([0]), torch.tensor([3]))
    assert (found.removed.item(), found.after.item()) == (1, 1)
    beyond = orders.from_table(logits[:, [0, 2, 2, 1]], torch.tensor([0]), torch.tensor([2]))
    assert beyond.removed.item() == 0
