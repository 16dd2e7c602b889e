"""Notebooks that read the reports of others run after them; one that cannot be spread starts first."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

from attnlib.reports import execute
from attnlib.reports.plan import plans, read


def test_the_verdict_comes_last_however_many_run_side_by_side(tmp_path: Path, monkeypatch) -> None:
    assert read("06_verdict").last
    assert not read("01_tasc").last
    assert read("07_audit").first
    assert not read("01_tasc").first
    begun, ended, guard = [], [], threading.Lock()

    def run(plan, out, executor, jobs, *, state, stop, shared):
        with guard:
            begun.append((plan.notebook.name, list(ended)))
        threading.Event().wait(0.05)
        with guard:
            ended.append(plan.notebook.name)
        return execute.Outcome(plan, "done", out, 0.0)

    monkeypatch.setattr(execute, "run", run)
    (one,) = plans(["06_verdict"], "smoke", [])
    others = [
        replace(one, notebook=replace(one.notebook, name=f"0{k}_other", first=k == 8, last=False))
        for k in (1, 7, 8)
    ]
    found = execute.run_all([one, *others], tmp_path, "local", 2, lambda states, outcomes: None)
    assert len(found) == 4
    assert "08_other" in (begun[0][0], begun[1][0])
    assert begun[-1] == ("06_verdict", ended[:3])
    assert sorted(ended[:3]) == ["01_other", "07_other", "08_other"]
