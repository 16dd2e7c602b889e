"""Verdicts follow from the interval, the border and the paper's value, never from the estimate alone."""

from __future__ import annotations

import json
import math

import pytest

from attnlib.stats.inference import Effect
from attnlib.studies.ledger import (
    ABSENT,
    NotTested,
    Printed,
    Rule,
    judge,
    judged,
    ledger,
    size_of,
    tally,
    together,
)
from attnlib.utils.errors import ConfigError

SAID = {"says": "Lin lowers the fraction.", "where": "Table 4", "test": "Lin minus none"}


def effect(low: float, high: float, **more) -> Effect:
    usual = {"trainings": 6, "texts": 200, "cells": 2, "n": 1200, "from_trainings": 1e-4, "from_texts": 1e-5}
    return Effect((low + high) / 2, low, high, **{**usual, **more})


def claim_of(found, direction="greater", border=0.0, paper=None, **said):
    rule = Rule("t-1", **SAID, effect=lambda _: found, direction=direction, border=border, paper=paper, **said)
    return judged(rule, None, paper="Paper 2021", setting="planted")


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
        (math.nan, 0.4, "greater", 0.0, "undetermined"),
    ],
)
def test_direction(low: float, high: float, direction: str, border: float, verdict: str) -> None:
    assert judge(low, high, direction, border) == verdict


@pytest.mark.parametrize(
    ("low", "high", "printed", "direction", "verdict", "size"),
    [
        (-0.045, 0.007, -0.15, "less", "undetermined", "smaller"),
        (-0.20, -0.10, -0.15, "less", "reproduced", "as large"),
        (-0.40, -0.20, -0.15, "less", "reproduced", "larger"),
        (0.05, 0.10, -0.15, "less", "not reproduced", "smaller"),
        (0.1, 0.3, 0.2, "greater", "reproduced", "as large"),
        (0.1, 0.15, 0.2, "greater", "reproduced", "smaller"),
        (0.3, 0.4, 0.2, "greater", "reproduced", "larger"),
        (-0.1, 0.3, 0.2, "greater", "undetermined", ""),
        (0.1, 0.3, math.nan, "greater", "reproduced", "no printed value"),
        (-0.01, 0.01, 0.0, "within", "reproduced", "no printed value"),
        (math.nan, math.nan, 0.2, "greater", "undetermined", ""),
    ],
)
def test_size(low: float, high: float, printed: float, direction: str, verdict: str, size: str) -> None:
    assert size_of(low, high, printed, direction, verdict) == size


def test_together_one_failure_refutes_and_one_doubt_suspends() -> None:
    assert together(["reproduced", "reproduced"]) == "reproduced"
    assert together(["reproduced", "undetermined"]) == "undetermined"
    assert together(["undetermined", "not reproduced"]) == "not reproduced"
    assert together(["reproduced", "not tested"]) == "reproduced"
    assert together([]) == "not tested"


def test_a_claim_answers_both_questions() -> None:
    claim = claim_of(effect(-0.045, 0.007), "less", paper=lambda _: Printed(-0.15, "Table 4, mean"))
    assert (claim.verdict, claim.size, claim.decided) == ("undetermined", "smaller", True)
    assert (claim.paper_effect, claim.paper_where) == (-0.15, "Table 4, mean")
    assert claim.settles == ""


def test_an_open_claim_says_what_would_settle_it() -> None:
    claim = claim_of(effect(-0.02, 0.10))
    assert not claim.decided
    assert "trainings" in claim.settles
    assert "now 6 and 200" in claim.settles


def test_the_least_favourable_case_is_shown_and_all_must_hold() -> None:
    cases = {"lstm": effect(0.1, 0.3), "mlp": effect(-0.1, 0.2), "cnn": effect(0.3, 0.4)}
    claim = claim_of(cases, paper=lambda _: {"mlp": Printed(0.5, "Figure 2, MLP")})
    assert (claim.verdict, claim.case) == ("undetermined", "mlp")
    assert claim.size == "smaller"
    refuted = claim_of(cases | {"gru": effect(-0.3, -0.2)})
    assert (refuted.verdict, refuted.case) == ("not reproduced", "gru")


@pytest.mark.parametrize("found", [{}, Effect(math.nan)], ids=["no case", "no number"])
def test_nothing_to_judge_by_is_not_tested(found) -> None:
    claim = claim_of(found)
    assert (claim.verdict, claim.note, claim.n) == ("not tested", ABSENT, 0)


def test_a_rule_may_say_why_it_cannot_be_tested() -> None:
    def refuse(_):
        raise NotTested("This run has one training of BERT.")

    rule = Rule("t-1", **SAID, effect=refuse)
    claim = judged(rule, None, paper="P", setting="s")
    assert (claim.verdict, claim.note) == ("not tested", "This run has one training of BERT.")


def test_few_texts_decide_nothing() -> None:
    assert claim_of(effect(0.1, 0.2, texts=12)).verdict == "not tested"


def test_one_training_decides_nothing() -> None:
    claim = claim_of(Effect(0.4, trainings=1, texts=50, n=50))
    assert claim.verdict == "undetermined"
    assert "no interval" in claim.note


def test_a_second_look_asks_for_more() -> None:
    rule = Rule("t-1", **SAID, effect=lambda _: effect(0.001, 0.3, df=5.0))
    verdicts = [judged(rule, None, paper="P", setting="s", looks=looks).verdict for looks in (1, 2)]
    assert verdicts == ["reproduced", "undetermined"]


def test_the_border_is_said_once_by_the_rule() -> None:
    rule = Rule("t-1", **SAID, effect=lambda _: None, direction="within", border=0.02, unit="points")
    assert rule.decided_by == "Lin minus none, within ±0.02 points"


def test_what_a_rule_cannot_be() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'greater'"):
        Rule("t-1", **SAID, effect=lambda _: None, direction="greator")
    with pytest.raises(ConfigError, match="positive border"):
        Rule("t-1", **SAID, effect=lambda _: None, direction="within")


def test_the_tally_counts_answers_and_chance() -> None:
    rules = [
        Rule(f"t-{k}", **SAID, effect=lambda _, e=e: e, paper=lambda _: Printed(0.5, "Table 1"))
        for k, e in enumerate([effect(0.1, 0.6), effect(-0.1, 0.2), effect(-0.1, 0.7), {}])
    ]
    claims = ledger(rules, None, paper="P", setting="s")
    said = tally(claims)
    assert "Of 4 claims: **1** reproduced, **0** not reproduced, **2** undetermined, **1** not tested" in said
    assert "2 of 3 tested claims got an answer" in said
    assert [claim.id for claim in claims] == ["t-0", "t-1", "t-2", "t-3"]
    json.dumps(claims[0].to_dict())
