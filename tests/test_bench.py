"""The frame of the benchmarks: ratios, goals, names."""

from __future__ import annotations

import json

import pytest

from tests import bench
from tests.bench import Row, __main__, compare, peak_memory


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


def test_memory_sees_what_a_call_holds():
    found = peak_memory(lambda: sum(bytearray(64 * 2**20)[::4096]))
    if found is None:
        pytest.skip("this system does not tell the peak of a process")
    assert 60 * 2**20 < found < 200 * 2**20


def test_the_table_and_the_file(monkeypatch, tmp_path, capsys):
    rows = [Row("fit", "toy", 1.0, 3.0, 3.0, 2.5, 2**20), Row("read", "toy", 2.0, 1.0, 0.5, 1.0)]
    monkeypatch.setattr(bench.BENCHES, "_items", {"toy": lambda: rows})
    monkeypatch.setattr(__main__.pkgutil, "iter_modules", lambda path: [])
    assert __main__.main(["toy", "--json", str(tmp_path / "bench.json")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["what", "setting", "ours", "baseline", "ratio", "goal", "memory"]
    assert lines[1].split() == ["fit", "toy", "1", "s", "3", "s", "3.00", "2.5", "1", "MB"]
    assert lines[2].split() == ["read", "toy", "2", "s", "1", "s", "0.50", "1", "missed"]
    assert [row["ratio"] for row in json.loads((tmp_path / "bench.json").read_text())] == [3.0, 0.5]
    assert __main__.main(["tooy"]) == 2
    assert "Did you mean 'toy'?" in capsys.readouterr().err
