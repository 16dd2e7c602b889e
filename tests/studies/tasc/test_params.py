"""Parameters of the TaSc study: every profile is valid, nonsense is refused before anything runs."""

from __future__ import annotations

import pytest

from attnlib.studies.tasc.params import Params
from attnlib.utils.errors import AttnlibError
from tests.studies.tasc.made import values


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_a_profile_is_valid(profile):
    assert Params(**values(profile)).corpora


def test_every_parameter_of_the_study_is_one_of_the_notebook():
    assert set(values("smoke")) == set(Params.model_fields)


def test_every_word_model_of_the_cpu_profile_is_trained_three_times():
    params = Params(**values("cpu"))
    assert len(params.seeds) >= 3


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"corpora": ["stt"]}, "Did you mean 'sst'"),
        ({"corpora": []}, "at least one"),
        ({"encoders": ["lstm", "bert"]}, "set bert_variants"),
        ({"encoders": ["lstn"]}, "lstn"),
        ({"seeds": [1, 1]}, "each once"),
        ({"variants": ["none", "feat"]}, "'none' and 'lin'"),
        ({"bert_variants": ["lin"]}, "'none' and 'lin'"),
        ({"bert_variants": ["none", "lin"], "bert_seeds": [9]}, "nothing to compare with"),
        (
            {"shown_cells": {"words": [["planted", "gru", "dot"]]}},
            "words names the cell planted, gru, dot, which is",
        ),
        ({"shown_cells": {"words": [["imdb", "lstm", "dot"]]}}, "imdb, lstm, dot, which is not in the grid"),
        ({"shown_cells": {"words": [["planted", "lstm", "dot"]] * 2}}, "each cell once"),
        (
            {"shown_cells": {"words": [["planted", "bert", "additive"]]}, "bert_variants": ["none", "lin"]},
            "planted, bert, additive, which is not in the grid",
        ),
        ({"shown_cells": {"boxes": [["planted", "bert", "additive"]]}}, "boxes names the cell planted, bert"),
        ({"shown_cells": {"boxes": [["planted", "lstm"]]}}, "shown_cells"),
        ({"shown_cells": {"box": []}}, "must be 'boxes' or 'words'"),
        ({"pooling_cell": ["gru", "dot"]}, "pooling_cell names the cell planted, gru, dot"),
        ({"pooling_cell": ["mlp"]}, "pooling_cell"),
        ({"quirks": ["serrano_r"]}, "serrano_r"),
        ({"quirks": ["tasc_nan"]}, "tasc_nan_empty"),
        ({"corpora": [{"corpus": "imdb", "pth": "x"}]}, "Unknown option 'pth'"),
        ({"vectors": "glove", "embedding_size": 300}, "50 wide"),
        ({"texts": 0}, "texts"),
        ({"unbalanced": ["planted"]}, "planted is among corpora"),
        ({"unbalanced": ["stt"]}, "unbalanced: .*Did you mean 'sst'"),
        ({"epochs_without": {"adr": {"mlp": 30}}}, "corpus in epochs_without"),
        ({"baseline_texts": 0}, "baseline_texts"),
        ({"epoch": 3}, "Did you mean 'epochs'"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(changes, told):
    with pytest.raises(AttnlibError, match=told):
        Params(**changes)


def test_params_come_from_the_names_of_a_notebook():
    assert Params.of(values("smoke") | {"something": 1}) == Params(**values("smoke"))
    assert Params.of({"seeds": [3]}).seeds == (3,)
