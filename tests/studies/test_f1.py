"""Macro-F1 with intervals: scikit-learn's value, pairs drawn together, and contrasts that come out each way."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score

from attnlib.studies.f1 import f1_contrast, f1_summary, resampled_f1
from attnlib.utils.errors import DataError


def labels(rights: dict[str, float], seeds=(0, 1, 2), n: int = 300, dataset: str = "d") -> pd.DataFrame:
    """Predictions of models that are right on the given share of the texts."""
    rng = np.random.default_rng(0)
    truth = np.where(rng.random(n) < 0.4, "yes", "no")
    frames = []
    for variant, share in rights.items():
        for seed in seeds:
            right = np.random.default_rng([seed, int(1000 * share)]).random(n) < share
            said = np.where(right, truth, np.where(truth == "yes", "no", "yes"))
            frames.append(
                pd.DataFrame({"instance": [f"t{i}" for i in range(n)], "truth": truth, "prediction": said}).assign(
                    variant=variant, seed=seed, dataset=dataset
                )
            )
    return pd.concat(frames, ignore_index=True)


def test_the_estimate_is_the_mean_of_sklearns_macro_f1_over_seeds():
    frame = labels({"none": 0.8})
    row = f1_summary(frame, ["variant"]).iloc[0]
    by_hand = [f1_score(p["truth"], p["prediction"], average="macro") for _, p in frame.groupby("seed")]
    assert row["value"] == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert row["low"] < row["value"] < row["high"]
    assert (row["n"], row["seeds"]) == (300, 3)


def test_a_class_that_is_never_right_counts_zero():
    frame = labels({"none": 1.0}, seeds=(0,), n=10).assign(prediction="no")
    truth = frame["truth"]
    expected = f1_score(truth, frame["prediction"], average="macro", zero_division=0)
    assert f1_summary(frame, ["variant"])["value"].iloc[0] == pytest.approx(expected)


@pytest.mark.parametrize(("lin", "sign"), [(0.9, 1), (0.7, -1)])
def test_a_contrast_finds_the_better_side(lin, sign):
    table = f1_contrast(labels({"none": 0.8, "lin": lin}), "variant", "lin", "none")
    row = table.iloc[0]
    assert np.sign([row["estimate"], row["low"], row["high"]]).tolist() == [sign] * 3
    assert row["p_holm"] < 0.05


def test_equal_predictions_differ_by_exactly_nothing():
    frame = labels({"none": 0.8})
    both = pd.concat([frame, frame.assign(variant="lin")])
    row = f1_contrast(both, "variant", "lin", "none").iloc[0]
    assert (row["estimate"], row["low"], row["high"], row["p"]) == (0.0, 0.0, 0.0, 1.0)


def test_cells_are_averaged():
    frame = pd.concat(
        [labels({"none": 0.8, "lin": 0.9}), labels({"none": 0.8, "lin": 0.7}, dataset="other")], ignore_index=True
    )
    each = f1_contrast(frame, "variant", "lin", "none", ["dataset"])
    whole = f1_contrast(frame, "variant", "lin", "none", cells=["dataset"]).iloc[0]
    assert whole["estimate"] == pytest.approx(each["estimate"].mean())
    assert whole["n"] == 2 * 300 * 3  # data sets, texts, seeds


def test_a_missing_text_and_a_missing_side_are_errors():
    frame = labels({"none": 0.8})
    with pytest.raises(DataError, match="the same texts"):
        f1_summary(frame.iloc[1:], ["variant"])
    with pytest.raises(DataError, match="both variant = 'lin'"):
        f1_contrast(frame, "variant", "lin", "none")


def test_f1_of_the_positive_class_alone():
    frame = labels({"none": 0.8})
    _, estimate, n = resampled_f1(frame, positive="yes", resamples=20)
    by_hand = [f1_score(p["truth"], p["prediction"], pos_label="yes") for _, p in frame.groupby("seed")]
    assert estimate == pytest.approx(np.mean(by_hand), abs=1e-12)
    assert n == 300
    never = frame.assign(prediction="no")
    draws, estimate, _ = resampled_f1(never, positive="yes", resamples=20)
    assert estimate == 0
    assert (draws == 0).all()
