"""Word-level objectives: tables, the frontier and estimates, by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.reports.tabular import p_values
from attnlib.studies.tying_mlm import frontier, settings, tables
from attnlib.studies.tying_mlm import grid as study
from attnlib.utils.errors import DataError
from tests.studies.tying_mlm.frames import FRAGILE, STEADY, distances_of, information_of, swaps_of, texts_of


def test_f1_and_its_changes_against_scikit_learn() -> None:
    swaps = swaps_of({"base": FRAGILE}, seeds=(0, 1, 2))
    found = tables.f1_of(swaps, resamples=50)
    by_hand = {
        swap: 100 * np.mean([f1_score(p["truth"], p["prediction"]) for _, p in part.groupby(["seed", "draw"])])
        for swap, part in swaps.groupby("swap")
    }
    assert found["f1_trained"].estimate == pytest.approx(by_hand["trained"])
    assert found["delta_f1_uniform"].estimate == pytest.approx(by_hand["uniform"] - by_hand["trained"])
    assert found["delta_f1_permuted"].estimate == pytest.approx(by_hand["permuted"] - by_hand["trained"])
    assert (found["f1_trained"].n, found["f1_trained"].seeds) == (400, 3)
    with pytest.raises(DataError, match="lacks attention"):
        tables.f1_of(swaps[swaps["swap"] != "uniform"])


def test_where_all_texts_agree_an_interval_has_a_width_all_the_same() -> None:
    swaps = swaps_of({"base": STEADY}, seeds=(0, 1))
    found = tables.f1_of(swaps.assign(prediction=0), resamples=50)  # the positive class is never predicted
    score, change = found["f1_trained"].row(), found["delta_f1_uniform"].row()
    assert (score["value"], score["low"]) == (0.0, 0.0), "F1 is not below zero"
    assert 0 < score["high"] < 1
    assert change["low"] == -change["high"] < 0


def test_table_1_stands_beside_the_paper() -> None:
    table = tables.f1_table(swaps_of({"tying": FRAGILE, "base": STEADY}))
    assert table["variant"].tolist() == ["base"] * 3 + ["tying"] * 3
    printed = table.set_index(["variant", "metric"])["paper"]
    assert printed["base", "f1_trained"] == 84.2
    assert printed["tying", "delta_f1_permuted"] == -18.0
    twin = tables.f1_table(swaps_of({"base": STEADY}, dataset="rotten_tomatoes"))
    assert twin["paper"].tolist() == printed["base"].tolist(), "SST is the child of Rotten Tomatoes"
    assert twin["dataset"].eq("rotten_tomatoes").all()


def test_a_shown_cell_holds_ours_the_papers_and_the_difference() -> None:
    table = tables.f1_table(swaps_of({"tying": FRAGILE, "base": STEADY}))
    shown = tables.wide(table, tables.CELL)
    assert list(shown) == [*tables.CELL, "F1", "Δ uniform", "Δ permuted", "n", "seeds"]
    value, low, high = table.loc[1, ["value", "low", "high"]]
    assert table["metric"][1] == "delta_f1_uniform"
    assert shown["Δ uniform"][0] == f"{value:.1f} [{low:.1f}, {high:.1f}] paper -2.8 ({value + 2.8:+.1f})"
    cells = [str(cell) for row in shown.to_numpy() for cell in row]
    assert max(map(len, cells)) <= 40, "longer cells are set as prose, with a least width of their own"
    unprinted = tables.wide(tables.f1_table(swaps_of({"base": STEADY}, dataset="own")), tables.CELL)
    assert "paper" not in unprinted["F1"][0]


def test_only_the_models_of_table_1_are_in_it() -> None:
    swaps = swaps_of({"base": STEADY})
    others = [
        swaps.assign(layers=2),
        swaps.assign(init="kaiming", attention="dot"),
        swaps.assign(chosen=False, strength=9.0),
    ]
    assert len(study.main(pd.concat([swaps, *others]))) == len(swaps)


def test_depth_joins_the_papers_table_6() -> None:
    swaps = pd.concat([swaps_of({"base": FRAGILE}), swaps_of({"base": STEADY}, layers=3)])
    table = tables.layer_table(swaps).set_index(["layers", "metric"])
    assert table["paper"][3, "delta_f1_uniform"] == -0.7
    assert table["value"][3, "delta_f1_uniform"] > table["value"][1, "delta_f1_uniform"]


def test_paired_differences_are_corrected() -> None:
    gaps = tables.fragility_table(swaps_of({"base": STEADY, "tying": FRAGILE, "concat": STEADY}))
    shown = tables.fragility_wide(gaps).set_index(["variant", "metric"])
    told = dict(zip(shown.index, p_values(shown["p (Holm)"]), strict=True))
    assert told["tying", "Δ permuted"].startswith("≤")
    assert told["concat", "F1"] == "1.00"
    assert tables.fragility_table(swaps_of({"base": STEADY})).empty
    gaps = gaps.set_index(["variant", "metric"])
    assert gaps["estimate"]["concat", "delta_f1_uniform"] == pytest.approx(0)
    assert gaps["high"]["tying", "delta_f1_uniform"] < 0
    assert gaps["estimate"]["tying", "f1_trained"] == pytest.approx(0)
    assert (gaps["p_holm"] >= gaps["p"]).all()
    with pytest.raises(DataError, match="no pair"):
        tables.difference([])


def test_per_token_probability_counts_correct_texts_alone() -> None:
    table = tables.probability_table(texts_of({"base": 0.7, "tying": 0.55})).set_index("variant")
    assert table["n"].tolist() == [100, 100]
    assert table["value"]["base"] - table["value"]["tying"] == pytest.approx(0.15)
    assert table["paper"].to_dict() == {"base": 0.712, "tying": 0.586}


def test_the_ablation_shows_points_and_probabilities_with_their_own_digits() -> None:
    found = tables.ablation_table(
        swaps_of({"tying": FRAGILE}, strength=1.0), texts_of({"tying": 0.55}, strength=1.0, n=200)
    )
    (row,) = tables.wide(found, ["dataset", "variant", "strength"]).to_dict("records")
    assert row["F1"].startswith("90.")
    assert row["per token"].split(" ")[0] == f"{found['value'].iloc[-1]:.3f}"


def test_information_beside_the_paper() -> None:
    table = tables.information_table(information_of({"base": 1.0, "mlm": 3.0}))
    row = table[(table["variant"] == "mlm") & (table["metric"] == "mi_random_sample")].iloc[0]
    assert row["value"] == pytest.approx(3.01)
    assert row["above"] == pytest.approx(2.81)
    assert row["within"] == pytest.approx(0.1)
    assert (row["paper"], row["occurrences"], row["k"], row["seeds"]) == (3.808, 900, 40, 3)


def test_information_as_shown_holds_the_difference() -> None:
    shown = tables.information_wide(tables.information_table(information_of({"base": 1.0, "mlm": 3.0})))
    row = shown[(shown["variant"] == "mlm") & (shown["sample"] == "RS")].iloc[0]
    assert row["ours"].startswith("3.01 [3.0")
    assert row["difference"] == pytest.approx(3.01 - 3.808)
    assert (row["n"], row["seeds"]) == (900, 3)
    assert len(shown.columns) == 11


def test_the_price_at_equal_divergence_by_hand() -> None:
    # base pays jsd / 4, mlm jsd / 2: between 0.2 and 0.4 the mean gap is 0.3 / 4
    line = {"base": [(0.1, 0.025), (0.4, 0.1)], "mlm": [(0.2, 0.1), (0.6, 0.3)]}
    gap = frontier.frontier_gap(distances_of(line), "mlm", "base")
    mean = np.random.default_rng(0).normal(0, 0.005, 50).mean()
    assert gap.estimate == pytest.approx(0.075 + mean / 4 - 0.25 * mean, abs=1e-3)
    assert gap.low < gap.estimate < gap.high
    assert gap.low > 0
    apart = distances_of({"base": [(0.1, 0.0), (0.2, 0.1)], "mlm": [(0.5, 0.0), (0.6, 0.1)]})
    assert np.isnan(frontier.frontier_gap(apart, "mlm", "base").estimate)
    table = frontier.frontier_table(distances_of(line))
    assert len(table) == 4
    assert table["n"].eq(50).all()
    shown = frontier.frontier_wide(table.replace({"λ": {1.0: 0.00025}}))
    assert shown["λ"].tolist() == ["0", "0.00025"] * 2
    one = table.iloc[1]
    assert shown["TVD"][1] == f"{one['tvd']:.3f} [{one['tvd_low']:.3f}, {one['tvd_high']:.3f}]"


def test_estimators_on_known_information() -> None:
    table = settings.estimator_table(20, 20_000).set_index("variables")
    independent, equal = table.loc["independent"], table.loc["equal"]
    assert independent["plugin"] == pytest.approx(19 * 19 / 40_000, rel=0.2), "the bias of the plug-in estimate"
    assert abs(independent["shuffled"]) < 0.002
    assert equal["plugin"] == pytest.approx(equal["known"], abs=0.01)
    gaussian = table.iloc[1]
    assert gaussian["plugin"] == pytest.approx(gaussian["known"], abs=0.08)
