"""Borders, statuses and the overall answer."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib.audit.battery import estimate
from attnlib.audit.rules import (
    FAIL,
    MAY,
    MUST_NOT,
    OPEN,
    PASS,
    UNDETERMINED,
    judge,
    not_applicable,
    overall,
    rules,
    unmeasured,
)


def row(id: str, mean: float, spread: float = 0.05, n: int = 400):
    values = mean + spread * np.random.default_rng(0).standard_normal(n)
    return judge(rules().objection(id), estimate(values - values.mean() + mean))


def test_the_rules_are_those_of_the_file_and_each_has_a_pass_past_its_fail():
    assert len(rules().objections) == 8
    for o in rules().objections:
        assert o.past(o.passes, o.passes)
        assert o.past(o.passes, o.fails)
        assert not o.past(o.fails, o.passes)
    assert rules().objection("words").border == "pass ≥ 0.5, fail < 0.2"
    assert rules().objection("sign").border == "pass ≤ 0.15, fail > 0.35"


@pytest.mark.parametrize(
    ("id", "value", "status"),
    [("words", 0.8, PASS), ("words", 0.1, FAIL), ("words", 0.35, OPEN), ("sign", 0.05, PASS), ("sign", 0.5, FAIL),
     ("alternatives", 0.9, FAIL), ("reading", -0.05, PASS), ("reading", -0.5, FAIL)],
)  # fmt: skip
def test_a_row_is_decided_by_its_whole_interval(id, value, status):
    assert row(id, value).status == status


def test_an_interval_across_a_border_stays_open_and_says_how_many_texts_settle_it():
    found = row("words", 0.52, spread=1.0, n=200)
    assert found.status == OPEN
    assert "texts would settle it" in found.settles
    assert "between the borders" in row("words", 0.35).settles
    needed = rules().objection("needed")
    same = judge(needed, estimate(np.zeros(120), (0, 1)))
    assert same.status == OPEN
    assert "460 texts" in same.settles
    assert judge(rules().objection("order"), estimate(np.zeros(120), (0, 1))).status == FAIL


def test_fewer_texts_than_the_gate_asks_for_decide_nothing():
    few = judge(rules().objection("order"), estimate(np.zeros(99), (0, 1)))
    assert few.status == OPEN
    assert np.isnan(few.p)
    assert "At least 100 texts" in few.settles


def test_overall():
    good = [row(o.id, o.passes + (0.2 if o.direction == "more" else -0.1)) for o in rules().objections]
    assert overall(good, True)[0] == MAY
    assert overall(good, False)[0] == UNDETERMINED
    bad = [*good[:3], row("words", 0.0), *good[4:]]
    assert overall(bad, False)[0] == MUST_NOT  # rows that rest on a gate are open by then
    answer, rows = overall(bad, True)
    assert answer == MUST_NOT
    assert rows[3].p_holm < 0.05
    skipped = [not_applicable(good[0].objection, "no"), *good[1:]]
    assert overall(skipped, True)[0] == MAY
    late = [unmeasured(good[0].objection, "More minutes."), *good[1:]]
    assert overall(late, True)[0] == UNDETERMINED


def test_one_weak_failure_among_many_is_not_enough_after_holm():
    o = rules().objection("words")
    values = np.random.default_rng(1).normal(0, 1, 300)
    values = values - values.mean() + o.fails - 1.72 * values.std() / np.sqrt(300)
    weak = judge(o, estimate(values))
    rest = [p for p in rules().objections if p.id != "words"]
    others = [row(p.id, p.passes + (0.2 if p.direction == "more" else -0.1)) for p in rest]
    answer, rows = overall([weak, *others], True)
    assert weak.status == FAIL
    assert weak.p < 0.05
    # the others are far from failing, so that Holm multiplies the smallest p-value by eight
    assert rows[0].p_holm == pytest.approx(8 * weak.p)
    assert answer == UNDETERMINED
