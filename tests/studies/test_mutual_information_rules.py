"""What may decide a claim of the study of attention ranks and information, on hand-made frames."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.reference import reference
from attnlib.studies import mutual_information as study
from attnlib.studies import mutual_information_claims as ledger
from attnlib.studies import mutual_information_figures as figures
from attnlib.studies import mutual_information_intervals as intervals
from attnlib.studies import mutual_information_tables as tables
from attnlib.studies import mutual_information_words as words
from tests.studies.mutual_information_frames import GOOD, apart_frame, tau_frame, tau_row, verdicts


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch) -> None:
    """A thousand rank correlations a ledger are many; the verdicts here do not hang on them."""
    monkeypatch.setattr(ledger, "uniformity", partial(intervals.uniformity, resamples=40))


def test_models_that_learned_nothing_decide_nothing() -> None:
    frame = tau_frame()
    for told in ({"accuracy": 0.5}, {"output_entropy": 0.0}, {"tau": np.nan, "value": np.nan}):
        found = verdicts(frame.assign(**told))
        assert {claim.verdict for claim in found.values()} == {"undetermined"}, told
        assert {claim.n for claim in found.values()} == {0}
    assert not words.about_idle(frame)


def test_an_idle_model_takes_its_pair_along() -> None:
    frame = pd.concat([tau_frame(), tau_frame(dataset="imdb")], ignore_index=True)
    first = (frame["dataset"] == "sst") & (frame["seed"] == 0)
    base = first & (frame["variant"] == "none") & (frame["projection"] == "softmax")
    frame.loc[base, "accuracy"] = 0.5
    found = verdicts(frame, pd.concat([apart_frame(), apart_frame("imdb")]))
    assert {n: found[n].n for n in (1, 2, 5, 6, 7)} == {1: 10, 2: 10, 5: 5, 6: 5, 7: 5}
    gumbel = tables.gumbel_pairs(intervals.without_idle(frame)).groupby("dataset")["seeds"].sum()
    assert gumbel.to_dict() == {"sst": 12, "imdb": 18}
    (said,) = words.about_idle(frame)
    assert said.startswith(f"**6 of {len(frame)} models learned nothing**")
    assert "sst BiLSTM Additive softmax as trained (seed 0)" in said
    assert "; and 4 more." in words.about_idle(frame, named=2)[0]


def test_models_without_a_tau_leave_gaps_and_no_errors() -> None:
    frame = tau_frame()
    gone = (frame["attention"] == "dot") & (frame["encoder"] == "cnn")
    gone |= frame["variant"] == "fix_attention"
    columns = [c for c in frame if c.startswith("tau")]
    frame.loc[gone, [*columns, "value", "low", "high"]] = np.nan
    assert tables.estimator_table(frame)["models"].tolist() == [15] * 5
    assert np.isfinite(intervals.uniformity(frame, resamples=20).estimate)
    assert len(tables.gumbel_pairs(frame)) == 5
    assert "no pair of models" in words.about_deltas(frame, ["fix_attention"])[0]
    assert len(tables.tau_table(frame)) == len(tables.stability_table(frame)) == 6
    for chart in (figures.boxes, figures.uniformity):
        assert chart(frame).axes
    frame["tau"] = frame["tau"].clip(-1, 1)
    results = study.Results(frame, _ranks(frame), pd.DataFrame(), SimpleNamespace(failures=[]))
    assert words.checks(study.Params(), results)["tau lies between -1 and 1"]


def _ranks(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(alpha=0.5, information=0.1, rank=1)


@pytest.mark.parametrize(("number", "told"), [(6, "fix_representation"), (7, "adversary")])
def test_what_never_followed_information_is_not_kept(number: int, told: str) -> None:
    low = dict.fromkeys(GOOD, -0.4)
    lost = verdicts(tau_frame(low, best=0.0, **{told: -0.42}))[number]
    assert lost.high < 0.1, "nothing drops"
    assert lost.verdict == "not reproduced"
    assert "mean τ there -0.41" in lost.setting
    assert "above 0" in lost.test
    near = tau_frame(dict.fromkeys(GOOD, 0.0), best=0.0, jitter=0.0, **{told: 0.0})
    near["tau"] = near["value"] = near["seed"] * 0.03 - 0.03
    assert verdicts(near)[number].verdict == "undetermined"


def test_seeds_of_one_cell_are_not_cells() -> None:
    rows = [tau_row("lstm", "additive", s, t, dataset=d) for d, t in (("a", 0.9), ("b", -0.1)) for s in range(10)]
    found = intervals.averaged(pd.DataFrame(rows).assign(all="all"), ["all"]).iloc[0]
    assert (found["low"], found["high"]) == pytest.approx((-0.1, 0.9)), "two corpora, not twenty"
    rows += [{**row, "attention": "dot", "tau": 0.0, "value": 0.0} for row in rows]
    pair = intervals.paired(pd.DataFrame(rows), "attention", "additive", "dot", pair=["dataset", "encoder"]).iloc[0]
    assert (pair["low"], pair["high"], pair["n"]) == pytest.approx((-0.1, 0.9, 20))


def test_uniformity_needs_three_settings_of_one_corpus() -> None:
    pairs = [("additive", 0.1, 0.9), ("dot", 0.5, 0.5)]
    rows = [tau_row("lstm", a, s, t, dataset=d, entropy=e) for a, t, e in pairs for s in (0, 1) for d in "abc"]
    found = intervals.uniformity(pd.DataFrame(rows), resamples=20)
    assert (found.estimate, found.n) == (-1.0, 6)
    assert np.isnan(found.low), "a corpus of two settings gives one value, drawn again and again"
    more = [tau_row("cnn", "dot", s, 0.9, dataset="a", entropy=0.95) for s in (0, 1)]
    found = intervals.uniformity(pd.DataFrame(rows + more), resamples=50)
    assert found.n == 3, "b and c have too few"
    assert found.low < 0 < found.high
    assert words.about_uniformity(pd.DataFrame(rows[:1])) == [
        "Too few models of a corpus to compare their τ with their entropy."
    ]


def test_pairs_of_seeds_are_not_independent() -> None:
    rows = [tau_row("lstm", "additive", s, t) for s, t in enumerate((0.50, 0.51, 0.52, 0.80))]
    found, largest = intervals.seed_gap(pd.DataFrame(rows))
    assert found.estimate == pytest.approx((0.01 + 0.02 + 0.30 + 0.01 + 0.29 + 0.28) / 6)
    assert (found.n, largest) == (6, pytest.approx(0.3))
    assert found.low < 0.02, "without the odd seed"
    assert found.high > 0.25, "two seeds, one of them the odd one"
    two = pd.DataFrame([{**row, "dataset": name} for row in rows[2:] for name in ("sst", "imdb")])
    assert np.isnan(intervals.seed_gap(two)[0].low), "two cells of two seeds"


def test_the_rival_that_decides_is_shown() -> None:
    frame = tau_frame({"additive": 0.6, "dot": 0.3}, encoders=("lstm", "cnn", "mlp"), best=0.0, jitter=0.0)
    frame.loc[(frame["encoder"] == "mlp") & (frame["attention"] == "additive"), ["tau", "value"]] = 0.62
    wild = (frame["encoder"] == "cnn") & (frame["attention"] == "additive")
    frame["value"] = frame["tau"] = frame["tau"].mask(wild, 0.6 + 0.6 * (frame["seed"] - 0.9))
    found = verdicts(frame)[4]
    assert found.verdict == "not reproduced"
    assert found.setting.endswith("mlp+additive"), "cnn has a higher mean, and may be chance"
    assert found.effect == pytest.approx(-0.02)
    assert found.high < 0


def test_the_ledger_says_what_n_counts() -> None:
    found = verdicts(tau_frame())
    assert {found[n].n_of for n in (2, 3, 4, 5, 6, 7)} == {"pairs of models"}
    assert [found[n].n_of for n in (1, 8, 9, 10)] == ["models", "settings", "settings", "pairs of seeds"]
    assert found[9].n == 6


def test_the_papers_table_5_adds_up_but_for_dot() -> None:
    rows = reference("mutual_information", 5).fillna({"dataset": "all", "attention": "all"})
    printed = {(d, a): int(v.partition("/")[0]) for d, a, v in rows[["dataset", "attention", "value"]].to_numpy()}
    tasks, attentions = ("classification", "qa", "nli"), ("additive", "deep", "dot")
    assert len(printed) == 16
    for task in tasks:
        assert sum(printed[task, a] for a in attentions) == printed[task, "all"]
    assert sum(printed[task, "all"] for task in tasks) == printed["all", "all"] == 85
    columns = {a: sum(printed[task, a] for task in tasks) - printed["all", a] for a in attentions}
    assert columns == {"additive": 0, "deep": 0, "dot": 1}, "the paper prints 25 where its cells give 26"


def test_words_of_small_runs() -> None:
    one = tau_frame({"additive": 0.5}, encoders=("lstm",), seeds=1)
    (said,) = words.about_estimators(one)
    assert "order" not in said
    assert "order" in words.about_estimators(tau_frame())[0]
    assert "N(0, 1)" in words.about_start(study.Params(dot_init="normal"))[0]
    assert "torch" in words.about_start(study.Params())[0]
    none = {"ablation_seeds": (), "adversary_seeds": ()}
    assert not words.about_start(study.Params(attentions=["additive"], **none))
    grid = SimpleNamespace(summary="3 runs.", failures=pd.DataFrame())
    params = study.Params(encoders=["lstm", "mlp"], attentions=["additive"], **none)
    (told,) = words.about_grid(params, study.Results(tau_frame(), None, None, grid))
    assert (
        told == "2 encoders × 1 attention for planted. 1 encoder × 1 attention for stories, with a query. 3 runs."
    )


def test_without_adversaries_the_frame_is_empty(monkeypatch) -> None:
    def frame(name, *, optional=False):
        return pd.DataFrame() if optional else tau_frame(dataset="planted")

    monkeypatch.setattr(study, "run_grid", lambda *_, **__: SimpleNamespace(frame=frame))
    monkeypatch.setattr(study, "check_texts", lambda *_: None)
    found = study.results(study.Params(query_corpora=[]))
    assert found.apart.empty
    assert set(found.taus["task"]) == {"classification"}
