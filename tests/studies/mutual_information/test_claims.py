"""What decides a claim of the study of attention ranks and information, on hand-made frames."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from attnlib import stats
from attnlib.studies.beside import reference
from attnlib.studies.mutual_information import numbers as rules
from attnlib.studies.mutual_information.params import Params
from tests.studies.mutual_information.frames import GOOD, apart_frame, results, tau_frame, tau_row, verdicts


def test_claims_that_hold_are_reproduced() -> None:
    one = tau_frame()
    found = verdicts(one)
    assert (found[4].effect, found[4].verdict) == (1.0, "undetermined"), "three rounds of three may be chance"
    found[4] = verdicts(pd.concat([one, one.assign(dataset="imdb")]))[4]
    assert found.pop(12).verdict == "not tested", "no corpus with a query"
    assert {claim.verdict for claim in found.values()} == {"reproduced"}
    assert found[2].effect == pytest.approx(0.6 + 0.05 / 2)
    assert (found[4].effect, found[4].n) == (1.0, 6), "rounds of two corpora"
    assert found[5].effect == pytest.approx(0.95 - 0.1)
    assert (found[8].effect, found[8].n) == (1.0, 6)
    assert found[10].effect == pytest.approx((0.004 + 0.004 + 0.008) / 3)
    assert {n: found[n].trainings for n in (1, 2, 5, 9)} == {1: 6, 2: 12, 5: 3, 9: 6}, "of 9: settings"


def test_sizes_are_judged_by_the_papers_printed_effects() -> None:
    found = verdicts(tau_frame())
    printed = {1: 0.80, 2: 0.35, 3: 0.29, 5: 0.71, 6: -0.02, 7: 0.04, 8: 85 / 99, 10: 0.02, 11: 0.06}
    assert {n: found[n].paper_effect for n in printed} == pytest.approx(printed)
    assert {found[n].size for n in (1, 2, 3, 5)} == {"larger"}
    assert (found[5].paper_where, found[7].paper_where) == ("Table 2, sst", "Table 4, sst")
    assert (found[8].size, found[9].size) == ("as large", "no printed value")
    mixed = pd.concat([tau_frame(), tau_frame(dataset="stories"), tau_frame(dataset="mine.csv")])
    mean = reference("mutual_information", 2).query("variant == 'fix_attention'")["value"].mean()
    assert verdicts(mixed)[5].paper_effect == pytest.approx((0.71 + 1.70 + mean) / 3), "the closest, or their mean"
    weak = verdicts(tau_frame({"additive": 0.4, "deep": 0.39, "dot": 0.38}, best=0.0))
    assert {weak[n].size for n in (1, 2, 3, 11)} == {"smaller"}


def test_claims_that_fail_are_not_reproduced() -> None:
    worse = {"additive": -0.75, "deep": -0.5, "dot": 0.5}
    taus = tau_frame(worse, 0.5, -0.9, -0.9, gumbel=-0.1, best=-0.2, jitter=0.1).assign(idle=False)
    taus["entropy"] = 0.5 + taus["tau"] / 4
    found = verdicts(taus)
    assert {n for n, claim in found.items() if claim.verdict == "not reproduced"} >= {1, 2, 3, 5, 6, 7, 8, 9, 11}
    assert found[10].effect > found[10].border


def test_claims_without_their_models_are_not_tested() -> None:
    taus = tau_frame()
    one = taus[(taus["variant"] == "none") & (taus["projection"] == "softmax") & (taus["seed"] == 0)]
    found = verdicts(one)
    assert {n for n, claim in found.items() if claim.verdict == "not tested"} == {5, 6, 7, 8, 10, 12}
    assert all(found[n].n == 0 and found[n].note for n in (5, 6, 7, 8, 10, 12)), "and say why"
    found = verdicts(one[one["attention"] == "dot"])
    assert {n for n, claim in found.items() if claim.verdict != "not tested"} == set()


def test_models_that_learned_nothing_decide_nothing_nor_do_their_pairs() -> None:
    assert {claim.verdict for claim in verdicts(tau_frame().assign(idle=True)).values()} == {"not tested"}
    taus = pd.concat([tau_frame(), tau_frame(dataset="imdb")], ignore_index=True)
    base = (taus["variant"] == "none") & (taus["projection"] == "softmax")
    taus.loc[base & (taus["dataset"] == "sst") & (taus["seed"] == 0), "idle"] = True
    found = verdicts(taus, pd.concat([apart_frame(), apart_frame("imdb")]))
    assert {n: found[n].n for n in (1, 2, 5, 6, 7)} == {1: 10, 2: 20, 5: 5, 6: 5, 7: 5}


def test_a_corpus_with_fewer_texts_than_clusters_need_decides_nothing() -> None:
    small = tau_frame(dataset="small.csv").assign(thin=True, n=6, clusters=3)
    found = verdicts(small)
    assert {claim.verdict for claim in found.values()} == {"not tested"}
    assert "too few test texts" in found[1].note
    both = verdicts(pd.concat([tau_frame(), small], ignore_index=True))
    assert {n: both[n].n for n in (1, 5, 8)} == {1: 6, 5: 3, 8: 6}


@pytest.mark.parametrize(
    ("told", "verdict"),
    [
        ({}, "reproduced"),
        ({"jsd": 0.194}, "reproduced"),
        ({"jsd": 0.18}, "not tested"),
        ({"adversary": 0.9}, "not tested"),
        ({"base": 0.8}, "reproduced"),
        ({"tvd": 0.19}, "reproduced"),
        ({"tvd": 0.3}, "not tested"),
    ],
)
def test_only_adversaries_decide_on_adversaries(told: dict, verdict: str) -> None:
    found = verdicts(tau_frame(), apart_frame(**told))[7]
    assert (found.verdict, found.n) == (verdict, 3 if verdict == "reproduced" else 0)


@pytest.mark.parametrize(("number", "told"), [(6, "fix_representation"), (7, "adversary")])
def test_what_never_followed_information_is_not_kept(number: int, told: str) -> None:
    lost = verdicts(tau_frame(dict.fromkeys(GOOD, -0.4), best=0.0, **{told: -0.42}))[number]
    assert (lost.verdict, lost.case) == ("not reproduced", "what must be there"), (
        "nothing drops, and nothing is there"
    )
    assert lost.high < 0 == lost.border
    near = verdicts(tau_frame(dict.fromkeys(GOOD, 0.0), best=0.0, **{told: 0.0}))[number]
    assert near.verdict == "undetermined"
    assert near.low < 0 < near.high, "the interval that is shown is that of what decides"


def test_best_most_of_the_time_counts_rounds() -> None:
    taus = pd.concat([tau_frame(dataset=name, best=0.0, seeds=4) for name in ("sst", "imdb")])
    rival = (taus["encoder"] == "cnn") & (taus["attention"] == "additive")
    ahead = rival & (taus["seed"] == 0)
    taus["value"] = taus["value"].mask(ahead, taus["value"] + 0.05).mask(rival & ~ahead, taus["value"] + 0.004)
    found = verdicts(taus)[4]
    assert (found.effect, found.n) == (6 / 8, 8), "a rival ahead by less than the paper's digits show is not ahead"
    assert (found.size, found.verdict) == ("no printed value", "undetermined")
    taus["value"] = taus["value"].mask(rival, 1.0)
    assert verdicts(taus)[4].verdict == "not reproduced", "one rival that always wins is enough"
    half = taus[(taus["dataset"] == "sst") | (taus["encoder"] == "lstm")]
    assert verdicts(half)[4].n == 4, "rounds of the corpus that has every setting"
    assert verdicts(taus[taus["encoder"] == "lstm"])[4].verdict == "not tested", "three settings are too few"


def test_uniformity_is_a_mean_of_rank_correlations_within_corpora() -> None:
    settings, values = [(e, a) for e in ("lstm", "cnn") for a in GOOD], (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
    rows = [
        tau_row(*setting, seed, tau + shift, dataset=dataset, entropy=entropy + shift)
        for dataset, shift in (("sst", 0.0), ("imdb", 0.2))
        for setting, tau, entropy in zip(settings, values, (6, 4, 5, 1, 3, 2), strict=True)
        for seed in (0, 1)
    ]
    taus = pd.DataFrame(rows)
    found = verdicts(taus)[9]
    one = taus[taus["dataset"] == "sst"]
    whole = stats.kendall_tau(*one[["tau", "entropy"]].to_numpy().T)
    assert (found.effect, found.n) == (pytest.approx(whole), 12), "higher values of both elsewhere hide nothing"
    cells = [own[["tau", "entropy"]].to_numpy() for _, own in one.groupby(rules.CELL, sort=False)]
    rest = [stats.kendall_tau(*np.vstack(cells[:i] + cells[i + 1 :]).T) for i in range(6)]
    jackknife = (5 / 6 * ((rest - np.mean(rest)) ** 2).sum()) ** 0.5
    assert verdicts(one)[9].found.se == pytest.approx(jackknife)
    assert verdicts(one[one["encoder"] == "lstm"])[9].verdict == "not tested", "three settings are too few"


def test_the_difference_between_trainings_is_over_pairs() -> None:
    values = (0.50, 0.51, 0.52, 0.80)
    found = verdicts(pd.DataFrame([tau_row("lstm", "additive", s, t) for s, t in enumerate(values)]))[10]
    gaps = [abs(a - b) for a, b in combinations(values, 2)]
    assert found.effect == pytest.approx(np.mean(gaps))
    rest = [np.mean([abs(a - b) for a, b in combinations(values[:i] + values[i + 1 :], 2)]) for i in range(4)]
    assert found.found.se == pytest.approx((3 / 4 * ((rest - np.mean(rest)) ** 2).sum()) ** 0.5)
    assert (found.low, found.trainings) == (0.0, 4), "a mean of sizes is not below zero"


def test_corpora_with_a_query_against_the_rest() -> None:
    low = {"additive": 0.5, "deep": 0.4, "dot": 0.1}
    shifts = {"sst": 0.0, "imdb": 0.01, "snli": 0.0, "babi_1": 0.01}
    frames = {
        name: tau_frame(low if name in ("snli", "babi_1") else GOOD, dataset=name, encoders=encoders)
        for name, encoders in zip(shifts, [("lstm", "cnn")] * 2 + [("lstm",)] * 2, strict=True)
    }
    taus = pd.concat([own.assign(value=own["value"] + shifts[name]) for name, own in frames.items()])
    found = verdicts(taus)[12]
    assert found.effect == pytest.approx((0.4 + 0.4 + 0.2) / 3), "BiLSTM alone, which both kinds have"
    assert (found.n, found.verdict, found.size) == (4, "reproduced", "no printed value")
    assert verdicts(taus[taus["dataset"].isin(["sst", "snli"])])[12].verdict == "not tested", "one of each kind"


def test_checks_see_what_is_wrong() -> None:
    taus = tau_frame().assign(k=2)
    ranks = [taus.assign(rank=rank, alpha=0.5 / rank, information=0.1) for rank in (1, 2)]
    found = results(taus, ranks=pd.concat(ranks))
    every = rules.checks(found, Params())
    assert [name for name, holds in every.items() if not holds] == ["every model of the grid was measured"]
    found = results(taus.assign(tau=2.0, entropy=1.5), ranks=ranks[1].assign(information=-1.0))
    assert not any(rules.checks(found, Params()).values())
