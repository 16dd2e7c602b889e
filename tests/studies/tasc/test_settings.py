"""Settings of the paper next to those of every profile."""

from __future__ import annotations

from pathlib import Path

import pytest

from attnlib.studies.settings import read_settings
from attnlib.studies.study import study_for
from attnlib.studies.tasc import grid
from tests.studies.tasc.made import values

STUDY = study_for("01_tasc")


def table(profile):
    return STUDY.settings(STUDY.Params(**values(profile))).set_index("setting")


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_every_deviation_has_its_reason(profile):
    assert "differs" not in set(table(profile)["differs"])


def test_the_paper_profile_differs_where_the_authors_slip_or_say_too_little():
    found = table("paper")
    assert len(found) == len(read_settings(Path(grid.__file__).parent)), "it has models for every setting"
    assert set(found.index[found["differs"] != ""]) == {
        "corpus",
        "longest text of BERT, tokens",
        "stop words of MIMIC for BERT",
        "pooling of the scaled embedding",
        "IG, gradients after it, the empty text",
        "length in the fraction",
        "models tested per cell",
    }


def test_the_cpu_profile_is_smaller_and_otherwise_the_papers():
    found = table("cpu")
    same = ["weight decay", "gradient clipping", "start and end tokens", "tokens never attended", "steps of IG"]
    for setting in (*same, "query of dot attention", "unknown words", "their standard deviation"):
        assert not found.loc[setting, "differs"], setting
    assert found.loc["hidden size", "ours"] == "64"
