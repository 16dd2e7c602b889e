"""Word-level objectives: tables by hand, against slow definitions and next to the paper's numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, f1_score

from attnlib.studies.tying_mlm import tables
from attnlib.utils.errors import DataError
from tests.studies.tying_mlm.frames import (
    FRAGILE,
    STEADY,
    distances_of,
    information_of,
    kept_of,
    results,
    swaps_of,
    texts_of,
)


@pytest.fixture(scope="module")
def holding():
    return results()


def test_scores_and_their_changes_against_scikit_learn() -> None:
    swaps = swaps_of({"base": FRAGILE})
    slow = {"f1": f1_score, "macro": lambda t, p: f1_score(t, p, average="macro"), "accuracy": accuracy_score}
    table = tables.summary(tables.scores(swaps), tables.CELL).set_index("metric")
    for score, function in slow.items():
        by_hand = {
            swap: 100 * np.mean([function(p["truth"], p["prediction"]) for _, p in part.groupby(["seed", "draw"])])
            for swap, part in swaps.groupby("swap")
        }
        assert table["value"][f"{score}_trained"] == pytest.approx(by_hand["trained"])
        for swap in tables.SWAPPED:
            assert table["value"][f"delta_{score}_{swap}"] == pytest.approx(by_hand[swap] - by_hand["trained"])
    assert set(table["trainings"]) == {3}
    assert set(table["texts"]) == {400}
    assert (table["low"] < table["value"]).all()
    with pytest.raises(DataError, match=r"lacks attention \['uniform'\]"):
        tables.scores(swaps[swaps["swap"] != "uniform"])


def test_where_all_texts_agree_an_interval_has_a_width_all_the_same() -> None:
    swaps = swaps_of({"base": STEADY}).assign(prediction=0)  # the positive class is never predicted
    table = tables.summary(tables.scores(swaps), tables.CELL).set_index("metric")
    score, change = table.loc["f1_trained"], table.loc["delta_f1_uniform"]
    assert (score["value"], score["low"]) == (0.0, 0.0), "F1 is not below zero"
    assert 0 < score["high"] < 2
    assert change["low"] == -change["high"] < 0


def test_drops_are_the_mean_over_both_replacements() -> None:
    found = tables.scores(swaps_of({"base": FRAGILE}))
    drops = tables.drops(found, "accuracy")
    assert drops["point"].unique() == pytest.approx([-25.0])
    assert drops.groupby("seed")["value"].mean().tolist() == pytest.approx([-25.0] * 3)


def test_table_1_is_shown_next_to_the_papers() -> None:
    table = tables.f1_table(tables.scores(swaps_of({"tying": FRAGILE, "base": STEADY})))
    assert table["variant"].tolist() == ["base"] * 3 + ["tying"] * 3
    printed = table.set_index(["variant", "metric"])["paper"]
    assert printed["base", "f1_trained"] == 84.2
    assert printed["tying", "delta_f1_permuted"] == -18.0
    assert table["difference"].notna().all()
    twin = tables.f1_table(tables.scores(swaps_of({"base": STEADY}, dataset="rotten_tomatoes")))
    assert twin["paper"].tolist() == printed["base"].tolist(), "SST is the child of Rotten Tomatoes"
    assert twin["difference"].isna().all(), "and not the same corpus"
    assert tables.agreement(table) == {"n": 4, "same": 4, "tau": pytest.approx(1.0)}
    assert tables.agreement(twin.assign(paper=np.nan))["n"] == 0


def test_a_shown_cell_holds_ours_the_papers_and_the_difference() -> None:
    table = tables.f1_table(tables.scores(swaps_of({"tying": FRAGILE, "base": STEADY})))
    shown = tables.wide(table, tables.CELL)
    assert list(shown) == [*tables.CELL, "F1", "F1, Δ uniform", "F1, Δ permuted", "trainings", "texts"]
    value, low, high = table.loc[1, ["value", "low", "high"]]
    assert table["metric"][1] == "delta_f1_uniform"
    assert shown["F1, Δ uniform"][0] == f"{value:.1f} [{low:.1f}, {high:.1f}] paper -2.8 ({value + 2.8:+.1f})"
    own = tables.wide(tables.f1_table(tables.scores(swaps_of({"base": STEADY}, dataset="own"))), tables.CELL)
    assert "paper" not in own["F1"][0]


def test_only_the_models_of_table_1_are_in_it() -> None:
    swaps = swaps_of({"base": STEADY})
    others = [
        swaps.assign(layers=2),
        swaps.assign(init="kaiming", attention="dot"),
        swaps.assign(chosen=False, strength=9.0),
    ]
    assert len(tables.main(pd.concat([swaps, *others]))) == len(swaps)


def test_depth_joins_the_papers_table_6() -> None:
    swaps = pd.concat([swaps_of({"base": FRAGILE}), swaps_of({"base": STEADY}, layers=3)])
    table = tables.layer_table(tables.scores(swaps)).set_index(["layers", "metric"])
    assert table["paper"][3, "delta_f1_uniform"] == -0.7
    assert np.isnan(table["paper"][3, "delta_macro_uniform"])
    assert table["value"][3, "delta_f1_uniform"] > table["value"][1, "delta_f1_uniform"]


def test_paired_differences_are_corrected() -> None:
    found = tables.scores(swaps_of({"base": STEADY, "tying": FRAGILE, "concat": STEADY}))
    gaps = tables.fragility_table(found)
    assert len(gaps) == 2 * 6
    assert (gaps["p_holm"].dropna() >= gaps["p"].dropna()).all()
    gaps = gaps.set_index(["variant", "metric"])
    assert gaps["value"]["concat", "delta_f1_uniform"] == pytest.approx(0)
    assert gaps["high"]["tying", "delta_macro_uniform"] < 0
    assert gaps["value"]["tying", "f1_trained"] == pytest.approx(0)
    assert tables.fragility_table(tables.scores(swaps_of({"base": STEADY}))).empty


def test_per_token_probability_counts_correct_texts_alone() -> None:
    table = tables.probability_table(texts_of({"base": 0.7, "tying": 0.55})).set_index("variant")
    assert table["n"].tolist() == [150, 150]
    assert table["texts"].tolist() == [50, 50]
    assert table["value"]["base"] - table["value"]["tying"] == pytest.approx(0.15, abs=5e-3)
    assert table["paper"].to_dict() == {"base": 0.712, "tying": 0.586}


def test_the_ablation_rests_on_the_seeds_that_all_weights_have() -> None:
    chosen = swaps_of({"base": STEADY, "tying": FRAGILE}).assign(strength=lambda f: (f["variant"] == "tying") * 1.0)
    other = swaps_of({"tying": STEADY}, seeds=(0,), strength=10.0, chosen=False)
    found = tables.scores(pd.concat([chosen, other], ignore_index=True))
    texts = pd.concat(
        [
            texts_of({"tying": 0.55}, strength=1.0),
            texts_of({"tying": 0.6}, seeds=(0,), strength=10.0, chosen=False),
        ]
    )
    dev = kept_of(pd.concat([chosen, other]))
    dev.loc[dev["seed"] > 0, "dev_f1_macro"] = 0.1
    shown = tables.wide(tables.ablation_table(found, texts, dev), ["dataset", "variant", "strength"])
    assert shown["trainings"].tolist() == [1, 1]
    assert shown["macro-F1 on dev"].tolist() == ["70.0", "70.0"]
    assert shown["F1"].tolist() == ["90.1", "90.1"], "one training has no interval"
    assert shown["per token"][0].startswith("0.5")


def test_information_next_to_the_papers() -> None:
    information = information_of({"base": 1.0, "mlm": 3.0})
    table = tables.information_table(information)
    row = table[(table["variant"] == "mlm") & (table["metric"] == "mi_random_sample")].iloc[0]
    assert row["value"] == pytest.approx(3.03)
    assert row["kept"] == pytest.approx(2.83 / 3.8)
    assert (row["paper"], row["occurrences"], row["k"], row["trainings"]) == (3.808, 900, 40, 3)
    (gap,) = tables.information_gaps(information).to_dict("records")
    assert (gap["variant"], gap["trainings"]) == ("mlm", 3), "two samples of words are no further trainings"
    assert gap["value"] == pytest.approx(2.02)
    assert gap["low"] < 2.02 < gap["high"]


def test_starts_of_the_query(holding) -> None:
    table = tables.initialisation_table(holding.scores, holding.texts).set_index(["init", "metric"])
    assert table["value"]["kaiming", tables.ENTROPY] == pytest.approx(0.95, abs=0.01)
    assert table["value"]["kaiming", "delta_macro_uniform"] == pytest.approx(-0.25, abs=1e-3)
    shown = tables.spelled(table.reset_index(), ["init", "metric", "ours"]).set_index(["init", "metric"])["ours"]
    assert shown["kaiming", "normalised entropy"].startswith("0.9"), "a share has three digits"
    assert shown["normal", "macro-F1, Δ uniform"].startswith("-20.")


def test_the_price_at_equal_divergence_by_hand() -> None:
    # base pays jsd / 4, mlm jsd / 2: between 0.2 and 0.4 the mean gap is 0.3 / 4
    line = {"base": [(0.1, 0.025), (0.4, 0.1)], "mlm": [(0.2, 0.1), (0.6, 0.3)]}
    gap = tables.frontier_gap(distances_of(line), "mlm", "base")
    assert gap.estimate == pytest.approx(0.075, abs=2e-3)
    assert (gap.trainings, gap.texts) == (3, 50)
    assert 0 < gap.low < gap.estimate < gap.high
    apart = distances_of({"base": [(0.1, 0.0), (0.2, 0.1)], "mlm": [(0.5, 0.0), (0.6, 0.1)]})
    assert np.isnan(tables.frontier_gap(apart, "mlm", "base").estimate)


def test_the_price_without_each_text_is_the_slow_definition() -> None:
    frame = distances_of({"base": [(0.1, 0.025), (0.4, 0.1)], "mlm": [(0.2, 0.1), (0.6, 0.3)]}, seeds=(0,), n=12)
    whole = tables.frontier_gap(frame, "mlm", "base").estimate
    rest = [
        tables.frontier_gap(frame[frame["instance"] != i], "mlm", "base").estimate
        for i in frame["instance"].unique()
    ]
    values = 12 * whole - 11 * np.array(rest)
    two = pd.concat([frame, frame.assign(seed=1)])
    found = tables.frontier_gap(two, "mlm", "base")
    assert found.from_texts == pytest.approx(values.var(ddof=1) / 12)


def test_adversaries_in_numbers() -> None:
    table = tables.frontier_table(distances_of({"base": [(0.1, 0.02), (0.4, 0.1)]}))
    assert len(table) == 2
    assert table["n"].tolist() == [150, 150]
    assert table["trainings"].tolist() == [3, 3]
    assert table["same decision"].tolist() == [0.5, 0.5]
    shown = tables.frontier_wide(table.replace({"λ": {1.0: 0.00025}}))
    assert shown["λ"].tolist() == ["0", "0.00025"]
    one = table.iloc[1]
    assert shown["TVD"][1] == f"{one['tvd']:.3f} [{one['tvd_low']:.3f}, {one['tvd_high']:.3f}]"
    assert tables.frontier_table(pd.DataFrame()).empty


def test_estimators_on_known_information() -> None:
    table = tables.estimator_table(20, 20_000).set_index("variables")
    independent, equal = table.loc["independent"], table.loc["equal"]
    assert independent["plugin"] == pytest.approx(19 * 19 / 40_000, rel=0.2), "the bias of the plug-in estimate"
    assert abs(independent["shuffled"]) < 0.002
    assert equal["plugin"] == pytest.approx(equal["known"], abs=0.01)
    gaussian = table.iloc[1]
    assert gaussian["plugin"] == pytest.approx(gaussian["known"], abs=0.08)
