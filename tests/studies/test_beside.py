"""The printed tables are read in the kit's names, and join ours without losing or doubling a row."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.config import ATTENTIONS
from attnlib.studies.beside import beside, reference
from attnlib.utils.errors import ConfigError, UnknownName


@pytest.mark.parametrize("paper", ["tasc", "tying_mlm", "sparsity", "mutual_information", "erasure"])
def test_every_value_is_a_number(paper: str) -> None:
    rows = reference(paper)
    assert rows["value"].notna().all()
    assert rows["metric"].notna().all()


def test_names_are_ours() -> None:
    attentions = set(reference("tasc")["attention"].dropna())
    assert attentions <= set(ATTENTIONS)
    assert "none" in set(reference("tasc", 2)["variant"]), "the variant without TaSc is not a missing value"


def test_table_2_has_its_200_cells() -> None:
    assert len(reference("tasc", 2)) == 200
    assert len(reference("tasc", 2).drop_duplicates(["dataset", "encoder", "attention", "variant"])) == 200


def test_beside_joins_and_keeps_rows_the_paper_lacks() -> None:
    ours = pd.DataFrame(
        {
            "dataset": ["sst", "rotten_tomatoes"],
            "encoder": "lstm",
            "attention": "additive",
            "variant": "none",
            "metric": "f1_macro",
            "value": [0.8, 0.7],
        }
    )
    joined = beside(ours, "tasc", 2)
    assert len(joined) == 2
    assert joined["paper"].tolist()[0] == pytest.approx(0.75)
    assert joined["difference"].tolist()[0] == pytest.approx(0.05)
    # Rotten Tomatoes is shown next to the paper's closest corpus, without a difference
    assert joined["dataset"].tolist() == ["sst", "rotten_tomatoes"]
    assert joined["paper's corpus"].tolist() == ["sst", "sst"]
    assert joined["difference"].isna().tolist() == [False, True]


def test_a_corpus_that_the_paper_lacks_keeps_its_row() -> None:
    row = {"dataset": "mine", "encoder": "lstm", "attention": "additive", "variant": "none", "metric": "f1_macro"}
    joined = beside(pd.DataFrame([{**row, "value": 0.8, "low": 0.7, "high": 0.9}]), "tasc", 2)
    assert joined["paper"].isna().all()
    assert joined["ours"].tolist() == ["0.80 [0.70, 0.90]"]


def test_beside_asks_for_the_column_that_is_missing() -> None:
    ours = pd.DataFrame({"dataset": ["sst"], "encoder": ["lstm"], "metric": ["f1_macro"], "value": [0.8]})
    with pytest.raises(ConfigError, match="add the columns attention, variant"):
        beside(ours, "tasc", 2)


def test_unknown_paper_and_table() -> None:
    with pytest.raises(UnknownName, match="Did you mean 'tasc'"):
        reference("tasca")
    with pytest.raises(UnknownName, match="Available: 1, 2, 3, 4, 5"):
        reference("tasc", 9)
