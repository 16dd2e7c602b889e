"""A quantity gives its table, its claim and its share the same numbers, worked out by hand here."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from attnlib.stats.inference import contrast, effect, exact_share
from attnlib.studies.quantity import NotTested, Quantity, Table

TEXTS = 24


def results(shift: float = 0.2):
    """Two models, three trainings, 24 texts each; `b` is above `a` by `shift`, and a little more in later "
    "trainings."""
    rows = [
        ("sst", encoder, seed, text, kind, 0.3 + 0.1 * (encoder == "mlp") + (kind == "b") * (shift + 0.01 * seed))
        for encoder in ("lstm", "mlp")
        for seed in range(3)
        for text in range(TEXTS)
        for kind in "ab"
    ]
    frame = pd.DataFrame(rows, columns=["dataset", "encoder", "seed", "instance", "kind", "value"])
    return SimpleNamespace(frame=frame)


level = Quantity("frame").only(kind="a")
gap = Quantity("frame").minus("kind", "b", "a")


def test_a_mean_counts_models_alike_and_a_table_has_them_one_by_one() -> None:
    assert level.mean(results()).estimate == pytest.approx(0.35)
    table = level.table(results())
    assert table["value"].tolist() == pytest.approx([0.3, 0.4])
    assert table["n"].tolist() == [72, 72]
    assert level.each(results())["sst, mlp"].estimate == pytest.approx(0.4)


def test_a_difference_is_the_contrast_of_its_rows() -> None:
    found, frame = gap.mean(results()), results().frame
    slow = contrast(frame, "kind", "b", "a", ["dataset", "encoder"], bounds=(-1, 1))
    assert (found.estimate, found.low, found.high) == (slow.estimate, slow.low, slow.high)
    assert found.estimate == pytest.approx(0.21)
    assert gap.table(results())["p_holm"].between(0, 1).all()


def test_a_share_counts_trainings_exactly() -> None:
    assert gap.share(results(), border=0.205).estimate == pytest.approx(4 / 6)  # +0.01 and +0.02 lie above
    assert gap.share(results(-0.2), sign=-1).text() == exact_share(6, 6).text()


def test_values_may_be_computed_and_shown_in_percent() -> None:
    high = level.of(value=lambda frame: frame["value"] > 0.35)
    assert high.mean(results()).estimate == 0.5
    assert high.percent().mean(results()).estimate == 50
    assert high.plain(results(), ["encoder"], "sum")["value"].tolist() == [0, 72]


@pytest.mark.parametrize(
    "absent",
    [level.only(encoder="gru"), gap.minus("kind", "c", "a"), gap.only(kind="b")],
    ids=["rows", "side", "partner"],
)
def test_what_a_run_lacks_is_not_tested_and_a_table_of_it_is_empty(absent: Quantity) -> None:
    with pytest.raises(NotTested, match="no such model"):
        absent.of(why="There is no such model.").mean(results())
    assert Table("t", {"x": absent}, "A table.").frame(results()).empty


def test_a_table_puts_quantities_side_by_side() -> None:
    columns = {"a": level, "b minus a": gap, "largest": (level, "max"), "absent": level.only(encoder="gru")}
    table = Table("t", columns, "A table.").frame(results())
    assert [*table] == [
        "dataset",
        "encoder",
        "a",
        "b minus a",
        "p (Holm), b minus a",
        "largest",
        "n",
        "trainings",
        "texts",
    ]
    assert table["a"].tolist() == [effect(part, bounds=(0, 1)).text() for part in (
        level.only(encoder=name).values(results()) for name in ("lstm", "mlp")
    )]  # fmt: skip
