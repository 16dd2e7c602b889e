"""The notebooks, cell by cell, on small awkward tables as users bring them: each judges only what it can."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from attnlib.utils.errors import ConfigError
from tests import notebook_cells, own_tables

pytestmark = pytest.mark.slow
SMALL: dict[str, dict[str, Any]] = {
    "00_quickstart": {"hidden_size": 8, "epochs": 1},
    "01_tasc": {
        "encoders": ["mlp"], "attentions": ["additive"], "variants": ["none", "lin"], "seeds": [0], "epochs": 1,
        "hidden_size": 8, "embedding_size": 8, "ig_steps": 4, "texts": 20, "limit": 100,
    },
    "02_tying_mlm": {
        "embedding_size": 8, "variants": ["base", "tying", "mlm"], "epochs": 1, "etas": [0.3], "lambdas": [1.0],
        "layer_variants": ["base"], "adversary_epochs": 1, "mi_words": 10, "mi_clusters": 10, "mi_occurrences": 200,
    },
    "03_sparsity": {
        "embedding_size": 8, "hidden_sizes": {"lstm": 8, "transformer": 8}, "epochs": 1, "seeds": [0], "texts": 10,
        "entmax_alphas": [], "hidden_texts": 5, "facet_texts": 2, "adversary_epochs": 1,
    },
    "04_mutual_information": {
        "query_corpora": [], "limit": None, "embedding_size": 5, "encoders": ["lstm"], "learning_rate": 0.03,
        "attentions": ["additive", "dot"], "hidden_sizes": {"lstm": 6}, "epochs": 3, "resamples": 3,
        "ablation_seeds": [0], "adversary_seeds": [0], "adversary_epochs": 1,
    },
    "05_erasure": {
        "texts": 20, "encoders": ["rnn"], "seeds": [0], "embedding_size": 6, "hidden_size": 6, "epochs": 3,
        "learning_rate": 0.03,
    },
}  # fmt: skip
TABLES = dict.fromkeys(SMALL, own_tables.NAMES) | {"02_tying_mlm": ["lopsided", "sixty"]}  # of two classes
NOTHING_LEARNED = ["00_quickstart", "02_tying_mlm", "03_sparsity", "05_erasure"]
"""Where one class has 95% of the texts."""


def run(name: str, folder: Path, table: Path, **more: Any) -> list[dict[str, Any]]:
    """The ledger that a notebook leaves behind."""
    notebook_cells.run_cells(name, folder, **SMALL[name] | {"vectors": "none", "corpora": [str(table)]} | more)
    return list(notebook_cells.ledger(folder).values())


@pytest.mark.parametrize(("name", "table"), [(name, table) for name in SMALL for table in TABLES[name]])
def test_a_notebook_gets_to_its_end_on_a_users_table(name: str, table: str, tmp_path: Path) -> None:
    ledger = run(name, tmp_path, own_tables.write(tmp_path, table))
    for claim in ledger:
        assert (claim["verdict"] == "not tested") == (claim["n"] == 0), claim
        assert claim["n"] or claim["note"], "what is not tested says why"
        assert claim["low"] is None or claim["low"] < claim["high"], "no interval without width"
    shown = json.dumps(ledger) + (tmp_path / "out" / "header.json").read_text()
    assert str(tmp_path) not in shown, "a report has no paths of the machine"
    if table == "lopsided" and name in NOTHING_LEARNED:
        assert {claim["verdict"] for claim in ledger} == {"not tested"}


def test_a_table_too_small_for_any_estimate_is_refused_before_training(tmp_path: Path) -> None:
    file = tmp_path / "tiny.csv"
    file.write_text("text,label\n" + "".join(f"word{i} is {i % 2},{'ab'[i % 2]}\n" for i in range(24)))
    with pytest.raises(ConfigError, match="test texts"):
        run("04_mutual_information", tmp_path, file)
    assert not list((tmp_path / "store").rglob("*.safetensors"))
