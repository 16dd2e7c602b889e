"""The order of the repairs."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.auditing import repairs


def test_masking_comes_first_and_then_what_the_verdict_recommends(monkeypatch: pytest.MonkeyPatch) -> None:
    advised = pd.DataFrame([{"scaling": "none", "regulariser": "tying", "projection": "sparsemax"}])
    monkeypatch.setattr(repairs, "recommendations", lambda encoder: advised if encoder == "lstm" else advised[:0])
    names = [repair.name for repair in repairs.in_order("lstm")]
    assert names == ["masking in training", "tying", "sparse attention", "TaSc", "MiniLM"]
    assert repairs.in_order("cnn") == list(repairs.REPAIRS), "nothing is known: the cheapest first"


def test_every_part_is_one_that_recommendations_may_name() -> None:
    table = repairs.recommendations()
    known = {"lin", "feat", "conv", "tying", "mlm", "concat", "residual", "sparsemax", "sparsegen", "entmax"}
    assert {repair.part for repair in repairs.REPAIRS if repair.part} <= known
    assert set(table[["scaling", "regulariser", "projection"]].to_numpy().ravel()) <= known | {"none", "softmax"}
