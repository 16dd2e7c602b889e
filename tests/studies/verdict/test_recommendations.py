"""The table of recommended designs: kept from a report, read by encoder, `none` is a name."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.verdict.recommendations import COLUMNS, keep, recommendations
from attnlib.utils.errors import DataError


def test_a_table_is_kept_and_read_again(tmp_path):
    row = {name: "none" if kind is str else 0.123456 for name, kind in COLUMNS.items()}
    rows = [{**row, "encoder": "lstm", "gain": 0.1}, {**row, "encoder": "mlp", "gain": 0.3}]
    (tmp_path / "tables").mkdir()
    pd.DataFrame(rows).to_parquet(tmp_path / "tables" / "recommendations.parquet")
    file = tmp_path / "mine.csv"
    found = keep(tmp_path, file)
    assert list(found["encoder"]) == ["mlp", "lstm"]
    assert found["scaling"].tolist() == ["none", "none"]
    assert recommendations("lstm", file=file)["gain"].tolist() == [0.1]
    with pytest.raises(DataError, match="06_verdict"):
        recommendations(file=tmp_path / "absent.csv")
