"""Rules of the study of sparse attention: which cell decides, when a trend counts, what a sentence may say."""

from __future__ import annotations

from itertools import pairwise, permutations, product

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attnlib.stats import kendall_tau
from attnlib.studies.sparsity import figures, tables, trends, words
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.claims import claims, every
from tests.studies.sparsity.frames import found, model_rows, two_corpora


def ledger(results) -> dict:
    return {claim.id: claim for claim in claims(results)}


def pushed(**by_push) -> pd.DataFrame:
    """Adversaries by push, in thousandths: p10=(jsd, share that stays right)."""
    parts, duels = [], found().adversaries
    for push, (jsd, right) in by_push.items():
        kept = np.arange(len(duels)) % 100 < 100 * right
        parts.append(duels.assign(push=float(push[1:]) / 1000, jsd=jsd, right_adversary=kept.astype(float)))
    return pd.concat(parts, ignore_index=True)


def test_an_adversary_is_judged_at_the_weakest_push_that_moves_attention() -> None:
    results = found()
    results.adversaries = pushed(p1=(0.1, 1.0), p10=(0.4, 0.995), p1000=(0.6, 0.5))
    told = ledger(results)
    assert told["sparsity-12"].verdict == "reproduced"  # the strongest push costs half of the accuracy
    assert "λ = 0.01" in told["sparsity-12"].setting
    assert tables.least_push(results.adversaries)["push"].unique().tolist() == [0.01]
    assert all("λ = 0.01" in said for said in words.about_adversaries(results.adversaries)[1:])
    results.adversaries = pushed(p1=(0.1, 1.0), p10=(0.2, 0.5))
    told = ledger(results)
    assert told["sparsity-11"].verdict == told["sparsity-12"].verdict == "undetermined"
    assert told["sparsity-11"].setting.endswith("λ = 0.01, 0.20 nats away, too near, silent")
    said = words.about_adversaries(results.adversaries)[1]
    assert "too near" in said
    assert said.endswith("Nothing is decided.")


def test_sparsemax_bases_have_claims_of_their_own() -> None:
    results = found()
    told = ledger(results)
    assert (told["sparsity-15"].verdict, told["sparsity-16"].verdict) == ("not tested", "not tested")
    other = pushed(p100=(0.6, 1.0)).assign(projection="sparsemax")
    results.adversaries = pd.concat([results.adversaries, other], ignore_index=True)
    told = ledger(results)
    assert (told["sparsity-11"].verdict, told["sparsity-12"].verdict) == ("reproduced", "reproduced")
    assert told["sparsity-15"].verdict == "undetermined"  # nothing lost: an interval of nought
    results.adversaries = other
    told = ledger(results)
    assert "not tested" not in (told["sparsity-15"].verdict, told["sparsity-16"].verdict)
    assert told["sparsity-11"].verdict == "not tested"


def test_a_seed_without_a_trend_leaves_no_interval() -> None:
    results = found()
    part = results.entropies["metric"] == "support_share"
    results.entropies.loc[part & (results.entropies["seed"] == 1), "value"] = 1.0
    row = trends.trend(results.entropies[part], ["dataset", "encoder"]).iloc[0]
    assert row[["value", "low", "high", "p"]].isna().all()
    told = ledger(results)["sparsity-1"]
    assert (told.verdict, np.isnan(told.effect)) == ("undetermined", True)


@pytest.mark.parametrize("ties", [False, True])
def test_permutation_p_is_that_of_all_arrangements(ties) -> None:
    means = np.array([[3.0, 1.0, 2.0, 0.0], [1.0, 1.0 if ties else 1.5, 0.5, 0.0]])
    tau = lambda rows: np.mean([kendall_tau(range(4), row) for row in rows])  # noqa: E731
    every_one = [tau(rows) for rows in product(*(list(permutations(row)) for row in means))]
    expected = np.mean(np.abs(every_one) >= abs(tau(means)) - 1e-9)
    assert trends.permutation_p(means) == pytest.approx(expected)


