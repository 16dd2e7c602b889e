"""Tables of the study of attention ranks and information, by hand and next to the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.data import load_corpus
from attnlib.studies.beside import corpus_table
from attnlib.studies.mutual_information import numbers
from attnlib.studies.mutual_information.grid import MODEL
from attnlib.studies.study import Study
from tests.studies.mutual_information.frames import GOOD, SPECIAL, apart_frame, results, tau_frame, tau_row

TABLES = Study("mutual_information").tables


def test_corpora_stand_next_to_the_closest_of_the_paper() -> None:
    stories = load_corpus("planted", task="qa", n_train=20, n_dev=5, n_test=5)
    table = corpus_table({"stories": stories, "mine": stories}, "mutual_information", 1).set_index("dataset")
    assert table["train / dev / test"].tolist() == ["20 / 5 / 5"] * 2
    assert table["paper's corpus"].to_dict() == {"stories": "babi_1", "mine": "–"}
    assert table.loc["stories", "paper: mean words"] == 8


def test_accuracy_is_over_trainings_and_texts() -> None:
    models = pd.DataFrame([tau_row("lstm", "additive", seed, 0.5) for seed in (0, 1)])[MODEL]
    labels = models.merge(pd.DataFrame({"instance": range(20), "truth": [0, 1] * 10}), how="cross")
    labels["prediction"] = labels["truth"].where(labels["instance"] >= 4 + labels["seed"], 2)
    found = results(tau_frame(), labels=labels)
    assert numbers.right.mean(found).estimate == pytest.approx(1 - 4.5 / 20)
    (row,) = TABLES["table1_accuracy"].frame(found).to_dict("records")
    assert row["accuracy"].startswith("0.78 [")
    assert (row["paper: accuracy"], row["trainings"], row["texts"], row["n"]) == (0.82, 2, 20, 40)


def test_averages_stand_next_to_the_papers() -> None:
    table = numbers.averages(results(tau_frame())).set_index(["encoder", "attention"])
    dot = table.loc[("all", "Dot")]
    assert (dot["value"], dot["paper"], dot["trainings"]) == (pytest.approx(0.3), 0.45, 6)
    assert dot["low"] < 0.3 < dot["high"]
    assert table.loc[("BiLSTM", "Additive"), "paper"] == 0.92
    assert np.isnan(table.loc[("CNN", "Dot"), "paper"])


def test_cells_are_compared_on_the_corpora_that_have_them_all() -> None:
    easy = tau_frame(dict.fromkeys(GOOD, 1.0), dataset="stories", encoders=("lstm",), best=0.0)
    hard = tau_frame({"additive": 0.2, "deep": 0.15, "dot": 0.1}, best=-0.1)
    table = numbers.averages(results(pd.concat([hard, easy]))).set_index(["encoder", "attention"])
    assert table.loc[("BiLSTM", "Additive"), "value"] == pytest.approx(0.1), "stories would make it 0.55"
    assert table.loc[("BiLSTM", "Additive"), ["corpora", "trainings"]].tolist() == [1, 3]
    assert table.loc[("all", "Deep"), ["corpora", "trainings"]].tolist() == [2, 9], "all have every attention"
    apart = pd.concat([tau_frame(encoders=("cnn",)), easy])
    assert set(TABLES["averages"].frame(results(apart))["encoder"]) == {"all"}
    assert TABLES["averages"].frame(results(hard.assign(idle=True))).empty


def test_tau_by_cell_is_over_models_that_learned() -> None:
    taus = tau_frame()
    flat = (taus["encoder"] == "cnn") & (taus["seed"] == 0)
    taus.loc[flat, ["value", "idle"]] = [-1.0, True]
    table = TABLES["tau_by_cell"].frame(results(taus)).set_index(["encoder", "attention"])
    assert table.loc[("CNN", "Dot"), "trainings"] == 2
    assert table.loc[("CNN", "Dot"), "τ"].startswith("0.30")
    assert set(table["± over texts"]) == {0.004}


def test_losses_are_paired_by_training() -> None:
    taus = tau_frame()
    gone = (taus["variant"] == "none") & (taus["seed"] == 2)
    loss = numbers.losses(SPECIAL[:2], results(taus[~gone])).set_index("variant")
    assert loss["trainings"].tolist() == [2, 2], "the third has lost its base"
    loss = numbers.losses(SPECIAL[:2], results(taus)).set_index("variant")
    assert loss.loc["Fix Attn", ["τ as trained", "τ there", "value"]].tolist() == pytest.approx([0.95, 0.1, 0.85])
    assert loss["paper"].to_dict() == {"Fix Attn": 0.71, "Fix Rep": -0.02}
    other = numbers.losses(SPECIAL[2:], results(tau_frame(dataset="hub:stanfordnlp/sst2")))
    assert other["paper"].tolist() == [0.04], "SST by another name"
    assert TABLES["ablations"].frame(results(taus[taus["variant"] == "none"])).empty


def test_adversaries_stand_next_to_the_papers() -> None:
    apart = apart_frame("rotten_tomatoes", seeds=2, adversary=0.5, tvd=0.2)
    apart["jsd"] = 0.3 + 0.01 * apart["seed"]
    (row,) = TABLES["table3_adversaries"].frame(results(tau_frame(), apart)).to_dict("records")
    ours = {"accuracy of base": 1.0, "accuracy": 0.5, "TVD as trained": 0.1, "TVD": 0.2, "JSD": 0.305}
    for name, value in ours.items():
        estimate, low, high = (float(part.strip("[],")) for part in row[name].split())
        assert estimate == pytest.approx(value, abs=0.006)
        assert 0 <= low < high <= 1, "no interval without width"
    assert (row["paper: accuracy"], row["paper: TVD as trained"], row["paper: JSD"]) == (0.82, 0.036, 0.316)
    assert (row["λ"], row["λ from"], row["texts"], row["trainings"]) == ("0.000525", "paper: sst", 10, 2)


def test_gumbel_counts_what_rises_or_stays() -> None:
    taus = tau_frame(gumbel=0.0)
    fallen = (taus["projection"] == "gumbel") & (taus["attention"] == "dot") & (taus["encoder"] == "cnn")
    taus.loc[fallen, "value"] -= 0.2
    pairs = numbers.gumbel_pairs(taus)
    assert (len(pairs), pairs["kept"].sum(), set(pairs["trainings"])) == (6, 5, {3})
    row, total = numbers.gumbel_table(results(taus)).to_dict("records")
    assert (row["Additive"], row["Dot"], row["all"]) == ("2/2", "1/2", "5/6")
    assert (row["paper: Dot"], row["paper: all"]) == ("19/21", "59/63")
    assert (total["task"], total["all"], total["paper: Dot"], total["paper: all"]) == (
        "all",
        "5/6",
        "25/33",
        "85/99",
    )
    assert total["change of τ"].startswith("-0.03 [")
    softmax = taus[taus["projection"] == "softmax"]
    assert numbers.gumbel_pairs(softmax).empty
    assert TABLES["gumbel"].frame(results(softmax)).empty


def test_estimates_choices_and_seeds() -> None:
    taus = tau_frame()
    assert numbers.by_estimate(results(taus))["Dot"].tolist() == pytest.approx([0.3] * 4 + [0.2])
    taus.loc[(taus["encoder"] == "cnn") & (taus["attention"] == "dot"), "occupied_least"] = 31
    chosen = TABLES["choices"].frame(results(taus)).set_index(["encoder", "attention"])
    assert set(chosen["smallest cluster"]) == {"1–3"}
    assert chosen.loc[("CNN", ["Dot", "Deep"]), "occupied clusters"].tolist() == ["31–50", "50"]
    seeds = numbers.seeds(results(taus))
    assert seeds["largest"].tolist() == pytest.approx([0.008] * 6)
    assert (seeds["pairs"].tolist(), seeds["trainings"].tolist()) == ([3] * 6, [3] * 6)
    assert (seeds["low"] < seeds["value"]).all()
    two = numbers.seeds(results(taus[taus["seed"] < 2]))
    assert two["value"].tolist() == pytest.approx([0.004] * 6)
    assert two["low"].isna().all(), "two trainings have one difference"
    assert TABLES["seeds"].frame(results(taus[taus["seed"] < 1])).empty


def test_jackknife_values_of_differences_average_to_their_mean() -> None:
    rows = [tau_row("lstm", "additive", s, t) for s, t in enumerate((0.1, 0.4, 0.45, 0.9))]
    found = numbers.gap_values(pd.DataFrame(rows))
    assert found["value"].mean() == pytest.approx(numbers.seeds(results(pd.DataFrame(rows)))["value"].item())
    assert len(found) == 4
