"""Word-level objectives: hyper-parameters next to the paper's, and estimators on known information."""

from __future__ import annotations

import pytest

from attnlib.studies.tying_mlm import setup_tables
from tests.studies.tying_mlm.test_grid import planned


def test_hyperparameters_are_those_of_the_models_and_of_the_paper() -> None:
    table = setup_tables.hyperparameter_table(planned("paper")).set_index("parameter")
    same = table["paper"] == table["this run"]
    assert set(table.index[~same]) == {
        "weight decay",  # none on attention
        "weights δ of tying",  # section 3 has a fourth
        "η, δ of the other tables",
        "epochs",
    }
    ours = setup_tables.hyperparameter_table(planned("cpu")).set_index("parameter")["this run"]
    assert ours["width of the LSTM, each direction"] == "25"
    assert ours["batch"] == "64"
    assert ours["weight decay"] == "1e-05; attention 0"
    assert ours["weights η of MLM"] == "0.1, 0.3"
    assert ours["batch of k-means"] == "4096"


def test_estimators_on_known_information() -> None:
    table = setup_tables.estimator_table(20, 20_000).set_index("variables")
    independent, equal = table.loc["independent"], table.loc["equal"]
    assert independent["plugin"] == pytest.approx(19 * 19 / 40_000, rel=0.2), "the bias of the plug-in estimate"
    assert abs(independent["shuffled"]) < 0.002
    assert equal["plugin"] == pytest.approx(equal["known"], abs=0.01)
    gaussian = table.iloc[1]
    assert gaussian["plugin"] == pytest.approx(gaussian["known"], abs=0.08)
