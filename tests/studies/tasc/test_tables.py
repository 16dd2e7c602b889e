"""Tables of the TaSc study on hand-made frames: exact values, ours next to the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.studies.tasc import tables
from attnlib.studies.tasc.grid import BASELINES, FRACTION, TOP1
from tests.studies.tasc.made import TEXTS, frame, labels, paper_like

KEYS = ["importance", "attention", "variant"]


def test_the_aggregate_table_is_next_to_the_papers_with_ratios():
    flips = frame(paper_like)
    table = tables.aggregate_table(flips, FRACTION).set_index(KEYS)
    row = table.loc[("α∇α", "Dot", "Lin-TaSc")]
    assert row["value"] == pytest.approx(0.25, abs=0.005)
    assert row["ratio"] == pytest.approx(0.25 / 0.45, abs=0.02)
    assert (row["paper's mean"], row["paper's ratio"]) == (0.21, pytest.approx(0.21 / 0.41))
    assert (row["n"], row["trainings"], row["texts"]) == (2 * 3 * TEXTS, 2 * 3, TEXTS)
    assert row["low"] < row["value"] < row["high"]
    top = tables.aggregate_table(flips, TOP1).set_index(KEYS)
    assert top.loc[("α", "Tanh", "No-TaSc"), "paper's mean"] == 8.4
    unanimous = top.loc[("α∇α", "Dot", "Lin-TaSc")]
    assert unanimous["value"] == unanimous["high"] == 100.0
    assert 80 < unanimous["low"] < 100, "no interval without a width"


def test_a_large_corpus_counts_no_more_than_a_small_one():
    """Lin-TaSc gains .5 in a corpus of 40 texts and loses .1 in one of 200."""
    small = frame(lambda e, a, v, r: 0.2 if v == "lin" else 0.7)
    large = frame(lambda e, a, v, r: 0.4 if v == "lin" else 0.3, dataset="imdb", texts=200)
    flips = pd.concat([small, large], ignore_index=True)
    table = tables.aggregate_table(flips, FRACTION).set_index(KEYS)
    assert table.loc[("α∇α", "Dot", "Lin-TaSc"), "value"] == pytest.approx(0.3, abs=0.01)
    changed = tables.changes(flips, FRACTION)
    assert changed["difference"].tolist() == pytest.approx([-0.2] * 9, abs=0.01)
    assert changed["encoder"].tolist() == ["all"] * 3 + ["LSTM"] * 3 + ["MLP"] * 3
    assert set(changed["texts"]) == {240}


def test_an_encoder_with_a_part_of_the_grid_stays_out_of_means_over_cells():
    flips = frame(paper_like)
    part = frame(lambda *cell: 0.99, encoders=("bert",), seeds=(0,))
    both = pd.concat([flips, part], ignore_index=True)
    pd.testing.assert_frame_equal(tables.aggregate_table(both, FRACTION), tables.aggregate_table(flips, FRACTION))
    changed = tables.changes(both, FRACTION)
    assert set(changed["encoder"]) == {"all", "LSTM", "MLP", "BERT"}
    assert changed.loc[changed["encoder"] == "BERT", "low"].isna().all(), "one training has no interval"


def test_f1_is_that_of_scikit_learn_and_is_next_to_the_papers():
    told = labels(0.9)
    table = tables.f1_table(told).set_index(["encoder", "attention", "variant"])
    cell = told[(told["encoder"] == "mlp") & (told["attention"] == "dot") & (told["variant"] == "lin")]
    slow = [f1_score(own["truth"], own["prediction"], average="macro") for _, own in cell.groupby("seed")]
    row = table.loc[("MLP", "Dot", "Lin-TaSc")]
    assert (row["value"], row["paper"]) == (pytest.approx(np.mean(slow)), 0.78)
    changes = tables.f1_changes(told).set_index("encoder")
    assert changes.loc["MLP", "difference"] == pytest.approx(0.1, abs=0.03)
    assert changes["low"].gt(0).all()
    assert changes["p_holm"].lt(0.05).all()
    nothing = tables.f1_changes(told.iloc[:0])
    assert nothing.empty
    assert list(nothing) == list(tables.f1_changes(told)), "the same columns"
    cells = tables.f1_changes(told, ["dataset", "encoder", "attention"])
    assert len(cells) == 4
    both = cells.loc[cells["encoder"] == "MLP", "difference"].mean()
    assert changes.loc["MLP", "difference"] == pytest.approx(both), "the mean of its cells"


def test_a_difference_from_the_paper_needs_the_papers_corpus():
    both = pd.concat([frame(paper_like), frame(paper_like, dataset="rotten_tomatoes")], ignore_index=True)
    table = tables.baseline_table(both).set_index("dataset")
    assert set(table["paper's corpus"]) == {"sst"}
    assert table.loc["sst", "difference"].notna().all()
    assert table.loc["rotten_tomatoes", "difference"].isna().all()
    alone = tables.baseline_table(frame(paper_like, dataset="rotten_tomatoes"))
    assert "difference" not in alone
    cell = alone[(alone["encoder"] == "LSTM") & (alone["attention"] == "Tanh") & (alone["importance"] == "α∇α")]
    assert cell[["paper", "variant"]].to_numpy().tolist() == [[0.19, "Lin-TaSc"]]


def test_baselines_are_compared_on_the_texts_that_all_rankings_have():
    flips = frame(paper_like)
    fewer = flips[~flips["importance"].isin(BASELINES) | flips["instance"].isin(["t0", "t1", "t2"])]
    assert set(tables.compared(fewer)["instance"]) == {"t0", "t1", "t2"}
    assert set(tables.baseline_table(fewer)["texts"]) == {3}
    alone = frame(paper_like, encoders=("bert",))
    alone = alone[~alone["importance"].isin(BASELINES)]
    shown = tables.baseline_table(pd.concat([flips, alone], ignore_index=True))
    assert "BERT" not in set(shown["encoder"]), "a cell without baselines has nothing to compare"


def test_fractions_that_agree_to_two_digits_are_comparable():
    names = ("WO", "x∇x", "IG", "α∇α")
    fractions = {"LSTM": (0.3, 0.25, 0.204, 0.196), "MLP": (0.3, 0.25, 0.204, 0.19), "CNN": (0.1, 0.2, 0.2, 0.15)}
    rows = [
        {"dataset": "sst", "encoder": e, "attention": "Dot", "importance": n, "value": v, "paper": np.nan}
        for e, own in fractions.items()
        for n, v in zip(names, own, strict=True)
    ]
    wins = tables.baseline_wins(pd.DataFrame(rows))
    assert wins[["smaller", "equal", "larger", "cells"]].to_numpy().tolist() == [[1, 1, 1, 3]]


def test_appendix_e_holds_every_cell_and_method():
    table = tables.with_tasc_table(frame(paper_like))
    assert len(table) == 2 * 2 * 3
    row = table[(table["encoder"] == "LSTM") & (table["importance"] == "WO")].iloc[0]
    assert row["difference"] == pytest.approx(row["Lin-TaSc"] - row["No-TaSc"])
    assert row["difference"] == pytest.approx(0.38 - 0.52, abs=0.01)


def test_conventions_tell_never_and_empty_apart():
    flips = frame(paper_like, encoders=("mlp",), seeds=(0,))
    cell = (flips["importance"] == "alpha_grad") & (flips["attention"] == "dot") & (flips["variant"] == "lin")
    rows = flips.index[cell & (flips["metric"] == FRACTION)]
    flips.loc[rows[:10], ["status", "value"]] = ["never", 1.0]
    flips.loc[rows[10:15], ["status", "value"]] = ["only_when_empty", 1.0]
    row = tables.conventions(flips).set_index(["attention", "variant"]).loc[("Dot", "Lin-TaSc")]
    assert row[["never flips", "only when empty", "flips before"]].tolist() == [0.25, 0.125, 0.625]
    assert row["mean of those"] == pytest.approx(flips.loc[rows[15:], "value"].mean())


def test_quartiles_of_the_boxes_that_were_measured():
    flips = frame(lambda e, a, v, r: 0.5 if v == "none" else 0.3)
    table = tables.quartiles(flips, [("sst", "mlp", "dot"), ("adr", "bert", "additive")])
    assert len(table) == 3 * 2
    assert table["median"].tolist() == pytest.approx([0.5] * 3 + [0.3] * 3, abs=0.01)
    assert (table["lower"] < table["median"]).all()


def words_of(dataset: str, seed: int, u: list[float]) -> pd.DataFrame:
    cell = {"dataset": dataset, "encoder": "lstm", "attention": "dot", "seed": seed}
    return pd.DataFrame({"word": list("abcdefg"), "u": u, "s": 1.0, "count": [5, 5, 5, 5, 5, 5, 1]}).assign(**cell)


def test_the_words_of_u_are_ordered_from_both_ends_and_trainings_compared():
    up, down = [3.0, -2, 1, 0, -1, 2, -3], [-3.0, 2, -1, 0, 1, 2, 3]
    words = pd.concat([words_of("imdb", 0, up), words_of("adr", 0, down), words_of("imdb", 1, down)])
    table = tables.word_table(words, 2)
    assert table["word"].tolist() == ["a", "f", "g", "b", "g", "b", "a", "c", "g", "b", "a", "c"]
    assert table["rank"].tolist() == [1, 2] * 6
    assert table["dataset"].tolist() == ["imdb"] * 8 + ["adr"] * 4
    agreed = tables.word_agreement(words, 4).set_index("dataset")
    assert agreed.loc["imdb", ["shared by two trainings", "of the same sign"]].tolist() == [4, 1]
    assert agreed["occur at most twice"].tolist() == pytest.approx([1 / 7] * 2)
    assert np.isnan(agreed.loc["adr", "shared by two trainings"]), "one training has nothing to agree with"


def test_pooling_and_parameter_tables():
    flips = frame(paper_like, encoders=("mlp",), variants=("lin",))
    flips = flips[flips["attention"] == "dot"]
    told = labels(0.9).query("encoder == 'mlp' and attention == 'dot' and variant == 'lin'")
    pools = pd.concat([flips.assign(pool=p, value=flips["value"] + k / 10) for k, p in enumerate(("mean", "sum"))])
    table = tables.pooling_table(pools, pd.concat([told.assign(pool=p) for p in ("mean", "sum")]))
    assert table["pooling"].tolist() == ["sum (the paper)"] * 2 + ["mean"] * 2
    fractions = table.loc[table["measure"] == "fraction", "value"]
    assert fractions.tolist() == pytest.approx([0.35, 0.25], abs=0.01)
    sizes = pd.DataFrame({"vocabulary": 100, "embedding": 10, "scaling": [0, 100, 1000, 265]})
    sizes = sizes.assign(dataset="sst", encoder="mlp", variant=["none", "lin", "feat", "conv"])
    counted = tables.parameter_table(sizes)
    assert (counted["by formula"] == counted["in the model"]).all()
