"""What may decide a claim of the study of attention ranks and information, on hand-made frames."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib import stats
from attnlib.studies.beside import reference
from attnlib.studies.mutual_information import claims as ledger
from attnlib.studies.mutual_information import figures, intervals, tables, words
from attnlib.studies.mutual_information import grid as study
from attnlib.studies.mutual_information.measures import fitting_counts
from tests.studies.mutual_information.frames import GOOD, apart_frame, tau_frame, tau_row, verdicts


@pytest.fixture(autouse=True)
def _few_resamples(monkeypatch) -> None:
    """A thousand rank correlations a ledger are many; the verdicts here do not hang on them."""
    monkeypatch.setattr(ledger, "uniformity", partial(intervals.uniformity, resamples=40))


def test_models_that_learned_nothing_decide_nothing() -> None:
    frame = tau_frame()
    for told in ({"accuracy": 0.5}, {"output_entropy": 0.0}, {"tau": np.nan, "value": np.nan}):
        found = verdicts(frame.assign(**told))
        assert {claim.verdict for claim in found.values()} == {"not tested"}, told
        assert {claim.n for claim in found.values()} == {0}
        assert all("most frequent class" in claim.note for claim in found.values())
    assert not words.about_idle(frame)


def test_a_corpus_with_fewer_texts_than_clusters_need_decides_nothing() -> None:
    assert fitting_counts([8, 12], 30) == [8, 12]
    assert fitting_counts([8, 12], 20) == [8]
    assert fitting_counts([8, 12], 6) == [3], "two texts for each cluster"
    small = tau_frame(dataset="small.csv").assign(thin=True, n=6, clusters=3)
    assert {claim.verdict for claim in verdicts(small).values()} == {"not tested"}
    both = pd.concat([tau_frame(), small], ignore_index=True)
    assert {n: verdicts(both)[n].n for n in (1, 5, 8)} == {1: 6, 5: 3, 8: 6}
    (said,) = words.about_thin(both)
    assert said.startswith("**small has 6 test texts**")
    assert "too few test texts" in words.left_out(both)


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
    assert (len(tables.tau_table(frame)), len(tables.stability_table(frame))) == (6, 5)
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
    wide = 0.5 * float(stats.expansion(10))
    assert (found["low"], found["high"]) == pytest.approx((0.4 - wide, 1.0)), "two corpora, not twenty; 1 at most"
    assert (found["seeds"], found["cells"]) == (10, 2)
    rows += [{**row, "attention": "dot", "tau": 0.0, "value": 0.0} for row in rows]
    pair = intervals.paired(pd.DataFrame(rows), "attention", "additive", "dot", pair=["dataset", "encoder"]).iloc[0]
    assert (pair["low"], pair["high"], pair["n"]) == pytest.approx((0.4 - wide, 0.4 + wide, 20))


def test_uniformity_needs_five_settings_of_one_corpus() -> None:
    pairs = [("additive", 0.1, 0.9), ("dot", 0.5, 0.5)]
    rows = [tau_row("lstm", a, s, t, dataset=d, entropy=e) for a, t, e in pairs for s in (0, 1) for d in "abc"]
    found = intervals.uniformity(pd.DataFrame(rows), resamples=20)
    assert (found.estimate, found.n) == (-1.0, 6)
    assert np.isnan(found.low), "a corpus of two settings gives one value, drawn again and again"
    settings = zip("def", (0.9, 0.2, 0.3), (0.95, 0.7, 0.6), strict=True)
    more = [tau_row("cnn", a, s, t, dataset="a", entropy=e) for a, t, e in settings for s in (0, 1)]
    assert np.isnan(intervals.uniformity(pd.DataFrame(rows + more[:-2]), resamples=20).low), "four are too few"
    found = intervals.uniformity(pd.DataFrame(rows + more), resamples=50)
    assert found.n == 5, "b and c have too few"
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
    assert "is shown: MLP with Additive" in found.setting, "cnn has a higher mean, and may be chance"
    assert found.effect == pytest.approx(-0.02)
    assert found.high < 0


def test_the_ledger_says_what_n_counts() -> None:
    found = verdicts(tau_frame())
    assert {found[n].n_of for n in (2, 3, 4, 5, 6, 7)} == {"pairs of models"}
    assert [found[n].n_of for n in (1, 8, 9, 10, 12)] == [
        "models", "settings", "settings", "pairs of seeds", "corpora"
    ]  # fmt: skip
    assert found[9].n == 6
    one = verdicts(tau_frame(seeds=1))
    assert [(one[n].n, one[n].n_of) for n in (4, 5)] == [(1, "pair of models")] * 2


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


@pytest.mark.parametrize("cells", [1, 2])
def test_a_true_null_is_seldom_refused(cells: int) -> None:
    """Three seeds; without the widening about a quarter of the intervals miss the truth.

    Two cells differ from each other as much as seeds do; the truth of one cell is its own mean.
    """
    rng = np.random.default_rng(0)
    rows = [
        {"dataset": f"d{cell}", "encoder": "lstm", "attention": side, "seed": seed, "run": run}
        for run in range(300)
        for cell in range(cells)
        for seed in range(3)
        for side in ("additive", "dot")
    ]
    frame = pd.DataFrame(rows)
    own = rng.standard_normal((300 * cells, 1, 2)) * (cells > 1)
    frame["value"] = 0.1 * (own + rng.standard_normal((300 * cells, 3, 2))).reshape(-1)
    for found in (
        intervals.averaged(frame[frame["attention"] == "dot"], ["run"]),
        intervals.paired(frame, "attention", "additive", "dot", ["run"], pair=["dataset"]),
    ):
        assert len(found) == 300
        assert ((found["low"] > 0) | (found["high"] < 0)).mean() < 0.1
        assert not {"p", "p_holm"} & set(found), "they would contradict the interval"


def test_single_intervals_are_widened_too() -> None:
    rows = [tau_row("lstm", "additive", s, t) for s, t in enumerate((0.50, 0.52, 0.54))]
    found, largest = intervals.seed_gap(pd.DataFrame(rows))
    assert 0.0 <= found.low < found.estimate, "a mean of sizes is not below zero"
    assert found.high > largest, "three seeds say little"
    five = zip("abcde", (1, 2, 3, 4, 5), (5, 4, 1, 2, 3), strict=True)
    settings = [tau_row("lstm", a, s, t, entropy=e) for a, t, e in five for s in (0, 1)]
    found = intervals.uniformity(pd.DataFrame(settings), resamples=100)
    assert -1.0 <= found.low <= found.estimate < 0 < found.high <= 1.0


def test_shares_have_exact_intervals() -> None:
    assert intervals.share([True] * 5)[:2] == (1.0, pytest.approx(0.025**0.2))
    assert intervals.share([]).n == 0
    assert intervals.share([True] * 2).low == pytest.approx(0.158, abs=1e-3)
    three = tau_frame({"additive": 0.9, "deep": 0.8, "dot": 0.3}, encoders=("lstm",))
    found = verdicts(three)[8]
    assert (found.effect, found.n, found.verdict) == (1.0, 3, "undetermined"), "three of three may be chance"
    assert "not independent" in found.test
    assert (
        "3 of 3** settings (paper: 85 of 99), 100.0% (exact 95% interval 29.2% to 100.0%)"
        in (words.about_gumbel(three)[0])
    )


def test_other_estimates_stand_beside_the_verdict() -> None:
    frame = tau_frame()
    alike = verdicts(frame)
    assert "by other estimates +0.63 (minus shuffled), +0.63 (nearest neighbours)" in alike[2].setting
    assert all("DIFFERS" not in claim.setting for claim in alike.values())
    frame["tau_neighbours"] = -frame["tau"]
    turned = verdicts(frame)
    for number in (1, 2, 3, 4, 11):
        assert turned[number].setting.endswith("the sign differs with nearest neighbours")
        assert turned[number].verdict == "reproduced", "the paper's estimate decides"


def test_additive_against_deep_and_queries_against_the_rest() -> None:
    frames = [tau_frame(dataset=name, jitter=jitter) for name, jitter in (("sst", 0.01), ("imdb", 0.02))]
    low = {"additive": 0.5, "deep": 0.4, "dot": 0.1}
    frames += [
        tau_frame(low, dataset=name, encoders=("lstm",), jitter=jitter)
        for name, jitter in (("snli", 0.01), ("babi_1", 0.02))
    ]
    found = verdicts(pd.concat(frames))
    assert (found[11].verdict, found[11].effect) == ("reproduced", pytest.approx(0.1 + 4 / 6 * 0.05))
    assert found[12].effect == pytest.approx((0.4 + 0.4 + 0.2) / 3), "BiLSTM alone, which both kinds have"
    assert (found[12].n, found[12].verdict) == (4, "reproduced")
    frames[2]["value"] = frames[2]["tau"] = frames[2]["tau"] - 0.3
    assert verdicts(pd.concat(frames))[12].verdict == "undetermined", "two corpora that differ"
    one = verdicts(pd.concat(frames[1:3]))[12]
    assert (one.n, one.verdict) == (2, "undetermined"), "a corpus of each kind says nothing of the next"


def test_idle_models_are_in_no_mean() -> None:
    frame = tau_frame()
    flat = (frame["encoder"] == "cnn") & (frame["seed"] == 0)
    frame.loc[flat, "accuracy"] = 0.5
    frame.loc[flat, ["tau", "value"]] = -1.0
    table = tables.tau_table(frame).set_index(["encoder", "attention"])
    assert table.loc[("CNN", "Dot"), ["models", "left out"]].tolist() == [2, 1]
    assert table.loc[("CNN", "Dot"), "tau"].startswith("0.32")
    assert words.left_out(frame) == " Without 6 models of 45 that learned nothing."
    assert words.left_out(tau_frame()) == ""
    none = tables.tau_table(frame.assign(accuracy=0.5))
    assert set(none["tau"]) == {"–"}
    nobody = intervals.without_idle(frame.assign(accuracy=0.5))
    assert tables.average_table(nobody).empty
    assert words.about_taus(nobody) == ["No model learned anything, so there is no τ to compare."]
    assert len(tables.estimator_table(nobody)) == 5


def test_the_width_over_texts_is_not_that_of_a_cut_interval() -> None:
    frame = tau_frame().assign(low=0.9, high=1.0)
    assert set(tables.tau_table(frame)["± over texts"]) == {0.15}
    assert words.about_stability(frame)[-1] == "Another sample of texts would move a typical τ by ±0.15."


def test_models_whose_ranks_occupy_other_numbers_of_clusters_are_named() -> None:
    frame = tau_frame()
    assert len(words.about_choices(frame)) == 2, "N, and lone states"
    frame.loc[(frame["encoder"] == "cnn") & (frame["attention"] == "dot"), "occupied_least"] = 31
    table = tables.choices_table(frame).set_index(["encoder", "attention"])["occupied clusters"]
    assert (table["CNN", "Dot"], table["CNN", "Deep"]) == ("31–50", "50")
    said = words.about_choices(frame, named=1)[2]
    assert "**3 of 18 models** the number of occupied clusters changes with the rank, by 19" in said
    assert "sst CNN Dot (seed 0); and 2 more. For them the row “minus shuffled”" in said
