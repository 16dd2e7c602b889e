"""Tables of the study of attention ranks and information, by hand and next to the paper's."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.mutual_information import numbers
from attnlib.studies.mutual_information.grid import MODEL
from attnlib.studies.study import Study
from tests.studies.mutual_information.frames import GOOD, apart_frame, results, tau_frame, tau_row

TABLES = Study("mutual_information").tables


def test_accuracy_is_over_trainings_and_texts() -> None:
    models = pd.DataFrame([tau_row("lstm", "additive", seed, 0.5) for seed in (0, 1)])[MODEL]
    labels = models.merge(pd.DataFrame({"instance": range(20), "truth": [0, 1] * 10}), how="cross")
    labels["prediction"] = labels["truth"].where(labels["instance"] >= 4 + labels["seed"], 2)
    found = results(tau_frame(), labels=labels)
    assert numbers.right.mean(found).estimate == pytest.approx(1 - 4.5 / 20)
    (row,) = TABLES["table1_accuracy"].frame(found).to_dict("records")
    assert row["accuracy"].startswith("0.78 [")
    assert (row["paper: accuracy"], row["trainings"], row["texts"], row["n"]) == (0.82, 2, 20, 40)


def test_averages_are_over_the_corpora_that_have_every_row_next_to_the_papers() -> None:
    easy = tau_frame(dict.fromkeys(GOOD, 1.0), dataset="stories", encoders=("lstm",), best=0.0)
    hard = tau_frame({"additive": 0.2, "deep": 0.15, "dot": 0.1}, best=-0.1)
    found = results(pd.concat([hard, easy]))
    cells = TABLES["tau_by_encoder"].frame(found).set_index(["encoder", "attention"])
    assert cells.loc[("BiLSTM", "Additive"), "τ"].startswith("0.10 ["), "stories would make it 0.55"
    assert cells.loc[("BiLSTM", "Additive"), ["paper: τ", "trainings"]].tolist() == [0.92, 3]
    assert np.isnan(cells.loc[("CNN", "Dot"), "paper: τ"])
    dot = TABLES["tau_by_attention"].frame(found).set_index("attention").loc["Dot"]
    assert (dot["paper: τ"], dot["trainings"]) == (0.45, 9), "both corpora have every attention"
    apart = results(pd.concat([tau_frame(encoders=("cnn",)), easy]))
    assert TABLES["tau_by_encoder"].frame(apart).empty
    assert TABLES["tau_by_attention"].frame(results(hard.assign(idle=True))).empty


def test_losses_are_paired_by_training() -> None:
    taus = tau_frame()
    gone = (taus["variant"] == "none") & (taus["seed"] == 2)
    (row,) = TABLES["ablations"].frame(results(taus[~gone])).to_dict("records")
    assert row["trainings"] == 2, "the third has lost its base"
    (row,) = TABLES["ablations"].frame(results(taus)).to_dict("records")
    assert row["τ, Fix Attn"].startswith("0.10 [")
    assert row["Δτ, Fix Attn"].startswith("0.85 [")
    assert (row["paper: Δτ, Fix Attn"], row["paper: Δτ, Fix Rep"]) == (0.71, -0.02)
    (row,) = TABLES["adversaries"].frame(results(tau_frame(dataset="hub:stanfordnlp/sst2"))).to_dict("records")
    assert row["paper: Δτ, adversary"] == 0.04, "SST by another name"
    assert TABLES["ablations"].frame(results(taus[taus["variant"] == "none"])).empty


def test_adversaries_stand_next_to_the_papers() -> None:
    apart = apart_frame("rotten_tomatoes", seeds=2, adversary=0.5, tvd=0.2)
    apart["jsd"] = 0.3 + 0.01 * apart["seed"]
    (row,) = TABLES["table3_adversaries"].frame(results(tau_frame(), apart)).to_dict("records")
    for name, value in {"accuracy of base": 1.0, "accuracy": 0.5, "TVD": 0.1, "JSD": 0.305}.items():
        estimate, low, high = (float(part.strip("[],")) for part in row[name].split())
        assert estimate == pytest.approx(value, abs=0.006)
        assert 0 <= low < high <= 1, "no interval without width"
    assert (row["paper: accuracy"], row["paper: TVD"], row["paper: JSD"]) == (0.82, 0.036, 0.316)
    assert (row["λ"], row["texts"], row["trainings"]) == ("0.000525", 10, 2)


def test_gumbel_counts_what_rises_or_stays() -> None:
    taus = tau_frame(gumbel=0.0)
    fallen = (taus["projection"] == "gumbel") & (taus["attention"] == "dot") & (taus["encoder"] == "cnn")
    taus.loc[fallen, "value"] -= 0.2
    table = TABLES["gumbel"].frame(results(taus)).set_index("attention")
    assert table["kept"].to_dict() == {"Additive": 2, "Deep": 2, "Dot": 1}
    assert set(table["settings"]) == {2}
    assert table.loc["Dot", "paper"] == "19/21"
    assert TABLES["gumbel"].frame(results(taus[taus["projection"] == "softmax"])).empty
