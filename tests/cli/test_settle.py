"""More trainings where claims wait for them: how many, of what, and at which level they are judged."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from attnlib.cli import settle
from attnlib.cli.check import check
from attnlib.reports.plan import plans

OPEN = {"verdict": "undetermined", "size": ""}
CLEAR = {"verdict": "undetermined", "size": "smaller"}
HELD = {"verdict": "reproduced", "size": "as large"}


def report(out: Path, folder: str, **claims: dict) -> Path:
    """A finished report with these claims: `tasc_3=OPEN`."""
    home = out / "01_tasc" / folder
    home.mkdir(parents=True)
    rows = [{"id": name.replace("_", "-"), **said} for name, said in claims.items()]
    (home / "claims.json").write_text(json.dumps(rows))
    return home


@pytest.fixture
def minute_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every training beyond those of the notebook takes a minute."""
    known = len({run.fits[0] for run in check(plans(["01_tasc"], "smoke", []))[0].study.grid(PARAMS())})

    def forecast(grid, **_):
        return SimpleNamespace(seconds=60.0 * (len({run.fits[0] for run in grid}) - known))

    monkeypatch.setattr(settle, "dry_run", forecast)


def PARAMS():
    one = checked()
    return one.study.Params.of(one.plan.values)


def checked():
    return check(plans(["01_tasc"], "smoke", []))[0]


def test_only_claims_without_any_answer_are_open() -> None:
    rows = [{"id": "a", **OPEN}, {"id": "b", **CLEAR}, {"id": "c", **HELD}, {"id": "d", "verdict": "not tested"}]
    assert settle.open_claims(rows) == ["a"]


def test_as_many_replicates_as_fit_are_added(tmp_path: Path, minute_each: None) -> None:
    report(tmp_path, "smoke", tasc_3=OPEN, tasc_4=HELD)
    per_replicate = 16 + 3  # the models of the grid, and those of the pooling ablation that are not among them
    added = settle.addition(checked(), 2.5 * per_replicate, tmp_path, jobs=1)
    assert added.waiting == ("tasc-3",)
    assert added.plan.values["seeds"] == [0, 1, 2, 3]
    assert added.plan.values["looks"] == 2
    assert added.plan.folder == "smoke-settled"
    assert "97.5%" in added.said
    assert "2 replicates" in added.said


def test_too_few_minutes_say_what_one_more_takes(tmp_path: Path, minute_each: None) -> None:
    report(tmp_path, "smoke", tasc_3=OPEN)
    added = settle.addition(checked(), 1, tmp_path, jobs=1)
    assert added.plan is None
    assert "one more replicate takes about" in added.said


def test_nothing_is_added_where_all_is_decided(tmp_path: Path) -> None:
    report(tmp_path, "smoke", tasc_3=HELD, tasc_4=CLEAR)
    assert settle.addition(checked(), 5, tmp_path, jobs=1).plan is None


def test_a_second_call_goes_on_from_the_first(tmp_path: Path, minute_each: None) -> None:
    report(tmp_path, "smoke", tasc_3=OPEN)
    grown = report(tmp_path, "smoke-settled", tasc_3=OPEN)
    values = checked().plan.values | {"seeds": [0, 1, 2], "looks": 2}
    (grown / "params.yaml").write_text(yaml.safe_dump(values))
    added = settle.addition(checked(), 2 * 19 + 1, tmp_path, jobs=1)
    assert added.plan.values["seeds"] == [0, 1, 2, 3]
    assert added.plan.values["looks"] == 3


def test_what_came_of_it_is_said(tmp_path: Path, minute_each: None) -> None:
    report(tmp_path, "smoke", tasc_3=OPEN, tasc_5=OPEN)
    added = settle.addition(checked(), 60, tmp_path, jobs=1)
    report(tmp_path, "smoke-settled", tasc_3=HELD, tasc_5=OPEN)
    assert settle.outcome(added, tmp_path) == "01_tasc: 1 claim settled (tasc-3); still open: tasc-5."


def test_a_list_within_the_seeds_takes_them_along() -> None:
    from attnlib.studies.study import Study

    params = Study("mutual_information").Params(seeds=[0, 1, 2], adversary_seeds=[0, 1])
    grown = params.more(["adversary_seeds"], 2)
    assert grown.adversary_seeds == (0, 1, 3, 4)
    assert grown.seeds == (0, 1, 2, 3, 4)
    assert params.more(["seeds"], 1).adversary_seeds == (0, 1)
