"""Verdicts on models whose truth is known: a small part of `make calibrate`, and the table that the kit keeps."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.auditing.probe import Probe
from attnlib.auditing.rows import hides, measure
from attnlib.auditing.rules import CALIBRATION, FAIL, MAY, MUST_NOT, PASS, overall, rules
from tests.auditing import planted
from tests.auditing.calibrate import population, summary, verdicts

EXPECTED = {
    "mixing": {"weights", "words", "reading"},
    "elsewhere": {"alternatives", "weights"},
    "random": {"needed", "words", "reading", "stable"},
    "inverted": {"sign"},
    "deceptive": {"weights", "words", "reading"},
}
"""What must fail, by construction."""


@pytest.fixture(scope="module")
def populations():
    made = {}

    def of(kind):
        if kind not in made:
            made[kind] = population(kind, 110, pool=3)
        return made[kind]

    return of


def test_the_honest_model_may_be_read(populations):
    rows = populations("honest").rows()
    assert {row.objection.id: row.status for row in rows} == dict.fromkeys(rules()["objections"], PASS)
    assert overall(rows, True)[0] == MAY
    assert hides(populations("honest").measured) is None


@pytest.mark.slow
@pytest.mark.parametrize("kind", EXPECTED)
def test_the_others_fail_in_the_right_rows(populations, kind):
    rows = populations(kind).rows()
    failed = {row.objection.id for row in rows if row.status == FAIL}
    assert failed >= EXPECTED[kind]
    assert overall(rows, True)[0] == MUST_NOT
    assert (hides(populations(kind).measured) is not None) == (kind == "deceptive")


def test_verdicts_of_samples_are_right(populations):
    table = summary(verdicts(populations("honest"), (100,), 5))
    assert (table["wrong"] == 0).all()
    assert (table["may"] == 1).all()


def test_the_kept_table_keeps_its_promises():
    table = pd.read_csv(CALIBRATION)
    judged = table[table["wrong"].notna()]
    assert set(judged["model"]) == set(planted.KINDS)
    assert judged["wrong"].max() <= 0.05
    honest = judged[judged["model"] == "honest"]
    assert (honest["truth"] == PASS).all()
    for kind, rows in EXPECTED.items():
        own = judged[(judged["model"] == kind) & (judged["n"] == 1000)].set_index("objection")
        assert (own.loc[sorted(rows), "truth"] == FAIL).all()
        assert (own["must_not"] >= 0.95).all()
    assert (judged[judged["model"] == "deceptive"]["named"] >= 0.95).all()
    assert (judged[judged["model"] != "deceptive"]["named"] <= 0.05).all()
    open_ = judged.groupby("n")["undetermined"].mean()
    assert open_.is_monotonic_decreasing
    dose = table[table["model"].str.startswith("dose")]["true_value"].to_numpy()
    assert len(dose) == 6
    assert (np.diff(dose) <= 0.01).all()
    assert dose[0] - dose[-1] > 0.3


@pytest.fixture(scope="module")
def honest():
    corpus = planted.corpus(12, train=60)
    return planted.model("honest", corpus), corpus.test


def test_the_share_of_the_attainable_by_hand(honest, monkeypatch):
    """One decisive word: whoever ranks it first reaches everything, whoever ranks it last nothing."""
    monkeypatch.setitem(rules(), "shares", [0.05])
    probe = Probe(*honest)
    truth = [np.array(e.rationale, float) for e in honest[1]]
    probe.rankings |= {"truth": truth, "wrong": [-t for t in truth]}
    found = probe.erased(["pad"], ["truth", "wrong"])["pad"]
    assert found.share("truth").mean() == pytest.approx(1.0, abs=0.02)
    assert found.share("wrong").mean() < 0.1
    assert (found.area("best") >= found.area("leave-one-out") - 1e-9).all()
    assert np.array_equal(Probe(*honest).erased(["pad"])["pad"].drops["random"], found.drops["random"])


def test_attention_and_input_agree_without_mixing(honest):
    """With a word not attended, a model without mixing answers as with its weight set to zero."""
    a, b = Probe(*honest).erased(("pad", "attention"), ["alpha"]).values()
    assert a.drops["alpha"] == pytest.approx(b.drops["alpha"], abs=1e-6)


def test_where_the_time_is_up_the_first_texts_are_answered_as_in_a_longer_run(honest):
    whole = measure(Probe(*honest))
    # weights take 0.1 of the time each, words half of it
    until = {0.1: lambda done: True, 0.5: lambda done: done < 8}.__getitem__
    part = measure(Probe(*honest), until=until)
    assert (len(whole), len(part)) == (12, 8)
    for way in part.inputs:
        for name, drops in part.erased[way].drops.items():
            assert np.array_equal(drops, whole.erased[way].drops[name][:8])
    # what needs the closed form alone covers all texts
    assert len(part.erased["attention"]) == len(part.right) == len(part.moved) == 12
