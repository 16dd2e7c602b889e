"""Erasure: values worked out by hand, direction and range, and a defined answer to every bad input."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from attnlib.engine import attention, orders
from attnlib.erasure import flips as erasure
from attnlib.rankings.scores import importance
from tests.conformance import zoo
from tests.conformance.toy import Toy, trace

NAN = float("nan")


HAND = {"alpha": [[0.5, 0.3, 0.2]], "values": [[[2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]]}


def toy(bias=(0.0, 0.0), **changes) -> Toy:
    return Toy(trace(**{**HAND, **changes}, bias=bias))


@pytest.mark.parametrize("gap", [70.0, 200.0, 5000.0])
def test_far_lower_scores_decide_once_the_best_are_gone(gap):
    # In float32 the second weight is exp(-gap), soon zero; the model without its first word still says "yes".
    scores = torch.tensor([[0.0, -gap, -2 * gap]], dtype=torch.float32)
    given = {"values": [[[2.0, 0.0], [0.0, 1.0], [0.0, 3.0]]], "scores": scores, "bias": (0.5, 0.0)}
    far = trace(scores.softmax(-1), **given, scale=[[1.0, 2.0, 1.0]])
    expected = torch.tensor([[2.5, 0.0], [0.5, 2.0], [0.5, 3.0], [0.5, 0.0]], dtype=torch.float64)
    torch.testing.assert_close(attention.prefix_logits(far, torch.tensor([[0, 1, 2]]))[0], expected)
    torch.testing.assert_close(attention.single_logits(far)[0], expected[[1, 0, 0]])
    row = erasure.fraction_to_flip(Toy(far), Toy(far).texts(), [np.array([3.0, 2.0, 1.0])], level="attention").iloc[
        0
    ]
    assert (row["removed"], row["after"], row["status"]) == (1, "yes", "flipped")
    torch.testing.assert_close(attention.without(far, 0, torch.ones(4, 3).tril(-1) > 0), expected)


SPARSE = {
    "alpha": [[0.55, 0.45, 0.0]],
    "values": [[[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]]],
    "scores": [[1.0, 0.9, 0.0]],
    "projection": "sparsemax",
    "bias": (0.0, 0.5),
}


def test_a_flip_once_the_support_is_gone_is_marked():
    """All three words say "no"; the bias decides once the two of the support are gone."""
    model, ranking = Toy(trace(**SPARSE)), [np.array([3.0, 2.0, 1.0])]
    row = erasure.fraction_to_flip(model, model.texts(), ranking, level="attention").iloc[0]
    assert (row["removed"], row["only_when_empty"], row["status"]) == (2, True, "only_when_empty")
    assert row["fraction"] == pytest.approx(2 / 3)


def test_a_single_removal_that_leaves_no_weight_is_no_comparison():
    one_hot = Toy(trace(**SPARSE | {"alpha": [[1.0, 0.0, 0.0]], "scores": [[3.0, 0.0, 0.0]]}))
    ranking = [np.array([3.0, 2.0, 1.0])]
    row = erasure.single_removals(one_hot, one_hot.texts(), ranking).iloc[0]
    assert (row["flip_top"], row["status"]) == (True, "no weight left")


def test_a_text_of_one_token():
    model = Toy(trace([[1.0, NAN]], [[[2.0, 0.0], [0.0, 0.0]]], bias=(0.0, 0.5)))
    for way in (erasure.fraction_to_flip, erasure.top_token_flips):
        row = way(model, model.texts(), [np.array([1.0])], level="attention").iloc[0]
        assert (row["length"], row["removed"], row["only_when_empty"]) == (1, 1, True)
    single = erasure.single_removals(model, model.texts(), [np.array([1.0])]).iloc[0]
    assert single["status"] == "one unit"
    assert single["other"] is pd.NA
    assert single["flip_other"] is pd.NA
    assert np.isnan(single["delta_js"])
    assert single["flip_top"]


def test_single_removals_by_hand():
    frame = erasure.single_removals(toy(), toy().texts(), [np.array([3.0, 2.0, 1.0])])
    row = frame.iloc[0]
    assert row["top"] == 0
    assert row["other"] in (1, 2)
    assert row["alpha_top"] == 0.5
    assert (row["flip_top"], row["flip_other"]) == (True, False)
    p = np.exp([1.0, 0.7]) / np.exp([1.0, 0.7]).sum()
    q = np.exp([0.0, 1.4]) / np.exp([0.0, 1.4]).sum()
    m = (p + q) / 2
    js = ((p * np.log(p / m)).sum() + (q * np.log(q / m)).sum()) / 2
    assert row["js_top"] == pytest.approx(js)
    assert row["delta_js"] == pytest.approx(js - row["js_other"])


def test_r_is_never_the_top_and_reaches_every_other_position():
    model = Toy(trace([[0.4, 0.3, 0.2, 0.1]] * 60, [HAND["values"][0] + [[0.0, 0.0]]] * 60))
    ranking = [np.array([1.0, 9.0, 2.0, 3.0])] * 60
    right = erasure.single_removals(model, model.texts(), ranking)["other"]
    wrong = erasure.single_removals(model, model.texts(), ranking, quirks={"serrano_r"})["other"]
    assert set(right) == {0, 2, 3}
    assert set(wrong) == {1, 2, 3}


def test_frames_keep_the_order_of_the_texts():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 10)
    frame = erasure.fraction_to_flip(fitted, texts, "alpha_grad", batch_size=3)
    assert frame["id"].tolist() == [t.id for t in texts]
    assert frame["length"].tolist() == [len(t) for t in texts]
    columns = "id length prediction flipped removed fraction only_when_empty mass_removed after status"
    assert frame.columns.tolist() == columns.split()
    again = erasure.fraction_to_flip(fitted, texts, importance(fitted, texts, "alpha_grad"), batch_size=7)
    pd.testing.assert_frame_equal(frame, again)


def test_a_weight_of_almost_one_leaves_what_the_others_say():
    # By subtraction from the whole, nothing of the others would survive in float64.
    tiny = 1e-18
    found = attention.single_logits(trace([[1.0, tiny]], [[[5.0, 0.0], [0.0, 3.0]]]))[0, 0]
    torch.testing.assert_close(found, torch.tensor([0.0, 3.0], dtype=torch.float64))


def test_a_decision_that_flips_back_counts_from_its_first_flip():
    # k = 0, 1, 2, 3: no, yes, no, yes. Bisection would look at k = 2 first and answer 3.
    logits = torch.tensor([[[1.0, 0], [0, 1], [1, 0], [0, 1]]])
    found = orders.from_table(logits, torch.tensor([0]), torch.tensor([3]))
    assert (found.removed.item(), found.after.item()) == (1, 1)
    beyond = orders.from_table(logits[:, [0, 2, 2, 1]], torch.tensor([0]), torch.tensor([2]))
    assert beyond.removed.item() == 0
