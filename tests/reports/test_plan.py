"""Which notebooks there are, and what a run of them would use."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import Field

from attnlib.reports import plan
from attnlib.studies.params import StudyParams
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName


def test_the_series_is_found_and_read(series: Path) -> None:
    assert plan.names() == ["90_demo", "91_short"]
    demo = plan.read("90_demo")
    assert demo.title == "A demo of everything"
    assert list(demo.parameters)[:3] == ["corpus", "seed", "rate"]
    assert plan.read("91_short").title == "91_short"
    assert plan.read(str(series / "notebooks" / "91_short.ipynb")).name == "91_short"


def test_a_profile_holds_differences_and_options_come_last(series: Path) -> None:
    (one,) = plan.plans(["90_demo"], "cpu", [("seed", "7"), ("corpus", "planted")])
    assert one.changed == {"seeds": [0, 1, 2], "rate": 0.01, "seed": 7}, "a value equal to the default is no change"
    assert one.values["encoder"] == "lstm"
    assert one.values["seeds"] == [0, 1, 2]


def test_all_is_every_notebook_and_each_is_checked_first(series: Path) -> None:
    assert [p.notebook.name for p in plan.plans(["all"], "smoke", [("seed", "2")])] == plan.names()
    with pytest.raises(ConfigError) as error:
        plan.plans(["90_demo", "91_short"], "smoke", [("sede", "x"), ("seed", "x")])
    assert str(error.value).count("Did you mean 'seed'?") == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- seed\n", "`name: value` lines"),
        ("seed: [1\n", "not YAML"),
        ("corpsu: planted\n", "Did you mean 'corpus'?"),
    ],
)
def test_a_wrong_parameter_file_is_refused(series: Path, text: str, said: str) -> None:
    (series / "params" / "90_demo" / "mine.yaml").write_text(text)
    with pytest.raises(ConfigError, match=r"90_demo/mine\.yaml") as error:
        plan.plans(["90_demo"], "mine", [])
    assert said in str(error.value)


def test_what_is_no_notebook_is_refused(series: Path) -> None:
    (series / "notebooks" / "92_bad.ipynb").write_text("[]")
    with pytest.raises(ConfigError, match="not a notebook"):
        plan.read("92_bad")
    with pytest.raises(UnknownName):
        plan.find("../notebooks/90_demo")


def test_an_empty_folder_says_which_variable_to_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNLIB_NOTEBOOKS", str(tmp_path))
    for chosen in ("all", "00_quickstart"):
        with pytest.raises(AttnlibError, match="ATTNLIB_NOTEBOOKS"):
            plan.plans([chosen], "smoke", [])


class Params(StudyParams):
    seed: int = 3
    rate: float = Field(0.1, gt=0)


def test_a_parameter_file_may_name_what_the_cell_does_not_show(series: Path, write_notebook: Any) -> None:
    cell = "seed = 0\noptions: dict = {'limit': 9}"
    write_notebook(series / "notebooks" / "92_more.ipynb", [("code", cell, ["parameters"])])
    (series / "params" / "92_more").mkdir()
    (series / "params" / "92_more" / "cpu.yaml").write_text("rate: 0.2\nseed: 1\n")
    (one,) = plan.plans(["92_more"], "cpu", [("vectors", "glove")], params_of=lambda name: Params)
    assert (one.values["rate"], one.values["limit"], one.values["seed"]) == (0.2, 9, 1), "all of them, flat"
    assert one.injected == {"seed": 1, "options": {"limit": 9, "rate": 0.2, "vectors": "glove"}}
    assert one.own == {"vectors": "glove"}
    assert Params.of({"seed": 0, **one.injected}) == Params(**one.values)
    (plain,) = plan.plans(["92_more"], "smoke", [("seed", "2")], params_of=lambda name: Params)
    assert plain.injected == {"seed": 2}
    with pytest.raises(ConfigError, match="rate must be greater than 0"):
        plan.plans(["92_more"], "smoke", [("rate", "0")], params_of=lambda name: Params)
