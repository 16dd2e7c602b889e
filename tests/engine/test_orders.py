"""Rankings: scores to orders of removal."""

from __future__ import annotations

import torch

from attnlib.engine import orders


def test_equal_scores_keep_the_order_of_the_text():
    scores = torch.tensor([[1.0, 2.0, 2.0, 0.0]])
    units = torch.tensor([[True, True, True, False]])
    assert orders.descending(scores, units).tolist() == [[1, 2, 0, 3]]