def test_drawn_permutations_come_near_the_exact_p(monkeypatch) -> None:
    means = np.array([[3.0, 1.0, 2.0, 0.0, -1.0], [1.0, 1.5, 0.5, 2.0, 0.0]])
    exact = trends.permutation_p(means)
    monkeypatch.setattr(trends, "EXACT", 0)
    assert trends.permutation_p(means) == pytest.approx(exact, abs=0.02)
    assert trends.permutation_p(means) == trends.permutation_p(means)


def test_a_trend_of_so_few_models_decides_nothing() -> None:
    """Three values of lambda and two seeds fall in order once in 36 shufflings, and rise once: p is 0.056."""
    results = found()
    for name in ("agreement", "entropies"):
        frame = getattr(results, name)
        setattr(results, name, frame[frame["lam"] != -1])
    row = trends.trend(
        results.entropies[results.entropies["metric"] == "support_share"], ["dataset", "encoder"]
    ).iloc[0]
    assert row["value"] == row["low"] == row["high"] == -1
    assert row["p"] == row["least_p"] == pytest.approx(2 / 36)
    told = ledger(results)
    assert {told[f"sparsity-{k}"].verdict for k in (1, 7, 8, 9, 10)} == {"undetermined"}
    assert "p = 0.056 over 6 models, silent" in told["sparsity-1"].setting
    assert "p < 0.05" in told["sparsity-1"].test
    assert "cannot give a p below 0.056" in words.about_lambda(trends.trends(results))[-1]
    assert "p" in tables.lambda_table(trends.trends(results)["entropy"])


def cells(**columns) -> pd.DataFrame:
    return pd.DataFrame({"n": 10, "encoder": ["a", "b", "c"], **columns})


def shown(rows: pd.DataFrame, direction: str = "greater"):
    return every(rows, direction, 0.0, found().hidden, n_of="texts", id="x", claim="c", where="w", test="t")


def test_the_cell_shown_is_one_that_decided() -> None:
    rows = cells(value=[0.5, 0.1, 0.3], low=[0.4, 0.05, -0.1], high=[0.6, 0.2, 0.7])
    one = shown(rows)
    assert (one.verdict, one.effect) == ("undetermined", 0.3)  # 0.1 is smaller, and holds
    assert one.setting.endswith("of 3 cells 1 undetermined, the weakest of these shown; c")
    quiet = shown(rows.assign(silent=[True, False, False]))
    assert (quiet.effect, quiet.verdict) == (0.3, "undetermined")
    alone = shown(rows.assign(silent=[False, True, False])[:2])
    assert alone.effect == 0.1
    assert alone.setting.endswith("b, silent")
    failed = shown(cells(value=[0.5, -0.4, -0.2], low=[0.4, -0.5, -0.3], high=[0.6, -0.3, -0.1]))
    assert (failed.verdict, failed.effect) == ("not reproduced", -0.4)


def test_settings_and_n_are_those_of_each_claims_frame() -> None:
    results = found()
    results.hidden = results.hidden[results.hidden["instance"].isin([f"test-{i}" for i in range(7)])]
    told = ledger(results)
    assert told["sparsity-2"].setting.startswith("sst: 7 test texts; 3 seeds;")
    assert (told["sparsity-2"].n, told["sparsity-2"].n_of) == (21, "hidden states × seeds")
    assert (told["sparsity-4"].n, told["sparsity-4"].n_of) == (120, "texts × seeds")
    assert told["sparsity-1"].setting.startswith("sst: 40 test texts; 2 seeds;")
    assert (told["sparsity-1"].n, told["sparsity-1"].n_of) == (40, "texts")
    assert told["sparsity-11"].setting.startswith("sst: 400 test texts; 3 seeds;")
    assert (told["sparsity-11"].n, told["sparsity-11"].n_of) == (1200, "texts × seeds")
    assert told["sparsity-13"].setting.startswith("sst: 30 test texts; 1 seed;")
    assert ledger(two_corpora())["sparsity-4"].setting.startswith(
        "sst: 12 test texts, 20news: 8 test texts; 3 seeds"
    )


