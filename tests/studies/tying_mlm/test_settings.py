"""Word-level objectives: the paper's settings, and those of each profile."""

from __future__ import annotations

import pytest

from attnlib.studies.study import Study
from tests.studies.tying_mlm.test_grid import planned


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_every_deviation_has_a_reason(profile) -> None:
    table = Study("tying_mlm").settings(planned(profile))
    assert len(table) > 35
    assert table[table["differs"] == "differs"].empty


def test_the_paper_profile_differs_where_the_paper_is_silent_and_in_what_clusters_would_find() -> None:
    table = Study("tying_mlm").settings(planned("paper")).set_index("setting")
    silent = ["tying: what δ is next to", "the first epoch may be kept"]
    assert list(table.index[table["differs"] != ""]) == [*silent, "its inputs"]
    assert table.loc["width of the LSTM, each direction", "ours"] == "150"
    assert set(table.loc["tying: weights δ, next to a loss summed over a batch", "ours"].split("; ")) == {
        "1", "10", "20", "30",
    }  # fmt: skip


def test_settings_are_read_from_the_models() -> None:
    params = planned("paper").replace(batch_size=64, summed=False, permutations=3)
    table = Study("tying_mlm").settings(params).set_index("setting")
    assert table.loc["batch", "ours"] == "64"
    assert table.loc["permutations of attention", "ours"] == "3"
    assert "64" in table.loc["tying: weights δ, next to a loss summed over a batch", "ours"], "δ = 1 next to a mean"
    assert table.loc["tying: what δ is next to", "ours"] == "a mean"


def test_weights_of_your_own_are_called_so() -> None:
    table = Study("tying_mlm").settings(planned("cpu").replace(delta=7.0, deltas=(7.0,))).set_index("setting")
    assert table.loc["tying: what δ is next to", "ours"] == "weights of your own"
