"""Effects with intervals: hand-worked designs, equality with the slow definitions, and what has no interval."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats
from sklearn.metrics import f1_score

from attnlib.stats import jackknife
from attnlib.stats.inference import contrast, contrasts, effect, effects, exact_share, holm
from attnlib.stats.jackknife import f1_values, pseudovalues
from attnlib.utils.errors import DataError


def design(cells: int = 2, trainings: int = 3, texts: int = 40, seed: int = 0, **more) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = []
    shared = rng.normal(0, 1, texts)
    for c in range(cells):
        for r in range(trainings):
            own = rng.normal(0, 0.3)
            for i in range(texts):
                value = c + own + shared[i] + rng.normal(0, 0.5)
                rows.append({"dataset": "d", "encoder": f"e{c}", "seed": r, "instance": i, "value": value})
    return pd.DataFrame(rows).assign(**more)


@pytest.mark.parametrize(("sample", "other"), [("seed", "text"), ("instance", "training")])
def test_one_number_per_training_or_text_is_student_s_interval(sample: str, other: str) -> None:
    values = np.random.default_rng(0).normal(1, 2, 12)
    found = effect(pd.DataFrame({sample: range(12), "value": values}), **{other: None})
    test = scipy_stats.ttest_1samp(values, 0)
    low, high = test.confidence_interval()
    assert (found.low, found.high, found.p) == pytest.approx((low, high, test.pvalue))
    assert (found.df, found.trainings + found.texts, found.n) == (11, 12, 12)


def test_the_variance_is_the_written_formula() -> None:
    frame = design(cells=2, trainings=3, texts=20)
    found = effect(frame, ["encoder"])
    y = (
        frame.pivot_table(index=["encoder", "seed"], columns="instance", values="value")
        .to_numpy()
        .reshape(2, 3, 20)
    )
    trainings = sum(0.25 * y[c].mean(1).var(ddof=1) / 3 for c in range(2))
    g = sum(0.5 * (y[c].mean(0) - y[c].mean()) / 20 for c in range(2))
    texts = 20 / 19 * (g**2).sum()
    twice = 0.0
    for c in range(2):
        rest = y[c] - y[c].mean(1, keepdims=True) - y[c].mean(0, keepdims=True) + y[c].mean()
        twice += 0.25 * (rest**2).sum() / (2 * 19) / 60
    assert found.estimate == pytest.approx(y.mean())
    assert found.se**2 == pytest.approx(max(trainings + texts - twice, trainings, texts))
    assert (found.cells, found.trainings, found.texts, found.n) == (2, 6, 20, 120)


def test_a_paired_contrast_is_the_mean_of_differences() -> None:
    plain = design(cells=2).assign(variant="none")
    other = plain.assign(variant="lin", value=plain["value"] - 0.25 + 0.01 * (plain["instance"] % 3))
    both = pd.concat([plain, other])
    found = contrast(both, "variant", "lin", "none", ["encoder"])
    merged = plain.assign(value=other["value"].to_numpy() - plain["value"].to_numpy())
    assert found.estimate == pytest.approx(merged["value"].mean())
    assert found == effect(merged, ["encoder"])
    assert found.high < 0
    assert found.p < 0.001


def test_an_unpaired_contrast_shares_texts_and_not_trainings() -> None:
    frame = design(cells=2, trainings=4)
    found = contrast(frame, "encoder", "e1", "e0", paired=False)
    means = frame.pivot_table(index="seed", columns="encoder", values="value")
    assert found.estimate == pytest.approx(means["e1"].mean() - means["e0"].mean())
    between = means.var(ddof=1).sum() / 4
    assert found.se**2 >= between
    assert found.trainings == 8
    # the texts that both sides share cancel: far narrower than with texts of their own
    apart = frame.assign(instance=frame["instance"].astype(str) + frame["encoder"])
    assert contrast(apart, "encoder", "e1", "e0", paired=False).se > found.se


def test_one_training_has_no_interval() -> None:
    found = effect(design(cells=2, trainings=1), ["encoder"])
    assert not math.isnan(found.estimate)
    assert math.isnan(found.low)
    assert math.isnan(found.p)


def test_a_cell_with_one_training_borrows_the_spread_of_the_others() -> None:
    frame = pd.DataFrame({"encoder": list("aaab"), "seed": [0, 1, 2, 0], "value": [0.1, 0.2, 0.4, 0.5]})
    found = effect(frame, ["encoder"], text=None)
    spread = np.var([0.1, 0.2, 0.4], ddof=1)
    assert found.se**2 == pytest.approx(0.25 * spread / 3 + 0.25 * spread)
    assert found.df == pytest.approx(2)


def test_unanimous_values_have_an_interval_with_a_width() -> None:
    frame = design(cells=2).assign(value=1.0)
    found = effect(frame, ["encoder"], bounds=(0, 1))
    assert found.estimate == found.high == 1.0
    assert found.low == pytest.approx(0.05 ** (1 / 40))
    gap = effect(frame.assign(value=0.0), ["encoder"], bounds=(-1, 1))
    assert gap.low < 0 < gap.high
    assert gap.low == pytest.approx(-gap.high)


def test_a_share_keeps_inside_its_range() -> None:
    frame = design(cells=1)
    frame["value"] = (frame["instance"] == 3).astype(float)
    found = effect(frame, bounds=(0, 1))
    assert 0 < found.low < found.estimate < found.high < 1
    percent = effect(frame.assign(value=100 * frame["value"]), bounds=(0, 100))
    assert (percent.low, percent.high) == pytest.approx((100 * found.low, 100 * found.high))


@pytest.mark.parametrize("positive", [None, "b"])
def test_f1_without_each_text_equals_the_slow_definition(positive: str | None) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "seed": np.repeat([0, 1], 30),
            "instance": np.tile(np.arange(30), 2),
            "truth": np.tile(rng.choice(list("abc"), 30), 2),
            "prediction": rng.choice(list("abc"), 60),
        }
    )

    def slow(part: pd.DataFrame) -> float:
        labels = [positive] if positive else sorted({*part["truth"], *part["prediction"]})
        return f1_score(part["truth"], part["prediction"], labels=labels, average="macro", zero_division=0)

    fast, plain = f1_values(frame, ["seed"], positive=positive), pseudovalues(frame, slow, ["seed"])
    pd.testing.assert_frame_equal(fast, plain)
    found = effect(fast)
    assert found.estimate == pytest.approx(np.mean([slow(part) for _, part in frame.groupby("seed")]))


def test_the_spread_without_each_text_equals_the_slow_definition() -> None:
    frame = design(cells=1, texts=12)
    slow = pseudovalues(frame, lambda part: float(part["value"].std()), ["encoder", "seed"])
    pd.testing.assert_frame_equal(jackknife.spread_values(frame, ["encoder", "seed"]), slow)


def test_tables_have_a_row_per_group_and_holm_over_the_rows() -> None:
    frame = pd.concat([design(cells=2).assign(variant=v) for v in ("none", "lin")])
    table = effects(frame, ["encoder", "variant"])
    assert list(table["trainings"]) == [3, 3, 3, 3]
    rows = contrasts(frame, "variant", "lin", "none", ["encoder"])
    assert list(rows["encoder"]) == ["e0", "e1"]
    assert {"value", "low", "high", "n", "p", "p_holm"} <= set(rows)


def test_a_share_of_models_is_exact() -> None:
    found = exact_share(12, 12)
    low, high = scipy_stats.binomtest(12, 12).proportion_ci(method="exact")
    assert (found.estimate, found.low, found.high) == pytest.approx((1.0, low, high))
    for hits, n in ((0, 7), (1, 2), (3, 20), (10, 20), (11, 20)):
        found, test = exact_share(hits, n, level=0.9), scipy_stats.binomtest(hits, n)
        low, high = test.proportion_ci(0.9, method="exact")
        assert (found.low, found.high, found.p) == pytest.approx((low, high, test.pvalue))
    assert math.isnan(exact_share(0, 0).estimate)


def test_more_trainings_narrow_what_trainings_widen() -> None:
    frame = design(cells=1, trainings=3, texts=400)
    found = effect(frame.assign(value=frame["value"] - frame["value"].mean() + 0.2))
    trainings, texts = found.needed(0.0)
    assert trainings > found.trainings
    assert texts >= found.texts
    assert found.needed(found.estimate) is None


def test_a_variance_over_texts_widens_both_ends_within_the_range() -> None:
    plain = effect(pd.DataFrame({"seed": range(6), "value": [0.8, 0.9, 0.85, 0.95, 0.9, 0.88]}), text=None)
    wide = plain.widened(0.1**2, 300, (-1.0, 1.0))
    assert wide.estimate - wide.low == pytest.approx(np.hypot(plain.estimate - plain.low, 1.96 * 0.1), rel=1e-3)
    assert wide.high == 1.0
    assert (wide.texts, wide.trainings) == (300, 6)
    assert wide.at(0.99).low < wide.low


def test_what_does_not_fit_is_named() -> None:
    frame = design(cells=2)
    with pytest.raises(DataError, match="Several values share a training and a text"):
        effect(frame)
    with pytest.raises(DataError, match=r"lacks the columns \['nosuch'\]"):
        effect(frame, ["nosuch"])
    with pytest.raises(DataError, match=r"No row has encoder = 'e9'; the frame has \['e0', 'e1'\]"):
        contrast(frame, "encoder", "e9", "e0")
    with pytest.raises(DataError, match="needs a sample"):
        effect(frame, ["encoder"], training=None, text=None)


def test_holm_multiplies_and_rises() -> None:
    assert holm([0.01, 0.04, 0.03, float("nan")])[:3] == pytest.approx([0.03, 0.06, 0.06])
