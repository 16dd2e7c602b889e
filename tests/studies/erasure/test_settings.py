"""The settings of Serrano & Smith 2019 next to those of each profile."""

from __future__ import annotations

from attnlib.studies.study import Study
from tests.studies.erasure.frames import profile


def table(name: str):
    return Study("erasure").settings(profile(name)).set_index("setting")


def test_with_the_paper_profile_every_setting_is_the_papers_or_says_why_not():
    found = table("paper")
    assert not (found["differs"] == "differs").any()
    own = ["dropout on the logits", "learning rate", "epochs at most", "patience", "batch", "width of word vectors"]
    own += ["dropout before the encoder of words", "least count of a word", "width of the encoder's output"]
    assert (found.loc[own, "differs"] == "").all()
    assert set(found.index[found["differs"] != ""]) == {
        "data set", "sentences", "word vectors", "initial values", "trainings of a model",
    }  # fmt: skip


def test_with_the_cpu_profile_every_deviation_has_its_reason():
    found = table("cpu")
    assert not (found["differs"] == "differs").any()
    assert found.loc["sentences", "ours"] == "20 words in a row"
    assert found.loc["dropout on the logits", "paper"] == "0.3749; 0.4457", "those of Yahoo, the topic task"


def test_the_models_of_other_papers_are_not_judged_by_this_one():
    assert table("smoke").loc["AMSGrad", "ours"] == "no"
