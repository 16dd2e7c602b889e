"""Means over cells: each counts alike, one corpus gives what `common` gives, texts are drawn within a corpus."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

from attnlib.studies import common
from attnlib.studies.tasc import cells as tasc_cells
from attnlib.utils.errors import DataError


def rows(dataset: str, texts: int, levels: dict[str, float], encoders=("lstm", "mlp"), spread=0.1) -> pd.DataFrame:
    """Values around the level of a variant, with chance in texts and seeds."""
    rng = np.random.default_rng([texts, len(encoders)])
    found = []
    for encoder, attention, (variant, level), seed in itertools.product(
        encoders, ("additive", "dot"), levels.items(), (0, 1, 2)
    ):
        cell = {"dataset": dataset, "encoder": encoder, "attention": attention, "variant": variant, "seed": seed}
        values = level + spread * rng.normal(size=texts) + spread / 5 * rng.normal()
        found += [cell | {"instance": f"t{i}", "value": value} for i, value in enumerate(values)]
    return pd.DataFrame(found)


@pytest.fixture
def unequal() -> pd.DataFrame:
    """A small corpus where lin is far lower, and one nine times as large where it is higher."""
    small = rows("small", 10, {"none": 0.8, "lin": 0.2})
    large = rows("large", 90, {"none": 0.4, "lin": 0.5})
    return pd.concat([small, large], ignore_index=True)


def test_a_large_corpus_counts_no_more_than_a_small_one(unequal):
    table = tasc_cells.summarise(unequal, ["variant"]).set_index("variant")
    cells = unequal.groupby([*tasc_cells.CELL, "variant"])["value"].mean().groupby("variant").mean()
    assert table["value"].to_dict() == pytest.approx(cells.to_dict(), abs=1e-12)
    assert table["value"]["lin"] == pytest.approx(0.35, abs=0.03)  # over texts it would be 0.47
    assert table["n"].to_dict() == {"none": 1200, "lin": 1200}
    assert (table["low"] < table["value"]).all()
    assert (table["value"] < table["high"]).all()
    row = tasc_cells.contrast(unequal, "variant", "lin", "none", pair=tasc_cells.CELL).iloc[0]
    assert row["estimate"] == pytest.approx(cells["lin"] - cells["none"], abs=1e-12)
    assert (row["a"], row["b"]) == pytest.approx((cells["lin"], cells["none"]), abs=1e-12)
    assert row["high"] < 0  # over texts lin would be above none


def test_for_one_corpus_nothing_differs_from_a_mean_over_texts():
    frame = rows("one", 30, {"none": 0.5, "lin": 0.48})
    ours, plain = (m.summarise(frame, ["variant", "encoder"]) for m in (tasc_cells, common))
    pd.testing.assert_frame_equal(ours, plain.drop(columns="missing"), rtol=1e-12)
    ours, plain = (
        m.contrast(frame, "variant", "lin", "none", ["encoder"], pair=["dataset", "attention"])
        for m in (tasc_cells, common)
    )
    pd.testing.assert_frame_equal(ours, plain[list(ours)], rtol=1e-9)


def test_texts_are_drawn_within_a_corpus_so_its_level_adds_no_width():
    far = pd.concat([rows("a", 40, {"none": 0.0}, spread=1e-3), rows("b", 40, {"none": 1.0}, spread=1e-3)])
    row = tasc_cells.summarise(far, ["variant"]).iloc[0]
    assert row["high"] - row["low"] < 0.01
    assert row["value"] == pytest.approx(0.5, abs=1e-3)


def test_a_cell_with_fewer_texts_counts_alike():
    frame = rows("one", 40, {"none": 0.2})
    few = rows("one", 10, {"none": 0.8}, encoders=("bert",))
    both = pd.concat([frame, few], ignore_index=True)
    cells = both.groupby(tasc_cells.CELL)["value"].mean()
    assert tasc_cells.summarise(both, ["variant"])["value"].iloc[0] == pytest.approx(cells.mean(), abs=1e-12)


def test_the_interval_covers_the_truth_about_as_often_as_it_says():
    inside = 0
    for k in range(60):
        rng = np.random.default_rng(k)
        parts = [
            pd.DataFrame({"dataset": d, "instance": range(n), "value": level + rng.normal(size=n)})
            for d, n, level in (("a", 20, 0.0), ("b", 80, 2.0))
        ]
        frame = pd.concat(parts).assign(encoder="mlp", attention="dot", variant="none", seed=0)
        row = tasc_cells.summarise(frame, ["variant"], resamples=300).iloc[0]
        inside += row["low"] < 1.0 < row["high"]
    assert 50 <= inside <= 60


def test_what_cannot_be_paired_is_refused_or_left_out(unequal):
    with pytest.raises(DataError, match="No row has variant = 'feat'"):
        tasc_cells.contrast(unequal, "variant", "feat", "none", pair=tasc_cells.CELL)
    with pytest.raises(DataError, match="name what differs"):
        tasc_cells.contrast(unequal, "variant", "lin", "none", pair=["dataset", "encoder"])
    with pytest.raises(DataError, match="several values"):
        tasc_cells.summarise(unequal, ["encoder"])  # the variants are not told apart
    lost = unequal.drop(unequal.index[unequal["variant"] == "lin"][:5])
    assert tasc_cells.contrast(lost, "variant", "lin", "none", pair=tasc_cells.CELL)["n"].iloc[0] == 1195


def test_one_value_has_no_interval():
    row = tasc_cells.summarise(rows("one", 1, {"none": 0.5}, encoders=("mlp",)).iloc[:1], ["variant"]).iloc[0]
    assert np.isnan([row["low"], row["high"]]).all()
