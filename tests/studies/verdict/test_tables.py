"""Tables of the verdict on made-up frames whose answers are known."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib import stats
from attnlib.studies.ledger import judged
from attnlib.studies.verdict import figures, tables
from attnlib.studies.verdict.claims import RULES
from attnlib.studies.verdict.grid import CELL, MODEL, Results
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.params import Params

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
    return Results(pd.DataFrame(rows), pd.DataFrame(labels), pd.DataFrame(ranked), pd.DataFrame(honest), grid=None)


@pytest.fixture(scope="module")
def results() -> Results:
    return made()


def test_tau_is_kendalls_with_all_models_and_without_each():
    values = np.random.default_rng(1).integers(0, 5, (9, 3)).astype(float)
    whole, rest = tables.taus(values)
    assert whole[0, 1] == pytest.approx(stats.kendall_tau(values[:, 0], values[:, 1]))
    for i in range(9):
        left = np.delete(values, i, 0)
        assert rest[i, 0, 2] == pytest.approx(stats.kendall_tau(left[:, 0], left[:, 2]))


def test_agreement_has_an_interval_over_models(results):
    found = tables.agreement(results)
    assert len(found) == len(TESTS) * (len(TESTS) - 1) // 2
    assert (found["trainings"] == len(results.by_model)).all()
    assert found["value"].between(-1, 1).all()
    own = results.by_model
    row = found.iloc[0]
    assert row["value"] == pytest.approx(stats.kendall_tau(own[row["a"]], own[row["b"]]))
    mean = tables.mean_agreement(results)
    assert mean.estimate == pytest.approx(found["value"].mean())
    assert mean.low < 0.1


def test_the_effect_of_a_part_is_the_difference_of_means_of_the_design(results):
    frame = tables.scores_of(results, "flips_input")
    found = tables.part_effect(frame, "TaSc")
    sides = frame.groupby("scaling")["value"].mean()
    assert found.estimate == pytest.approx(sides["lin"] - sides["none"])
    assert found.low < -0.2 < found.high < -0.15
    assert tables.part_effect(frame, "tying").low < 0 < tables.part_effect(frame, "tying").high
    changed = tables.part_effects(results).set_index(["part", "test"])
    assert changed.loc[("TaSc", TESTS["flips_input"].name), "low"] > 1, "signed: fewer tokens are better"


def test_the_test_that_knows_the_truth_is_found_and_those_at_chance_are_named(results):
    found = tables.overall(results).set_index("test")
    assert tables.best_test(results) == "comprehensiveness"
    assert not found.loc["comprehensiveness", "chance"]
    assert found.loc["comprehensiveness", "low"] > 0.8
    assert found.loc[["tau_gradient", "top_input", "sufficiency"], "value"].between(0.4, 0.6).all()
    assert found["chance"].sum() >= 4
    assert found.loc["flips_input", "passes"] == 13
    assert "plausibility" not in found.index, "models were made with what it looks at"
    assert (found.loc[["uniform", "adversary", "information"], "value"] == 1).all()


def test_the_front_has_no_rival_that_is_better_in_both(results):
    found = tables.designs(results, "comprehensiveness")
    for _, part in found.groupby("encoder"):
        for row in part[part["front"]].itertuples():
            assert not ((part["f1"] > row.f1) & (part["value"] > row.value)).any()
    advice = tables.recommended(results, "flips_input")
    assert (advice["scaling"] == "lin").all()
    assert advice["gain"].between(0.15, 0.25).all()


def test_where_two_tests_differ_a_model_and_a_text_show_it(results):
    model = tables.disagreement(results, "flips_input", "comprehensiveness")
    assert abs(model["flips_input"] - model["comprehensiveness"]) > model["of"] / 2
    text = tables.telling(results, model, "flips_input", "comprehensiveness")
    assert text["instance"] in TEXTS


def test_rules_are_judged_on_what_they_say(results):
    verdicts = {rule.id: judged(rule, results, paper="", setting="").verdict for rule in RULES}
    assert verdicts["verdict-3"] == "reproduced"
    assert verdicts["verdict-2"] == "not reproduced"
    assert verdicts["verdict-7"] in ("undetermined", "not reproduced")
    honest = judged(RULES[7], results, paper="", setting="")
    assert (honest.verdict, honest.case) == ("undetermined", TESTS["information"].name), (
        "three models, one number each"
    )
    worse = judged(RULES[2], made(gain=0.2), paper="", setting="")
    assert worse.verdict == "not reproduced"


def test_every_figure_holds_its_data(results):
    agreed = tables.agreement(results)
    model = tables.disagreement(results, "flips_input", "sufficiency")
    drawn = [
        figures.agreement(agreed),
        figures.diagnosticity(tables.diagnosticity(results)),
        figures.parts(tables.part_effects(results)),
        figures.tasc(tables.tasc(results)),
        figures.pareto(tables.designs(results, "comprehensiveness"), "comprehensiveness"),
        figures.two_tests(results.by_model, "flips_input", "sufficiency", model),
    ]
    assert all("<svg" in figure.svg() for figure in drawn)
    assert set(CELL) < set(MODEL)
