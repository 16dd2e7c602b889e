"""Means, contrasts and claims of tidy frames, by hand."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.studies import f1
from attnlib.studies.common import (
    beside_paper,
    bounds,
    claim,
    contrast,
    exact,
    interval_text,
    missing,
    relative,
    summarise,
    weights,
    wide_enough,
    with_width,
)
from attnlib.utils.errors import DataError


@pytest.fixture
def frame() -> pd.DataFrame:
    """Two variants of one model on 200 texts with three seeds; lin is lower by 0.2 on every text."""
    rng = np.random.default_rng(0)
    texts = rng.random(200)
    rows = [
        {"dataset": "d", "variant": v, "seed": s, "instance": i, "value": texts[i] + 0.01 * s - 0.2 * (v == "lin")}
        for v in ("none", "lin")
        for s in range(3)
        for i in range(200)
    ]
    return pd.DataFrame(rows)


def test_summary_holds_mean_interval_and_counts(frame: pd.DataFrame) -> None:
    table = summarise(frame, ["dataset", "variant"]).set_index("variant")
    mean = frame[frame["variant"] == "none"]["value"].mean()
    row = table.loc["none"]
    assert row["value"] == pytest.approx(mean)
    assert row["low"] < mean < row["high"]
    assert (row["n"], row["seeds"], row["missing"]) == (600, 3, 0)


def test_the_same_text_under_three_seeds_is_one_text(frame: pd.DataFrame) -> None:
    """Taken as 600 texts the interval would be narrower by a factor of the square root of three."""
    row = summarise(frame[frame["variant"] == "none"], ["variant"]).iloc[0]
    once = summarise(frame[(frame["variant"] == "none") & (frame["seed"] == 0)], ["variant"]).iloc[0]
    assert row["high"] - row["low"] == pytest.approx(once["high"] - once["low"], rel=0.25)


def test_a_paired_contrast_is_sharp_where_the_means_are_not(frame: pd.DataFrame) -> None:
    row = contrast(frame, "variant", "lin", "none", ["dataset"]).iloc[0]
    assert row["estimate"] == pytest.approx(-0.2)
    assert row["high"] - row["low"] < 1e-9
    assert row["n"] == 600
    assert row["p"] < 0.01


def test_a_mean_by_weights_is_the_summary_draw_for_draw() -> None:
    values = np.random.default_rng(3).normal(size=(40, 3))
    rows = [{"cell": "c", "seed": s, "instance": i, "value": values[i, s]} for i in range(40) for s in range(3)]
    texts, seeds = weights(40, 3, resamples=200)
    assert (texts[0] == 1).all()
    assert (seeds[0] == 1).all()
    means = (texts @ values * seeds).sum(1) / (40 * 3)
    found = summarise(pd.DataFrame(rows), ["cell"], resamples=200).iloc[0]
    assert means[0] == pytest.approx(found["value"])
    assert np.quantile(means[1:], [0.025, 0.975]) == pytest.approx([found["low"], found["high"]])


def test_equal_failures_are_told_once() -> None:
    rows = [{"run": f"run {i}", "error": "DataError", "message": "no vectors"} for i in range(5)]
    rows.append({"run": "run 9", "error": "DataError", "message": "no texts"})
    assert missing(SimpleNamespace(failures=pd.DataFrame(rows))) == [
        "**Missing:** run 0 and 4 more runs: DataError: no vectors",
        "**Missing:** run 9: DataError: no texts",
    ]
    assert missing(SimpleNamespace(failures=pd.DataFrame())) == []


def test_what_lacks_a_partner_is_counted(frame: pd.DataFrame) -> None:
    short = frame.drop(frame[(frame["variant"] == "lin") & (frame["instance"] < 10)].index)
    row = contrast(short, "variant", "lin", "none").iloc[0]
    assert (row["n"], row["missing"]) == (570, 30)
    assert row["a"] - row["b"] == pytest.approx(row["estimate"]), "both means are over complete pairs"


def test_contrast_refuses_ambiguity(frame: pd.DataFrame) -> None:
    with pytest.raises(DataError, match="name what tells them apart"):
        contrast(pd.concat([frame, frame]), "variant", "lin", "none")
    with pytest.raises(DataError, match="No row has variant = 'conv'"):
        contrast(frame, "variant", "conv", "none")
    with pytest.raises(DataError, match="lacks the columns"):
        summarise(frame, ["encoder"])


def test_a_claim_follows_from_a_row(frame: pd.DataFrame) -> None:
    row = contrast(frame, "variant", "lin", "none").iloc[0]
    said = dict(id="x", paper="tasc", claim="c", where="w", test="t", setting="s")
    assert claim(row, "less", **said).verdict == "reproduced"
    assert claim(row, "greater", **said).verdict == "not reproduced"
    assert claim(row, "less", **said).n == 600


def test_ours_beside_the_paper() -> None:
    ours = pd.DataFrame(
        [{"dataset": "sst", "encoder": "lstm", "attention": "dot", "variant": "lin", "metric": "f1_macro",
          "value": 0.8, "low": 0.78, "high": 0.82}]
    )  # fmt: skip
    row = beside_paper(ours, "tasc", 2).iloc[0]
    assert row["ours"] == "0.80 [0.78, 0.82]"
    assert row["paper"] == pytest.approx(0.79)
    assert row["difference"] == pytest.approx(0.01)


def test_relative_to_the_base() -> None:
    table = pd.DataFrame({"metric": "m", "variant": ["none", "lin"], "value": [0.4, 0.2]})
    assert relative(table, "variant", "none", ["metric"])["relative"].tolist() == [1.0, 0.5]
    assert relative(table, "variant", "none", [])["relative"].tolist() == [1.0, 0.5]


def test_missing_intervals_are_not_invented() -> None:
    table = pd.DataFrame({"value": [0.5, np.nan], "low": [np.nan] * 2, "high": [np.nan] * 2})
    assert interval_text(table).tolist() == ["0.50", "–"]


def test_an_interval_without_width_gets_that_of_the_exact_bound() -> None:
    unseen = exact(0, 30)[1]
    assert unseen == pytest.approx(1 - 0.025 ** (1 / 30))
    assert with_width(0.0, 0.0, 0.0, 30) == (-unseen, unseen)
    low, high = with_width(1.0, 1.0, 1.0, 30, least=0.0)
    assert (low, high) == (pytest.approx(1 - unseen), 1.0)
    assert with_width(0.2, 0.1, 0.3, 30) == (0.1, 0.3)
    assert all(np.isnan(with_width(np.nan, np.nan, np.nan, 0)))


def test_bounds_of_resamples_by_hand() -> None:
    found = bounds(np.array([-1.0, 1.0, 2.0, 3.0, np.nan]))
    assert found["p"] == pytest.approx(2 * (1 + 1) / (4 + 1))
    assert -1 <= found["low"] < found["high"] <= 3
    assert bounds(np.ones(999))["p"] == pytest.approx(2 / 1000), "the floor"


def test_a_claim_may_rest_on_more_than_the_row_it_shows() -> None:
    row = {"value": 0.3, "low": 0.1, "high": 0.5, "n": 9}
    said = dict.fromkeys(("id", "paper", "claim", "where", "test", "setting"), "")
    assert claim(row, "greater", **said).verdict == "reproduced"
    assert claim(row, "greater", verdict="undetermined", **said).verdict == "undetermined"


def test_models_that_learned_nothing_are_found_and_left_out() -> None:
    truth = [0] * 6 + [1] * 4
    models = {"good": truth, "constant": [0] * 10, "worse": truth[::-1]}
    labels = pd.concat(
        pd.DataFrame(
            {"model": name, "lam": np.nan, "seed": 0, "instance": range(10), "truth": truth, "prediction": said}
        )
        for name, said in models.items()
    )
    found = f1.idle(labels, ["model", "lam", "seed"])
    assert set(found["model"]) == {"constant", "worse"}
    assert set(f1.without(labels, found)["model"]) == {"good"}, "no λ is a λ that matches"
    assert f1.without(labels, found[:0]) is labels
    (said,) = f1.about_idle(found, 3)
    assert said.startswith("**2 of 3 models learned nothing**")
    assert "constant; worse" in said
    assert f1.about_idle(found[:0], 3) == []
    rows = {"encoder": ["lstm", "gru"], "lam": [np.nan, -10.0], "strength": [0.0, 0.5], "init": ["–", "normal"]}
    (said,) = f1.about_idle(pd.DataFrame(rows), 2)
    assert said.endswith(": lstm; gru, λ -10, strength 0.5, normal."), "only the options that a model has"


def test_tables_of_shares_have_intervals_with_a_width() -> None:
    rows = [{"model": m, "seed": s, "instance": i} for m in "ab" for s in (0, 1) for i in range(6)]
    frame = pd.DataFrame(rows).assign(value=lambda f: np.where(f["model"] == "a", 0.0, 100.0 * (f["instance"] < 3)))
    plain = summarise(frame, ["model"])
    wide = wide_enough(plain, frame, ["model"], most=100.0).set_index("model")
    assert plain["high"][0] == 0
    assert wide.loc["a", ["low", "high"]].tolist() == pytest.approx([0, 100 * exact(0, 6)[1]])
    assert wide.loc["b", ["low", "high"]].tolist() == plain.loc[1, ["low", "high"]].tolist(), "others stay"
    assert wide_enough(plain[:0], frame, ["model"]).empty


def test_zero_has_no_sign() -> None:
    frame = pd.DataFrame({"value": [-1e-9], "low": [-0.001], "high": [0.001]})
    assert list(interval_text(frame)) == ["0.00 [0.00, 0.00]"]
