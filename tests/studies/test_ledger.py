"""Verdicts follow from the interval and the rule, never from the estimate."""

from __future__ import annotations

import math

import pytest

from attnlib.studies.ledger import VERDICTS, Claim, judge, not_tested, tally, together
from attnlib.utils.errors import ConfigError

SAID = ("paper", "claim", "where", "test", "setting")
CLAIM = dict(paper="tasc", claim="c", where="Table 4", test="t", setting="planted", n=3, verdict="undetermined")


@pytest.mark.parametrize(
    ("low", "high", "direction", "border", "verdict"),
    [
        (0.1, 0.4, "greater", 0.0, "reproduced"),
        (-0.4, -0.1, "greater", 0.0, "not reproduced"),
        (-0.1, 0.4, "greater", 0.0, "undetermined"),
        (0.0, 0.4, "greater", 0.0, "undetermined"),
        (-0.4, -0.1, "less", 0.0, "reproduced"),
        (0.1, 0.4, "less", 0.0, "not reproduced"),
        (0.1, 0.4, "less", 0.2, "undetermined"),
        (0.1, 0.15, "less", 0.2, "reproduced"),
        (-0.01, 0.01, "within", 0.02, "reproduced"),
        (-0.03, 0.01, "within", 0.02, "undetermined"),
        (0.03, 0.05, "within", 0.02, "not reproduced"),
        (-0.05, -0.03, "within", 0.02, "not reproduced"),
        (math.nan, 0.5, "greater", 0.0, "undetermined"),
    ],
)
def test_judge(low: float, high: float, direction: str, border: float, verdict: str) -> None:
    assert judge(low, high, direction, border) == verdict


def test_judge_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'greater'"):
        judge(0, 1, "greter")
    with pytest.raises(ConfigError, match="positive border"):
        judge(0, 1, "within")
    with pytest.raises(ConfigError, match="from low to high"):
        judge(1, 0, "less")


def test_one_failure_refutes_and_one_doubt_suspends() -> None:
    assert together(["reproduced", "reproduced"]) == "reproduced"
    assert together(["reproduced", "undetermined", "not reproduced"]) == "not reproduced"
    assert together(["reproduced", "undetermined"]) == "undetermined"
    assert together(["reproduced", "not tested"]) == "reproduced"
    assert together(["not tested"]) == together([]) == "not tested"


def test_verdicts_are_counted_in_a_sentence() -> None:
    numbers = {"effect": 0.1, "low": 0.0, "high": 0.2}
    ledger = [Claim(id=str(i), **{**CLAIM, "verdict": v}, **numbers) for i, v in enumerate(VERDICTS[:2] * 2)]
    assert tally(ledger) == (
        "Of 4 claims: **2** reproduced, **2** not reproduced, **0** undetermined, **0** not tested."
    )


def test_unknown_verdict_is_refused() -> None:
    with pytest.raises(ConfigError, match="Unknown verdict 'reproducd'"):
        Claim(id="a", effect=0.0, low=0.0, high=0.0, **{**CLAIM, "verdict": "reproducd"})


def test_a_claim_that_was_not_tested_has_no_number_and_says_why():
    said = {k: CLAIM[k] for k in SAID}
    claim = not_tested("No model of this run learned anything.", id="1", n_of="models", **said)
    assert (claim.verdict, claim.n, math.isnan(claim.effect)) == ("not tested", 0, True)
    assert claim.note == "No model of this run learned anything."
