"""Tables of the verdict on made-up frames whose answers are known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attnlib import stats
from attnlib.reports.series import Finished
from attnlib.studies.ledger import AS_ACCURATE, judged, ledger
from attnlib.studies.study import Study
from attnlib.studies.verdict import figures, numbers
from attnlib.studies.verdict.grid import Results, gathered
from attnlib.studies.verdict.ledgers import Ledgers
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.params import Params
from attnlib.viz.prose import plain

CLAIMS = Study("verdict").claims
TEXTS = [f"t{i}" for i in range(24)]


def made(gain: float = -0.2, seed: int = 0) -> Results:
    """TaSc lowers the fraction to flip by `gain`, everything else is noise; comprehensiveness tells the truth,
    gradients know nothing."""
    rng = np.random.default_rng(seed)
    rows, labels = [], []
    for row in Params().rows:
        for number in (0, 1):
            key = {"dataset": "planted", **row, "seed": number}
            for test in TESTS:
                for reading in ("alpha", "alpha_grad") if TESTS[test].ranks else ("alpha",):
                    level = 0.5 + (gain if test == "flips_input" and row["scaling"] == "lin" else 0.0)
                    value = level + 0.05 * rng.standard_normal(len(TEXTS))
                    names = TEXTS if test != "information" else [""]
                    rows += [{**key, "test": test, "importance": reading, "instance": t, "value": min(max(v, 0), 1)}
                             for t, v in zip(names, value, strict=False)]  # fmt: skip
            for place, text in enumerate(TEXTS):
                said = place % 2 if place else 1
                labels.append({**key, "instance": text, "truth": place % 2, "prediction": said})
    ranked = [
        {"dataset": "planted", "encoder": e, "seed": s, "test": test, "against": against, "instance": t,
         "length": 12.0, "value": float(rng.random() < (0.95 if test == "comprehensiveness" else 0.5))}
        for e in ("lstm", "mlp") for s in (0, 1, 2) for test in TESTS if TESTS[test].ranks
        for against in ("random", "inverted", "plausible") for t in TEXTS
    ]  # fmt: skip
    honest = [
        {"dataset": "planted", "encoder": "lstm", "seed": s, "guide": g, "test": test, "importance": "alpha",
         "instance": t, "value": TESTS[test].better * (g == "honest") + 0.1 * rng.standard_normal()}
        for s in (0, 1, 2) for g in ("honest", "deceptive") for test in TESTS
        for t in (TEXTS if test != "information" else [""])
    ]  # fmt: skip
    frames = {"scores": rows, "labels": labels, "rankings": ranked, "honesty": honest}
    return gathered(Params(), None, {name: pd.DataFrame(own) for name, own in frames.items()})


@pytest.fixture(scope="module")
def results() -> Results:
    return made()


def test_tau_is_kendalls_with_all_models_and_without_each():
    values = np.random.default_rng(1).integers(0, 5, (9, 3)).astype(float)
    whole, rest = numbers.taus(values)
    assert whole[0, 1] == pytest.approx(stats.kendall_tau(values[:, 0], values[:, 1]))
    for i in range(9):
        left = np.delete(values, i, 0)
        assert rest[i, 0, 2] == pytest.approx(stats.kendall_tau(left[:, 0], left[:, 2]))


def test_agreement_has_an_interval_over_models(results):
    found = numbers.agreement(results)
    assert len(found) == len(TESTS) * (len(TESTS) - 1) // 2
    assert (found["trainings"] == len(results.by_model)).all()
    assert found["value"].between(-1, 1).all()
    own = results.by_model
    row = found.iloc[0]
    assert row["value"] == pytest.approx(stats.kendall_tau(own[row["a"]], own[row["b"]]))
    mean = numbers.mean_agreement(results)
    assert mean.estimate == pytest.approx(found["value"].mean())
    assert mean.low < 0.1


def test_the_effect_of_a_part_is_the_difference_of_means_of_the_design(results):
    frame = numbers.scores_of(results, "flips_input")
    found = numbers.part_effect(frame, "TaSc")
    sides = frame.groupby("scaling")["value"].mean()
    assert found.estimate == pytest.approx(sides["lin"] - sides["none"])
    assert found.low < -0.2 < found.high < -0.15
    assert numbers.part_effect(frame, "tying").low < 0 < numbers.part_effect(frame, "tying").high
    changed = numbers.part_effects(results).set_index(["part", "test"])
    assert changed.loc[("TaSc", TESTS["flips_input"].name), "low"] > 1, "signed: fewer tokens are better"


def test_the_test_that_knows_the_truth_is_found_and_those_at_chance_are_named(results):
    found = numbers.overall(results).set_index("test")
    assert numbers.best_test(results) == "comprehensiveness"
    assert not found.loc["comprehensiveness", "chance"]
    assert found.loc["comprehensiveness", "low"] > 0.8
    assert found.loc[["tau_gradient", "top_input", "sufficiency"], "value"].between(0.4, 0.6).all()
    assert found["chance"].sum() >= 4
    assert found.loc["flips_input", "passes"] == 13
    assert "plausibility" not in found.index, "models were made with what it looks at"
    assert (found.loc[["uniform", "adversary", "information"], "value"] == 1).all()


def test_the_front_has_no_rival_that_is_better_in_both(results):
    found = numbers.designs(results, "comprehensiveness")
    for _, part in found.groupby("encoder"):
        for row in part[part["front"]].itertuples():
            assert not ((part["f1"] > row.f1) & (part["value"] > row.value)).any()
    advice = numbers.recommended(results, "flips_input")
    assert (advice["scaling"] == "lin").all()
    assert advice["gain"].between(0.15, 0.25).all()


def test_where_two_tests_differ_a_model_and_a_text_show_it(results):
    pair, model, text = numbers.contradiction(results)
    a, b = pair["a"], pair["b"]
    own = results.by_model.rank(numeric_only=True, ascending=False)
    gaps = (own[a] - own[b]).abs()
    assert abs(model[a] - model[b]) == gaps.max() > model["of"] / 2 == 16
    assert f"number {model[a]} of 32 by {numbers.NAMES[a]}" in figures.read(results)
    assert text.name in TEXTS


def test_rules_are_judged_on_what_they_say(results):
    verdicts = {claim.id: judged(claim, results).verdict for claim in CLAIMS}
    assert verdicts["verdict-3"] == "reproduced"
    assert verdicts["verdict-2"] == "not reproduced"
    assert verdicts["verdict-7"] in ("undetermined", "not reproduced")
    honest = judged(CLAIMS[7], results)
    assert (honest.verdict, honest.case) == ("undetermined", TESTS["information"].name), (
        "three models, one number each"
    )
    worse = judged(CLAIMS[2], made(gain=0.2))
    assert worse.verdict == "not reproduced"


def short(results: Results, reports: Ledgers) -> str:
    results.series = reports
    by = dict(enumerate(ledger(CLAIMS, results.learned), start=1))
    return plain(numbers.answer(by, results)[0])


def test_in_short_tells_of_alpha_and_of_its_product_in_the_models_of_both_studies(results):
    found = {"verdict": "reproduced", "setting": "reviews", "unit": "points"}
    rows = [
        {"id": "tasc-3", "effect": -0.052, "low": -0.064, "high": -0.04, **found},
        {"id": "tasc-17", "effect": -3.9, "low": -5.1, "high": -2.7, **found},
    ]
    told = short(results, Ledgers([Finished(Path("01_tasc/cpu"), {"notebook": "01_tasc"}, rows, [])], []))
    product, alone = (
        numbers.part_change(results, "TaSc", "flips_input", reading) for reading in ("alpha_grad", "alpha")
    )
    assert (
        f"Ranked by α∇α: yes. In this report's own models Lin-TaSc changes the fraction by {product.text()}" in told
    )
    assert (
        "In the models of 01_tasc (reviews) it changes by -0.052 [-0.064, -0.040]: that it falls is repro" in told
    )
    assert f"itself: in this report's own models {alone.text()}, it helps." in told
    assert "the top token flips changes by -3.9 [-5.1, -2.7] points with the variant" in told
    assert f"a loss of less than {AS_ACCURATE:g} points" in told
    told = short(made(gain=0.2), Ledgers([], ["01_tasc"]))
    assert "Ranked by α∇α: no." in told
    assert "it hurts." in told
    assert "01_tasc" not in told


def test_as_accurate_has_the_margin_of_all_studies():
    assert CLAIMS[3].border == -numbers.LOSS == -AS_ACCURATE / 100
    assert f"{AS_ACCURATE:g} points" in CLAIMS[3].test


def test_every_figure_holds_its_data_and_every_table_has_rows(results):
    results.series = Ledgers([], [])
    assert all("<svg" in figure.drawn(results).svg() for figure in figures.FIGURES)
    assert all(len(table.frame(results)) for table in numbers.TABLES if table.name != "claims")


def test_the_setting_says_what_the_models_are():
    params = Params(seeds=[3, 4, 5], texts=None)
    assert params.setting == "planted; lstm and mlp, 16 designs, 3 trainings each, all test texts"
    assert params.facts()["designs"] == 16
