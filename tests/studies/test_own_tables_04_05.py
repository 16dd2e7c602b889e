"""The notebooks on information and on erasure, cell by cell, on tables as users bring them."""

from __future__ import annotations

import json

import pytest

from attnlib.utils.errors import ConfigError
from tests import notebook_cells, own_tables
from tests.notebook_cells import run_cells

INFORMATION = {
    "query_corpora": [],
    "limit": None,
    "vectors": "none",
    "embedding_size": 5,
    "encoders": ["lstm"],
    "attentions": ["additive", "dot"],
    "hidden_sizes": {"lstm": 6},
    "epochs": 3,
    "learning_rate": 0.03,
    "resamples": 3,
    "ablation_seeds": [0],
    "adversary_seeds": [0],
    "adversary_epochs": 1,
}
"""Numbers of clusters and of texts as the notebook has them: 8 or 12 clusters."""
ERASURE = {
    "texts": 20,
    "encoders": ["rnn"],
    "seeds": [0],
    "vectors": "none",
    "embedding_size": 6,
    "hidden_size": 6,
    "epochs": 3,
    "learning_rate": 0.03,
}


def run(name: str, told: dict, folder) -> list[dict]:
    """The ledger that a notebook leaves behind, run with these parameters."""
    run_cells(name, folder, **told)
    ledger = list(notebook_cells.ledger(folder).values())
    for claim in ledger:
        assert (claim["verdict"] == "not tested") == (claim["n"] == 0), claim
        assert claim["n"] or claim["note"], "what is not tested says why"
        assert claim["low"] is None or claim["low"] < claim["high"], "no interval without width"
    shown = json.dumps(ledger) + (folder / "out" / "header.json").read_text()
    assert str(folder) not in shown, "a report has no paths of the machine"
    return ledger


@pytest.mark.parametrize("table", own_tables.NAMES)
def test_information_on_a_users_table(table, tmp_path):
    """No corpus with a query; 60 rows leave six test texts, fewer than the clusters."""
    told = INFORMATION | {"corpora": [str(own_tables.write(tmp_path, table))]}
    ledger = run("04_mutual_information", told, tmp_path)
    assert ledger[11]["verdict"] == "not tested", "no texts with a query"
    if table == "sixty":
        assert {claim["verdict"] for claim in ledger} == {"not tested"}
        assert "too few test texts" in ledger[0]["note"]


@pytest.mark.parametrize("table", own_tables.NAMES)
def test_erasure_on_a_users_table(table, tmp_path):
    """With 95% of one class, nothing is learned."""
    ledger = run("05_erasure", ERASURE | {"corpora": [str(own_tables.write(tmp_path, table))]}, tmp_path)
    assert ledger[18]["verdict"] == "not tested", "no Amazon here"
    if table == "lopsided":
        assert {claim["verdict"] for claim in ledger} == {"not tested"}


def test_a_table_too_small_for_any_estimate_is_refused_before_training(tmp_path):
    file = tmp_path / "tiny.csv"
    file.write_text("text,label\n" + "".join(f"word{i} is {i % 2},{'ab'[i % 2]}\n" for i in range(24)))
    with pytest.raises(ConfigError, match="test texts"):
        run("04_mutual_information", INFORMATION | {"corpora": [str(file)]}, tmp_path)
    assert not list((tmp_path / "store").rglob("*.safetensors"))
