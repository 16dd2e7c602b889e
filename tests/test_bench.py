"""The frame of the benchmarks: ratios, goals, names."""

from __future__ import annotations

import subprocess
import sys

import pandas as pd
import pytest

from attnlib.utils.paths import ROOT
from tests import bench
from tests.bench import Row, __main__, compare


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
    """In a process of its own: one that has freed much before may not need to grow."""
    code = "from tests.bench import peak_memory; print(peak_memory(lambda: b'x' * (64 * 2**20)))"
    told = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    if told.stdout.strip() == "None":
        pytest.skip("this system does not tell the peak of a process")
    assert 60 * 2**20 < int(told.stdout) < 200 * 2**20


def test_rows_are_printed_as_they_come_and_added_to_the_history(monkeypatch, tmp_path, capsys):
    rows = [Row("fit", "toy", 1.0, 3.0, 3.0, 2.5, 2**20, 2**21), Row("read", "toy", 2.0, 1.0, 0.5, 1.0)]
    seen = []

    def toy():
        for row in rows:
            yield row
            seen.append(capsys.readouterr().out.splitlines()[-1].split())

    monkeypatch.setattr(bench.BENCHES, "_items", {"toy": toy})
    monkeypatch.setattr(__main__.pkgutil, "iter_modules", lambda path: [])
    history = tmp_path / "kept" / "history.csv"
    for _ in range(2):
        assert __main__.main(["toy", "--history", str(history)]) == 1
    assert seen[0] == ["fit", "toy", "1", "s", "3", "s", "3.00", "2.5", "1", "MB", "2", "MB"]
    assert seen[1] == ["read", "toy", "2", "s", "1", "s", "0.50", "1", "missed"]
    kept = pd.read_csv(history)
    assert kept["ratio"].tolist() == [3.0, 0.5] * 2
    assert kept["baseline_memory"].isna().tolist() == [False, True] * 2
    assert not kept[["date", "commit", "torch", "captum", "bench"]].isna().any(axis=None)
    assert __main__.main(["tooy"]) == 2
    assert "Did you mean 'toy'?" in capsys.readouterr().err
