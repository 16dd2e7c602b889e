"""Parameters of the TaSc study: every profile is valid, nonsense is refused before anything runs."""

from __future__ import annotations

import pytest

from attnlib.studies.study import Study
from attnlib.studies.tasc.params import Params
from attnlib.utils.errors import AttnlibError
from tests.studies.tasc.made import profile


def test_the_cell_shows_the_defaults():
    assert profile("smoke") == Params()


def test_what_differs_in_the_cpu_profile_is_explained():
    table = Study("tasc").settings(profile("cpu")).set_index("setting")
    differs = table["ours"] != table["paper"]
    assert not set(table.index[differs & (table["why"] == "")])
    assert not differs[["weight decay", "gradient clipping", "steps of IG", "query of dot attention"]].any()
    assert table.loc["hidden size", "ours"] == "64"


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"encoders": ["bert"]}, "one besides 'bert'"),
        ({"variants": ["none", "feat"]}, "'none' and 'lin'"),
        (
            {"shown_cells": [["rotten_tomatoes", "gru", "dot"]]},
            "shown_cells names rotten_tomatoes, gru, dot, which",
        ),
        ({"shown_cells": [["rotten_tomatoes", "lstm", "dot"]] * 2}, "each once"),
        ({"shown_cells": [["rotten_tomatoes", "lstm"]]}, "shown_cells"),
        ({"quirks": ["serrano_r"]}, "serrano_r"),
        ({"vectors": "glove", "embedding_size": 300}, "50 wide"),
        ({"epochs_without": {"adr": {"mlp": 30}}}, "corpus in epochs_without"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(changes, told):
    with pytest.raises(AttnlibError, match=told):
        Params(**changes)
