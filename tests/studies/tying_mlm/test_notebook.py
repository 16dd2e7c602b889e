"""Notebook 02 on tables as users bring them: a report at the end, and no verdict that the models cannot bear."""

from __future__ import annotations

import pytest

from tests import own_tables
from tests.notebook_cells import ledger, run_cells

SMALL = {
    "vectors": "none", "embedding_size": 8, "variants": ["base", "tying", "mlm"], "attentions": ["additive", "dot"],
    "seeds": [0, 1], "epochs": 1, "deltas": [1.0, 10.0], "etas": [0.3], "layer_variants": ["base"],
    "lambdas": [1.0], "adversary_epochs": 1, "mi_words": 10, "mi_clusters": 10, "mi_occurrences": 200,
}  # fmt: skip


@pytest.mark.slow
def test_the_notebook_gets_through(tmp_path) -> None:
    run_cells("02_tying_mlm", tmp_path, corpora=[str(own_tables.write(tmp_path, "lopsided"))], **SMALL)
    found = ledger(tmp_path)
    assert len(found) == 14
    # after one epoch every model says the one class of 95%
    assert {claim["verdict"] for claim in found.values()} == {"not tested"}


def test_the_base_model_alone_is_a_run_too(tmp_path) -> None:
    few = {"variants": ["base"], "attentions": ["additive"], "seeds": [0], "layers": [], "lambdas": []}
    run_cells("02_tying_mlm", tmp_path, **SMALL | few, corpora=[str(own_tables.write(tmp_path, "sixty"))])
    assert {claim["verdict"] for claim in ledger(tmp_path).values()} == {"not tested"}
