"""Word-level objectives: tables by hand, against slow definitions and next to the paper's numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.studies.study import Study
from attnlib.studies.tying_mlm import numbers
from attnlib.studies.tying_mlm.grid import CELL, SWAPPED
from tests.studies.tying_mlm.frames import (
    FRAGILE,
    STEADY,
    distances_of,
    information_of,
    kept_of,
    results,
    swaps_of,
)

TABLES = Study("tying_mlm").tables


def table(name: str, index: str | list[str] = "variant", **frames: pd.DataFrame) -> pd.DataFrame:
    return TABLES[name].frame(results(**frames)).set_index(index)


def number(text: str) -> float:
    return float(text.split()[0])


def test_scores_and_their_changes_against_scikit_learn() -> None:
    swaps = swaps_of({"base": FRAGILE})
    found = results(swaps=swaps)
    for score, average in {"F1": "binary", "macro-F1": "macro"}.items():
        each = swaps.groupby(["swap", "seed", "draw"])[["label", "prediction"]]
        slow = each.apply(lambda p, a=average: 100 * f1_score(p["label"], p["prediction"], average=a))
        by_hand = slow.groupby("swap").mean()
        row = numbers.scores(numbers.main)[score].table(found, CELL).iloc[0]
        assert row["value"] == pytest.approx(by_hand["trained"])
        assert (row["trainings"], row["texts"]) == (3, 400)
        assert row["low"] < row["value"]
        for swap in SWAPPED:
            change = numbers.scores(numbers.main)[f"{score}, Δ {swap}"].table(found, CELL)["value"].item()
            assert change == pytest.approx(by_hand[swap] - by_hand["trained"])


def test_table_1_is_shown_next_to_the_papers() -> None:
    shown = table("f1", swaps=swaps_of({"tying": FRAGILE, "base": STEADY}))
    assert shown.index.tolist() == ["base", "tying"], "in the paper's order"
    assert shown.loc["base", "paper: F1"] == 84.2
    assert shown.loc["tying", "paper: F1, Δ permuted"] == -18.0
    twin = table("f1", swaps=swaps_of({"base": STEADY}, dataset="rotten_tomatoes"))
    assert twin.loc["base", "paper: F1"] == 84.2, "SST is the child of Rotten Tomatoes"
    own = table("f1", swaps=swaps_of({"base": STEADY}, dataset="own"))
    assert not any("paper" in column for column in own)


def test_the_ablation_rests_on_the_seeds_that_all_weights_have() -> None:
    chosen = swaps_of({"base": STEADY, "tying": FRAGILE}).assign(strength=lambda f: (f["variant"] == "tying") * 1.0)
    other = swaps_of({"tying": STEADY}, seeds=(0,), strength=10.0, chosen=False)
    dev = kept_of(pd.concat([chosen, other]))
    dev.loc[dev["seed"] > 0, "dev_f1_macro"] = 0.1
    swaps = pd.concat([chosen, other], ignore_index=True)
    shown = table("ablation", "strength", swaps=swaps, kept=dev)
    assert shown["trainings"].tolist() == [1, 1]
    assert shown["macro-F1 on dev"].tolist() == ["70.0", "70.0"]
    assert shown["F1"].tolist() == ["90.1", "90.1"], "one training has no interval"


def test_information_next_to_the_papers() -> None:
    frame = information_of({"base": 1.0, "mlm": 3.0})
    row = table("information", ["variant", "metric"], information=frame).loc["mlm", "RS"]
    assert row["nats"].startswith("3.03")
    assert (row["paper: nats"], row["occurrences"], row["k"], row["trainings"]) == (3.808, 900, 40, 3)
    gap = numbers.versus(numbers.known, "mlm").mean(results(information=frame))
    assert gap.trainings == 3, "two samples of words are no further trainings"
    assert gap.estimate == pytest.approx(2.02)


LINE = {"base": [(0.1, 0.025), (0.4, 0.1)], "mlm": [(0.2, 0.1), (0.6, 0.3)]}
"""Base pays jsd / 4, mlm jsd / 2: between 0.2 and 0.4 the mean gap is 0.3 / 4."""


def test_the_price_at_equal_divergence_by_hand_and_by_leaving_out_each_text() -> None:
    gap = numbers.fooled("mlm", results(distances=distances_of(LINE)))
    assert gap.estimate == pytest.approx(0.075, abs=2e-3)
    assert 0 < gap.low < gap.estimate < gap.high
    frame = distances_of(LINE, seeds=(0,), n=12)

    def price(rows: pd.DataFrame) -> float:
        return numbers.fooled("mlm", results(distances=rows)).estimate

    rest = [price(frame[frame["instance"] != i]) for i in frame["instance"].unique()]
    values = 12 * price(frame) - 11 * np.array(rest)
    found = numbers.fooled("mlm", results(distances=pd.concat([frame, frame.assign(seed=1)])))
    assert found.from_texts == pytest.approx(values.var(ddof=1) / 12)
