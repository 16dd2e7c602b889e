"""The frame of the benchmarks: ratios and goals."""

from __future__ import annotations

import pytest

from tests import bench
from tests.bench import Row, compare


def test_ratio_is_of_baseline_to_ours(monkeypatch):
    monkeypatch.setattr(bench, "seconds", lambda call: call())
    row = compare("sum", "toy", lambda: 2.0, lambda: 3.0, goal=1.4)
    assert (row.ours, row.baseline, row.ratio) == (2.0, 3.0, 1.5)
    assert row.reached
    assert not compare("sum", "toy", lambda: 2.0, lambda: 3.0, goal=1.6).reached
    assert compare("sum", "toy", lambda: 2.0, lambda: 3.0, work=2.0).ratio == 3.0


def test_a_missed_goal_is_said_and_fails(monkeypatch, capsys):
    rows = [Row("fit", "toy", 1.0, 3.0, 3.0, 2.5), Row("read", "toy", 2.0, 1.0, 0.5, 1.0)]
    monkeypatch.setattr(bench, "BENCHES", {"toy": lambda: rows})
    assert bench.main(["toy"]) == 1
    _, first, second = capsys.readouterr().out.splitlines()
    assert first.split() == ["fit", "toy", "1", "s", "3", "s", "3.00", "2.5"]
    assert second.endswith("1 missed")
    with pytest.raises(SystemExit):
        bench.main(["tooy"])
