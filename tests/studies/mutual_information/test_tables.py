"""Tables of the study of attention ranks and information, by hand and next to the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.data import load_corpus
from attnlib.studies.mutual_information import tables
from attnlib.studies.mutual_information.grid import MODEL
from tests.studies.mutual_information.frames import GOOD, SPECIAL, apart_frame, tau_frame, tau_row


def test_corpora_stand_next_to_the_closest_of_the_paper() -> None:
    stories = load_corpus("planted", task="qa", n_train=20, n_dev=5, n_test=5)
    table = tables.corpus_table({"stories": stories, "a/b/mine.csv": stories}).set_index("dataset")
    assert table["train / dev / test"].tolist() == ["20 / 5 / 5"] * 2
    assert table["paper's corpus"].to_dict() == {"stories": "babi_1", "mine": "–"}
    assert table.loc["stories", "paper: mean words"] == 8


def test_accuracy_is_over_trainings_and_texts() -> None:
    models = pd.DataFrame([tau_row("lstm", "additive", seed, 0.5) for seed in (0, 1)])[MODEL]
    labels = models.merge(pd.DataFrame({"instance": range(20), "truth": [0, 1] * 10}), how="cross")
    labels["prediction"] = labels["truth"].where(labels["instance"] >= 4 + labels["seed"], 2)
    (row,) = tables.accuracy_table(labels).to_dict("records")
    assert row["value"] == pytest.approx(1 - 4.5 / 20)
    assert 0 < row["low"] < row["value"] < row["high"] < 1
    assert (row["paper"], row["trainings"], row["texts"], row["n"]) == (0.82, 2, 20, 40)


def test_averages_stand_next_to_the_papers() -> None:
    table = tables.average_table(tau_frame()).set_index(["encoder", "attention"])
    dot = table.loc[("all", "Dot")]
    assert (dot["value"], dot["paper"], dot["trainings"]) == (pytest.approx(0.3), 0.45, 6)
    assert dot["low"] < 0.3 < dot["high"]
    assert dot["difference"] == pytest.approx(0.3 - 0.45)
    assert table.loc[("BiLSTM", "Additive"), "paper"] == 0.92
    assert np.isnan(table.loc[("CNN", "Dot"), "paper"])


def test_cells_are_compared_on_the_corpora_that_have_them_all() -> None:
    easy = tau_frame(dict.fromkeys(GOOD, 1.0), dataset="stories", encoders=("lstm",), best=0.0)
    hard = tau_frame({"additive": 0.2, "deep": 0.15, "dot": 0.1}, best=-0.1)
    table = tables.average_table(pd.concat([hard, easy])).set_index(["encoder", "attention"])
    assert table.loc[("BiLSTM", "Additive"), "value"] == pytest.approx(0.1), "stories would make it 0.55"
    assert table.loc[("BiLSTM", "Additive"), ["corpora", "trainings"]].tolist() == [1, 3]
    assert table.loc[("all", "Deep"), ["corpora", "trainings"]].tolist() == [2, 9], "all have every attention"
    apart = pd.concat([tau_frame(encoders=("cnn",)), easy])
    assert set(tables.average_table(apart)["encoder"]) == {"all"}
    assert tables.average_table(hard.iloc[:0]).empty


def test_tau_by_cell_is_over_models_that_learned() -> None:
    taus = tau_frame()
    flat = (taus["encoder"] == "cnn") & (taus["seed"] == 0)
    taus.loc[flat, ["value", "idle"]] = [-1.0, True]
    table = tables.tau_table(taus, taus[~taus["idle"]]).set_index(["encoder", "attention"])
    assert table.loc[("CNN", "Dot"), ["trainings", "left out"]].tolist() == [2, 1]
    assert table.loc[("CNN", "Dot"), "value"] == pytest.approx(0.302)
    assert set(table["± over texts"]) == {0.004}
    none = tables.tau_table(taus, taus.iloc[:0])
    assert len(none) == 6, "a cell without models keeps its row"
    assert none["value"].isna().all()


def test_losses_are_paired_by_training() -> None:
    taus = tau_frame()
    gone = (taus["variant"] == "none") & (taus["seed"] == 2)
    loss = tables.delta_table(taus[~gone], 2, SPECIAL[:2]).set_index("variant")
    assert loss["trainings"].tolist() == [2, 2], "the third has lost its base"
    loss = tables.delta_table(taus, 2, SPECIAL[:2]).set_index("variant")
    assert loss.loc["Fix Attn", ["τ as trained", "τ there", "value"]].tolist() == pytest.approx([0.95, 0.1, 0.85])
    assert loss["paper"].to_dict() == {"Fix Attn": 0.71, "Fix Rep": -0.02}
    assert loss.loc["Fix Attn", "difference"] == pytest.approx(0.85 - 0.71)
    other = tables.delta_table(tau_frame(dataset="hub:stanfordnlp/sst2"), 4, SPECIAL[2:])
    assert other[["paper", "paper's corpus"]].to_numpy().tolist() == [[0.04, "sst"]]
    assert tables.delta_table(taus[taus["variant"] == "none"], 2, SPECIAL[:2]).empty


def test_adversaries_stand_next_to_the_papers() -> None:
    apart = apart_frame("rotten_tomatoes", seeds=2, adversary=0.5, tvd=0.2)
    apart["jsd"] = 0.3 + 0.01 * apart["seed"]
    table = tables.adversary_table(apart).set_index("quantity")
    assert table["value"].to_dict() == pytest.approx(
        {"accuracy of base": 1.0, "accuracy": 0.5, "TVD as trained": 0.1, "TVD": 0.2, "JSD": 0.305}
    )
    assert table["paper"].to_dict() == pytest.approx(
        {"accuracy of base": np.nan, "accuracy": 0.82, "TVD as trained": 0.036, "TVD": np.nan, "JSD": 0.316},
        nan_ok=True,
    )
    assert (table["low"] < table["high"]).all(), "no interval without width"
    assert table["low"].min() >= 0
    assert table["high"].max() <= 1
    told = table[["λ", "λ from", "texts", "trainings"]].drop_duplicates().to_numpy().tolist()
    assert told == [["0.000525", "paper: sst", 10, 2]]


def test_gumbel_counts_what_rises_or_stays() -> None:
    taus = tau_frame(gumbel=0.0)
    fallen = (taus["projection"] == "gumbel") & (taus["attention"] == "dot") & (taus["encoder"] == "cnn")
    taus.loc[fallen, "value"] -= 0.2
    pairs = tables.gumbel_pairs(taus)
    assert (len(pairs), pairs["kept"].sum(), set(pairs["trainings"])) == (6, 5, {3})
    row, total = tables.gumbel_table(taus).to_dict("records")
    assert (row["Additive"], row["Dot"], row["all"]) == ("2/2", "1/2", "5/6")
    assert (row["paper: Dot"], row["paper: all"]) == ("19/21", "59/63")
    assert (total["task"], total["all"], total["paper: Dot"], total["paper: all"]) == (
        "all",
        "5/6",
        "25/33",
        "85/99",
    )
    assert total["change of τ"] == pytest.approx(-0.2 / 6)
    softmax = taus[taus["projection"] == "softmax"]
    assert tables.gumbel_pairs(softmax).empty
    assert tables.gumbel_table(softmax).empty


def test_estimates_choices_and_seeds() -> None:
    taus = tau_frame()
    assert tables.estimator_table(taus)["Dot"].tolist() == pytest.approx([0.3] * 4 + [0.2])
    assert len(tables.estimator_table(taus.iloc[:0])) == 5
    taus.loc[(taus["encoder"] == "cnn") & (taus["attention"] == "dot"), "occupied_least"] = 31
    chosen = tables.choices_table(taus).set_index(["encoder", "attention"])
    assert set(chosen["smallest cluster"]) == {"1–3"}
    assert chosen.loc[("CNN", ["Dot", "Deep"]), "occupied clusters"].tolist() == ["31–50", "50"]
    seeds = tables.stability_table(taus)
    assert seeds["largest"].tolist() == pytest.approx([0.008] * 6)
    assert (seeds["pairs"].tolist(), seeds["trainings"].tolist()) == ([3] * 6, [3] * 6)
    assert (seeds["low"] < seeds["value"]).all()
    two = tables.stability_table(taus[taus["seed"] < 2])
    assert two["value"].tolist() == pytest.approx([0.004] * 6)
    assert two["low"].isna().all(), "two trainings have one difference"
    assert tables.stability_table(taus[taus["seed"] < 1]).empty


def test_jackknife_values_of_differences_average_to_their_mean() -> None:
    rows = [tau_row("lstm", "additive", s, t) for s, t in enumerate((0.1, 0.4, 0.45, 0.9))]
    found = tables.gap_values(pd.DataFrame(rows))
    assert found["value"].mean() == pytest.approx(tables.stability_table(pd.DataFrame(rows))["value"].item())
    assert len(found) == 4
