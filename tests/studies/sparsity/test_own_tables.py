"""Notebook 03 on tables as users bring them, and its ledger where models learned nothing or are not there."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity import tables, words
from attnlib.studies.sparsity.claims import _hidden_above_inputs, claims
from attnlib.studies.sparsity.trends import trends
from tests import own_tables
from tests.notebook_cells import ledger, run_cells
from tests.studies.sparsity.frames import found

SMALL = {
    "embedding_size": 8, "hidden_sizes": {"lstm": 8, "transformer": 8}, "epochs": 1, "seeds": [0], "texts": 10,
    "hidden_texts": 5, "facet_texts": 2, "adversary_epochs": 1,
}  # fmt: skip


@pytest.mark.parametrize("name", ["six", "lopsided"])
def test_the_notebook_gets_through(tmp_path, name) -> None:
    encoders = {"six": ["lstm", "transformer"], "lopsided": ["lstm"]}[name]
    corpora = [str(own_tables.write(tmp_path, name))]
    run_cells("03_sparsity", tmp_path, corpora=corpora, encoders=encoders, **SMALL)
    claims = ledger(tmp_path)
    assert len(claims) == 17
    assert all(claim["note"] for claim in claims.values() if claim["verdict"] == "not tested")
    if name == "lopsided":  # after one epoch every model says the one class of 95%
        assert {claim["verdict"] for claim in claims.values()} == {"not tested"}


def test_models_that_learned_nothing_decide_nothing() -> None:
    results = found()
    results.right["prediction"] = 0
    assert {claim.verdict for claim in claims(results)} == {"not tested"}
    assert all(table.empty for table in trends(results).values())
    assert "no trend" in words.about_lambda(trends(results))[1]
    assert "**24 of 24 models learned nothing**" in words.about_grid(results)[1]


def test_one_idle_encoder_leaves_the_other_to_decide() -> None:
    results = found()
    idle = results.right["encoder"] == "lstm"
    results.right.loc[idle, "prediction"] = 0
    verdicts = {claim.id: claim for claim in claims(results)}
    assert verdicts["sparsity-2"].verdict == verdicts["sparsity-11"].verdict == "reproduced"
    assert "lstm" not in verdicts["sparsity-2"].setting
    assert set(study.learned(results).facets["encoder"]) == {"transformer"}
    assert len(study.unlearned(results)) == len(results.right[idle].groupby([*study.KEYS, "seed"], dropna=False))


def test_a_cell_without_a_measurement_does_not_count() -> None:
    results = found()
    own = results.agreement["encoder"] == "lstm"
    results.agreement.loc[own, ["value", "status"]] = [np.nan, "one token"]
    claim = _hidden_above_inputs(results.agreement, "gradient")
    assert claim.verdict == "reproduced"
    assert "2 cells not tested" in claim.setting
    results.agreement[["value", "status"]] = [np.nan, "one token"]
    assert _hidden_above_inputs(results.agreement, "gradient").verdict == "not tested"


def test_an_empty_trend_makes_no_table() -> None:
    results = found()
    results.right["prediction"] = 0
    assert tables.lambda_table(trends(results)["entropy"]).empty