def test_leave_one_out_entropy_is_judged_too() -> None:
    results = found()
    sparse = (results.entropies["metric"] == "entropy_leave_one_out_input") & (
        results.entropies["projection"] == "sparsemax"
    )
    results.entropies.loc[sparse, "value"] -= 0.3
    told = ledger(results)
    assert (told["sparsity-6"].verdict, told["sparsity-14"].verdict) == ("reproduced", "not reproduced")
    assert "for every encoder and corpus" in told["sparsity-6"].test


def test_a_kind_of_run_that_failed_throughout_is_said_and_leaves_the_rest() -> None:
    results = found()
    results.adversaries = results.facets = pd.DataFrame()
    assert sum(claim.verdict != "not tested" for claim in ledger(results).values()) == 12
    assert words.about_adversaries(results.adversaries) == [
        "There is no adversary: none was asked for, or every one failed."
    ]


def test_a_sparsemax_that_leaves_all_texts_whole_is_an_outcome_and_no_fault() -> None:
    results = found()
    results.entropies.loc[results.entropies["metric"] == "support_share", "value"] = 1.0
    results.entropies.loc[results.entropies["metric"].str.startswith("entropy"), "value"] = 0.5
    params = study.Params(corpora=("sst",), lambdas=(-10.0, -1.0, 0.0, 0.5), entmax_alphas=())
    assert study.checks(results, params)["sparsemax leaves at least one word"]
    assert "Sparsemax leaves 100.0% of texts whole." in words.about_support(results.entropies)[0]


def test_boxes_stand_in_the_order_of_measured_support() -> None:
    chart = figures.entropy_boxes(found().entropies, "entropy_gradient_input")
    names = [t.get_text().partition("\nn =")[0] for t in chart.axes[0].get_xticklabels()]
    assert names == ["softmax", "sparsegen\n-10", "sparsegen\n-1", "sparsemax", "sparsegen\n0.5"]
    results = found()
    share = results.entropies["metric"] == "support_share"
    results.entropies.loc[share, "value"] *= -1
    chart = figures.entropy_boxes(results.entropies, "entropy_gradient_input")
    assert [t.get_text() for t in chart.axes[0].get_xticklabels()][-1].startswith("softmax")


def test_sentences_on_support_and_ties_say_nothing_twice() -> None:
    results = found()
    said = words.about_support(results.entropies[results.entropies["lam"].fillna(0) <= 0])
    assert "and sparsemax to" not in said[0]
    assert "and sparsegen 0.5 to" in words.about_support(results.entropies)[0]
    ties = words.about_ties(results.agreement, results.entropies)[0]
    assert "In the sparsest model, sparsegen 0.5, no pair of words is tied." in ties
    ties = words.about_ties(results.agreement.assign(tied=0.25), results.entropies)[0]
    assert "**25.0%** of pairs of words have equal weight" in ties


def test_texts_of_one_word_give_a_sentence() -> None:
    hidden = model_rows(lambda e, p, lam: np.nan, metric="entropy_grad_fi_of_hidden", own=np.nan, even=np.nan)
    (said,) = words.about_hidden(hidden)
    assert "no hidden state has an entropy" in said
    tables.own_table(hidden)


def test_labels_of_eleven_lambdas_do_not_overlap() -> None:
    lambdas = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.3, 0.5, 0.7, 0.9)
    rows = [
        {
            "dataset": "sst",
            "encoder": e,
            "projection": "sparsegen",
            "lam": lam,
            "seed": 0,
            "instance": i,
            "value": 0.5,
        }
        for e in study.ENCODERS
        for lam in lambdas
        for i in range(3)
    ]
    name = {"m": "entropy of gradient importance"}  # a legend as wide as the notebook's leaves the panels less room
    frame = pd.DataFrame(rows).assign(metric="m")
    chart = figures.along(frame, "metric", ["m"], "lam", title="t", y="y", names=name)
    FigureCanvasAgg(chart).draw()
    for axis in chart.axes:
        labels = [t for t in axis.get_xticklabels() if t.get_text()]
        boxes = [t.get_window_extent() for t in labels]
        assert {"0", "0.9", "-100"} <= {t.get_text() for t in labels}
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert len(axis.get_xticks()) == len(lambdas)
