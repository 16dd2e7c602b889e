"""The table of settings of the study of attention ranks and information."""

from __future__ import annotations

from pathlib import Path

from attnlib.studies.mutual_information import grid
from attnlib.studies.settings import read_settings
from attnlib.studies.study import Study
from tests.studies.mutual_information.test_grid import profile

STUDY = Study("mutual_information")


def test_the_paper_profile_is_the_papers_or_says_why_not() -> None:
    every = STUDY.settings(profile("paper"))
    told = every.query("differs != ''")
    assert "differs" not in set(told["differs"])
    assert set(told["setting"]) == {"posts of 20 Newsgroups", "the first epoch may be kept", "loss of a step"}
    assert len(every) == len(read_settings(Path(grid.__file__).parent)), "every row is about some model"


def test_every_deviation_of_the_cpu_profile_has_a_reason() -> None:
    told = STUDY.settings(profile("cpu"))
    assert "differs" not in set(told["differs"])
    assert (told["differs"] != "").any(), "no processor affords the paper's models"


def test_a_setting_that_is_turned_is_told() -> None:
    told = STUDY.settings(profile("cpu").replace(dot_init="normal")).set_index("setting")["differs"]
    assert told["start of the query of dot attention"] == "differs"
