"""The printed tables are read in the kit's names, and join ours without losing or doubling a row."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.beside import beside, printed_gap, reference
from attnlib.studies.quantity import Quantity
from attnlib.utils.errors import ConfigError, UnknownName


@pytest.mark.parametrize("paper", ["tasc", "tying_mlm", "sparsity", "mutual_information", "erasure"])
def test_every_value_is_a_number(paper: str) -> None:
    rows = reference(paper)
    assert rows["value"].notna().all()
    assert rows["metric"].notna().all()


def test_ours_stand_next_to_the_paper_and_keep_rows_that_it_lacks() -> None:
    corpora = ["sst", "rotten_tomatoes", "mine"]
    row = {"encoder": "lstm", "attention": "additive", "variant": "none", "metric": "f1_macro", "value": 0.8}
    joined = beside(pd.DataFrame([{"dataset": name, **row} for name in corpora]), "tasc", 2)
    assert joined["dataset"].tolist() == corpora
    assert joined["paper"].tolist() == pytest.approx([0.75, 0.75, float("nan")], nan_ok=True)


def test_a_difference_is_that_of_the_closest_corpus_or_the_mean_over_all() -> None:
    gap = Quantity("").minus("variant", "lin", "none")
    rows = reference("tasc", 2).query("encoder == 'lstm'")
    for dataset, own, where in (
        ("rotten_tomatoes", rows[rows["dataset"] == "sst"], "Table 2, sst"),
        ("mine", rows, "Table 2, mean over its corpora"),
    ):
        means = own.groupby("variant")["value"].mean()
        found = printed_gap("tasc", 2, gap, [dataset], encoder=["lstm", "none of theirs"])
        assert (found.value, found.where) == (pytest.approx(means["lin"] - means["none"]), where)


def test_beside_asks_for_the_column_that_is_missing() -> None:
    ours = pd.DataFrame({"dataset": ["sst"], "encoder": ["lstm"], "metric": ["f1_macro"], "value": [0.8]})
    with pytest.raises(ConfigError, match="by dataset, encoder, attention, variant"):
        beside(ours, "tasc", 2)


def test_unknown_paper_and_table() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'tasc'"):
        reference("tasca")
    with pytest.raises(UnknownName, match="Available: 1, 2, 3, 4, 5"):
        reference("tasc", 9)
