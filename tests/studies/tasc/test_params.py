"""Parameters of the TaSc study: every profile is valid, nonsense is refused before anything runs."""

from __future__ import annotations

import pytest

from attnlib.studies.study import Study
from attnlib.studies.tasc.params import Params
from attnlib.utils.errors import AttnlibError
from tests.studies.tasc.made import profile


@pytest.mark.parametrize("name", ["smoke", "cpu", "paper"])
def test_a_profile_is_valid(name):
    assert profile(name).corpora


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
        ({"encoders": ["lstm", "bert"]}, "set bert_variants"),
        ({"variants": ["none", "feat"]}, "'none' and 'lin'"),
        ({"bert_variants": ["lin"]}, "'none' and 'lin'"),
        ({"bert_variants": ["none", "lin"], "bert_seeds": [9]}, "nothing to compare with"),
        (
            {"shown_cells": {"words": [["rotten_tomatoes", "gru", "dot"]]}},
            "words names the cell rotten_tomatoes, gru, dot, which is",
        ),
        ({"shown_cells": {"words": [["rotten_tomatoes", "lstm", "dot"]] * 2}}, "each cell once"),
        (
            {"shown_cells": {"words": [["rotten_tomatoes", "bert", "additive"]]}, "bert_variants": ["none", "lin"]},
            "rotten_tomatoes, bert, additive, which is not in the grid",
        ),
        (
            {"shown_cells": {"boxes": [["rotten_tomatoes", "bert", "additive"]]}},
            "boxes names the cell rotten_tomatoes, bert",
        ),
        ({"shown_cells": {"boxes": [["rotten_tomatoes", "lstm"]]}}, "shown_cells"),
        ({"shown_cells": {"box": []}}, "must be 'boxes' or 'words'"),
        ({"pooling_cell": ["gru", "dot"]}, "pooling_cell names the cell rotten_tomatoes, gru, dot"),
        ({"quirks": ["serrano_r"]}, "serrano_r"),
        ({"vectors": "glove", "embedding_size": 300}, "50 wide"),
        ({"unbalanced": ["rotten_tomatoes"]}, "rotten_tomatoes is among corpora"),
        ({"unbalanced": ["stt"]}, "unbalanced: .*Did you mean 'sst'"),
        ({"epochs_without": {"adr": {"mlp": 30}}}, "corpus in epochs_without"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(changes, told):
    with pytest.raises(AttnlibError, match=told):
        Params(**changes)
