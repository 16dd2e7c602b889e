"""Borders, statuses and the overall answer."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from attnlib.auditing.probe import Erased
from attnlib.auditing.rows import Measured, gates
from attnlib.auditing.rules import FAIL, MAY, MUST_NOT, OPEN, PASS, SKIPPED, Row, estimate, judge, overall, rules

RULES = rules()["objections"]


def row(id: str, mean: float, spread: float = 0.05, n: int = 400):
    values = mean + spread * np.random.default_rng(0).standard_normal(n)
    return judge(RULES[id], estimate(values - values.mean() + mean))


def well_past(o):
    """A value on the good side of the pass border."""
    return o.passes + (0.2 if o.direction == "greater" else -0.1)


def test_the_rules_are_those_of_the_file_and_each_has_a_pass_past_its_fail():
    assert len(RULES) == 8
    for o in RULES.values():
        assert o.past(o.passes, o.passes)
        assert o.past(o.passes, o.fails)
        assert not o.past(o.fails, o.passes)
    assert RULES["words"].border == "pass ≥ 0.5, fail < 0.2"
    assert RULES["sign"].border == "pass ≤ 0.15, fail > 0.35"


@pytest.mark.parametrize(
    ("id", "value", "status"),
    [("words", 0.8, PASS), ("words", 0.1, FAIL), ("words", 0.35, OPEN), ("sign", 0.05, PASS), ("sign", 0.5, FAIL),
     ("alternatives", 0.9, FAIL), ("reading", -0.05, PASS), ("reading", -0.5, FAIL)],
)  # fmt: skip
def test_a_row_is_decided_by_its_whole_interval(id, value, status):
    assert row(id, value).status == status


def test_an_interval_across_a_border_stays_open_and_says_what_would_settle_it():
    found = row("words", 0.52, spread=1.0, n=200)
    assert found.status == OPEN
    assert "texts would settle it" in found.settles
    assert "between the borders" in row("words", 0.35).settles
    same = judge(RULES["needed"], estimate(np.zeros(120), (0, 1)))
    assert same.status == OPEN
    assert "All texts agree so far" in same.settles
    order = RULES["order"]
    assert judge(order, estimate(np.zeros(120), (0, 1))).status == FAIL
    few = judge(order, estimate(np.zeros(99), (0, 1)))
    assert few.status == OPEN, "fewer texts than the gate asks for decide nothing"
    assert np.isnan(few.p)
    assert "At least 100 texts" in few.settles


def test_overall():
    good = [row(o.id, well_past(o)) for o in RULES.values()]
    assert overall(good, True)[0] == MAY
    assert overall(good, False)[0] == OPEN
    bad = [*good[:3], row("words", 0.0), *good[4:]]
    assert overall(bad, False)[0] == MUST_NOT  # rows that rest on a gate are open by then
    assert overall(bad, True)[1][3].p_holm < 0.05
    assert overall([Row(good[0].objection, SKIPPED), *good[1:]], True)[0] == MAY
    assert overall([Row(good[0].objection, OPEN), *good[1:]], True)[0] == OPEN


def test_one_weak_failure_among_many_is_not_enough_after_holm():
    o = RULES["words"]
    values = np.random.default_rng(1).normal(0, 1, 300)
    values = values - values.mean() + o.fails - 1.72 * values.std() / np.sqrt(300)
    weak = judge(o, estimate(values))
    rest = [p for p in RULES.values() if p.id != "words"]
    others = [row(p.id, well_past(p)) for p in rest]
    answer, rows = overall([weak, *others], True)
    assert weak.status == FAIL
    assert weak.p < 0.05
    # the others are far from failing, so that Holm multiplies the smallest p-value by eight
    assert rows[0].p_holm == pytest.approx(8 * weak.p)
    assert answer == OPEN


def measured(n: int, right: float, kept: float, reach: float = 0.3, cut: int = 0) -> Measured:
    """n texts, half of them of the largest class: shares decided rightly, whole and without random words."""
    drops = {"random": np.zeros((n, 1)), "best": np.full((n, 1), reach) + np.resize([-0.05, 0.05], (n, 1))}
    masked = (np.arange(n) < round(kept * n)).astype(float)[:, None]
    erased = dict.fromkeys(("unk", "pad"), Erased(drops, masked, [np.zeros(3)] * n))
    whole = (np.arange(n) < round(right * n)).astype(float)
    largest = np.resize([1.0, 0.0], n)
    return Measured("alpha", whole, largest, erased, ("unk", "pad"), [np.zeros(3)] * n, cut=cut)


def status(found: Measured) -> list[str]:
    return [gate.status for gate in gates(found)]


@pytest.mark.parametrize(
    ("n", "right", "kept", "element"),
    [(2000, 0.9, 0.8, PASS), (2000, 0.9, 0.9, PASS), (2000, 0.9, 0.55, FAIL),
     (200, 0.9, 0.701, OPEN), (200, 0.9, 0.699, OPEN), (8, 1.0, 1.0, OPEN)],
)  # fmt: skip
def test_the_gate_of_removals_is_decided_by_its_interval_on_enough_texts(n, right, kept, element):
    """Half of the gain over the largest class must survive: 50.1% decides nothing, nor do 8 texts."""
    gate = gates(measured(n, right, kept))[3]
    assert gate.status == element
    assert gate.effect.low < gate.effect.estimate < gate.effect.high
    assert gate.effect.estimate == pytest.approx((kept - 0.5) / (right - 0.5), abs=0.01)
    assert bool(gate.settles) == (element == OPEN)
    assert "At least 100 texts" in gate.told if n < 100 else "random masking" in gate.note


@pytest.mark.parametrize(
    ("gate", "told", "expected"),
    [(1, {"right": 0.53, "kept": 0.5}, OPEN), (1, {"right": 0.3, "kept": 0.3}, FAIL), (2, {"cut": 38}, OPEN),
     (2, {"cut": 80}, FAIL), (2, {"cut": 10}, PASS), (4, {"reach": 0.05}, OPEN), (4, {"reach": 0.01}, FAIL)],
)  # fmt: skip
def test_the_other_gates_are_decided_by_intervals(gate, told, expected):
    assert status(measured(400, **{"right": 0.9, "kept": 0.9} | told))[gate] == expected
    assert status(measured(400, 0.9, 0.9)) == [PASS] * 5
    assert status(measured(40, 0.9, 0.9)) == [FAIL] + [OPEN] * 4


def test_the_interval_of_the_gate_of_removals_covers_the_truth():
    """Texts and their masking are drawn; 75% of the gain survives."""
    rng, hits = np.random.default_rng(0), 0
    for _ in range(300):
        found = measured(150, 0.9, 0.9)
        largest = (rng.random(150) < 0.5).astype(float)
        right = (rng.random(150) < 0.9).astype(float)
        masked = np.where(rng.random(150) < 0.25, largest, right)[:, None]
        erased = {way: replace(e, masked=masked) for way, e in found.erased.items()}
        share = gates(replace(found, right=right, largest=largest, erased=erased))[3].effect
        hits += share.low <= 0.75 <= share.high
    assert 0.85 <= hits / 300 <= 0.95
