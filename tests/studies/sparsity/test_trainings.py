"""Differences between trainings in the study of sparse attention: how many seeds, how wide, with which control."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats as scipy_stats

from attnlib.studies.common import contrast
from attnlib.studies.sparsity import figures, tables, trends, words
from attnlib.studies.sparsity.claims import claims
from attnlib.studies.sparsity.trainings import contrast_trainings
from tests.studies.sparsity.frames import found

BY = ["dataset", "encoder"]


def ledger(results) -> dict:
    return {claim.id: claim for claim in claims(results)}


def entropy(results) -> pd.DataFrame:
    return results.entropies[results.entropies["metric"] == "entropy_gradient_input"]


def trained(shifts: list[float], texts: int = 20) -> pd.DataFrame:
    """Both sides of one cell: sparsemax lies `shifts[seed]` above softmax, in every text alike but for noise."""
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": "sst", "encoder": "lstm", "projection": name, "seed": seed, "instance": i, "value": value}
        for seed, shift in enumerate(shifts)
        for i, noise in enumerate(rng.normal(0, 0.001, texts))
        for name, value in (("softmax", 0.5), ("sparsemax", 0.5 + shift + noise))
    ]
    return pd.DataFrame(rows)


def test_three_trainings_widen_the_interval_as_hesterberg_has_it() -> None:
    frame = trained([0.1, 0.2, 0.3])
    plain = contrast(frame, "projection", "sparsemax", "softmax", BY).iloc[0]
    wide = contrast_trainings(frame, "projection", "sparsemax", "softmax", BY).iloc[0]
    factor = np.sqrt(3 / 2) * scipy_stats.t.ppf(0.975, 2) / scipy_stats.norm.ppf(0.975)
    assert wide["estimate"] == plain["estimate"]
    assert wide["estimate"] - wide["low"] == pytest.approx(factor * (plain["estimate"] - plain["low"]))
    assert wide["high"] - wide["estimate"] == pytest.approx(factor * (plain["high"] - plain["estimate"]))
    assert (wide["seeds"], bool(wide["silent"]), wide["note"]) == (3, False, "")


def test_seeds_are_counted_where_both_sides_have_them() -> None:
    frame = trained([0.1, 0.2, 0.3])
    lonely = frame[(frame["seed"] < 2) | (frame["projection"] == "softmax")]
    row = contrast_trainings(lonely, "projection", "sparsemax", "softmax", BY).iloc[0]
    assert (row["seeds"], bool(row["silent"])) == (2, True)
    assert row["note"] == "2 seeds, 3 needed"
    empty = frame.assign(value=frame["value"].where(frame["projection"] == "softmax"))
    assert contrast_trainings(empty, "projection", "sparsemax", "softmax", BY)["seeds"].tolist() == [0]


def test_few_trainings_seldom_decide_on_the_border() -> None:
    """No difference but chance in training: an interval over texts and seeds alone decides far more often."""
    rng = np.random.default_rng(0)
    decided = {"plain": 0, "wide": 0}
    for shifts in rng.normal(0, 0.1, (60, 3)):
        frame = trained(list(shifts), texts=5)
        rows = {
            "plain": contrast(frame, "projection", "sparsemax", "softmax", BY, resamples=300).iloc[0],
            "wide": contrast_trainings(frame, "projection", "sparsemax", "softmax", BY).iloc[0],
        }
        for name, row in rows.items():
            decided[name] += row["low"] > 0 or row["high"] < 0
    assert decided["plain"] >= 10
    assert decided["wide"] <= 6


@pytest.mark.parametrize("seeds", [2, 3])
def test_claims_between_trainings_need_three_seeds(seeds) -> None:
    told = ledger(found(trainings=seeds, control=0.0))
    for number in (6, 14, 11, 12):
        one = told[f"sparsity-{number}"]
        assert one.verdict == ("reproduced" if seeds == 3 else "undetermined")
        assert ("2 seeds, 3 needed, silent" in one.setting) == (seeds == 2)
        assert "Hesterberg" in one.test
        assert "fewer than 3 seeds" in one.test
    assert told["sparsity-4"].verdict == "reproduced"  # both sides are of one model


def test_the_sentence_on_entropy_knows_seeds_and_margin() -> None:
    said = words.about_entropy(found().entropies)[0]
    assert "**lower**" in said
    assert "by less than the 0.05 that the claim lets pass" in said
    results = found()
    sparse = results.entropies["projection"] == "sparsemax"
    results.entropies.loc[sparse, "value"] -= 0.3
    said = words.about_entropy(results.entropies)[0]
    assert "**lower**" in said
    assert "lets pass" not in said
    said = words.about_entropy(found(trainings=2).entropies)[0]
    assert "not decided, 2 seeds, 3 needed" in said
    assert "**" not in said


def test_further_seeds_of_the_pair_leave_trends_alone() -> None:
    rows = entropy(found())
    rows = rows.assign(value=rows["value"] + np.where(rows["seed"] == 2, 5.0, 0.0))
    alone = rows[rows["seed"] < 2]
    pd.testing.assert_frame_equal(trends.trend(rows, BY), trends.trend(alone, BY))
    lines = [figures.along(f, "metric", ["entropy_gradient_input"], "lam", title="t", y="y") for f in (rows, alone)]
    drawn = [[np.asarray(line.get_ydata(), float) for line in chart.axes[0].get_lines()] for chart in lines]
    for mine, theirs in zip(*drawn, strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_a_cell_whose_path_no_seed_has_whole_stays_and_says_where() -> None:
    rows = entropy(found())
    broken = (rows["encoder"] == "lstm") & (
        ((rows["lam"] == -1) & (rows["seed"] == 0)) | ((rows["lam"] == -10) & (rows["seed"] == 1))
    )
    table = trends.trend(rows[~broken], BY).set_index("encoder")
    assert table.loc["transformer", "value"] == -1
    assert np.isnan(table.loc["lstm", "value"])
    assert table.loc["lstm", "note"].startswith("no trend: there is no value at λ = -10, -1")


def test_a_control_is_never_the_push_that_is_judged() -> None:
    results = found(control=0.0)
    results.adversaries.loc[results.adversaries["push"] == 0, "jsd"] = 0.6  # as far away without being pushed
    chosen = tables.least_push(results.adversaries)
    assert set(chosen["push"]) == {0.1}
    np.testing.assert_allclose(chosen["control_jsd"], 0.6)
    for metric in tables.DUELS:
        table = tables.adversary_table(results.adversaries, metric)
        assert set(table["λ"]) == {"0.1", "control"}
        assert table.loc[table["λ"] == "control", ["paper", "difference"]].isna().all(axis=None)
        assert table.loc[table["λ"] != "control", "paper"].notna().all()
    assert "Its control, not pushed, is 0.60 nats away" in words.about_adversaries(results.adversaries)[1]
    results.adversaries = results.adversaries[results.adversaries["push"] == 0]  # every pushed one failed
    assert tables.least_push(results.adversaries).empty
    told = ledger(results)
    assert told["sparsity-11"].verdict == told["sparsity-12"].verdict == "not tested"


def test_a_control_that_loses_accuracy_silences_its_cell() -> None:
    told = ledger(found(control=0.2))
    for number in (11, 12):
        assert told[f"sparsity-{number}"].verdict == "undetermined"
        assert "the control loses accuracy too, silent" in told[f"sparsity-{number}"].setting
    assert ledger(found())["sparsity-11"].verdict == "reproduced"
    assert "There is no control." in words.about_adversaries(found().adversaries)[1]


def test_the_figure_of_adversaries_names_pushes_and_the_distance_asked_for() -> None:
    for axis in figures.adversaries(found(control=0.0).adversaries).axes:
        assert {text.get_text() for text in axis.texts} == {"0.1", "control"}
        upright = [line.get_xdata()[0] for line in axis.get_lines() if len(set(line.get_xdata())) == 1]
        assert tables.FAR in upright
