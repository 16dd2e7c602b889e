"""The frame of the benchmarks: ratios, goals, names."""

from __future__ import annotations

from tests import bench
from tests.bench import Row, compare


def test_ratio_is_of_baseline_to_ours(monkeypatch):
    monkeypatch.setattr(bench, "seconds", lambda call: call())
    row = compare("sum", "toy", lambda: 2.0, lambda: 3.0, goal=1.4)
    assert (row.ours, row.baseline, row.ratio) == (2.0, 3.0, 1.5)
    assert row.reached
    assert not compare("sum", "toy", lambda: 2.0, lambda: 3.0, goal=1.6).reached
    assert compare("sum", "toy", lambda: 2.0, lambda: 3.0, work=(2.0, 1.0)).ratio == 3.0


def test_the_two_ways_take_turns():
    calls = []
    compare("order", "toy", lambda: calls.append("ours"), lambda: calls.append("baseline"), repeats=2)
    assert calls == ["ours", "baseline"] * 3


def test_rows_are_printed_as_they_come(monkeypatch, capsys):
    rows = [Row("fit", "toy", 1.0, 3.0, 3.0, 2.5), Row("read", "toy", 2.0, 1.0, 0.5, 1.0)]
    seen = []

    def toy():
        for row in rows:
            yield row
            seen.append(capsys.readouterr().out.splitlines()[-1].split())

    monkeypatch.setattr(bench.BENCHES, "_items", {"toy": toy})
    assert bench.main(["toy"]) == 1
    assert seen[0] == ["fit", "toy", "1", "s", "3", "s", "3.00", "2.5"]
    assert seen[1] == ["read", "toy", "2", "s", "1", "s", "0.50", "1", "missed"]
    assert bench.main(["tooy"]) == 2
    assert "Did you mean 'toy'?" in capsys.readouterr().err
