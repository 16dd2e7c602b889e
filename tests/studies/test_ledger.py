"""Verdicts follow from the interval, the border and the paper's value, never from the estimate alone."""

from __future__ import annotations

import json
import math

import pytest
from scipy.stats import norm

from attnlib.stats.inference import Effect
from attnlib.studies.ledger import (
    Claim,
    Printed,
    judged,
    ledger,
    size_of,
    tally,
)
from attnlib.studies.quantity import ABSENT
from attnlib.utils.errors import ConfigError

SAID = {"says": "Lin lowers the fraction.", "where": "Table 4", "test": "Lin minus none"}


def effect(low: float, high: float, **more) -> Effect:
    """An effect with that 95% interval, normal at other levels."""
    usual = {"trainings": 6, "texts": 200, "cells": 2, "n": 1200, "from_trainings": 1e-4, "from_texts": 1e-5}
    middle, half = (low + high) / 2, (high - low) / 2

    def again(level: float) -> Effect:
        reach = half * norm.ppf((1 + level) / 2) / norm.ppf(0.975)
        return Effect(middle, middle - reach, middle + reach, **{**usual, **more})

    return Effect(middle, low, high, **{**usual, **more}, again=again)


def claim_of(found, direction="greater", border=0.0, paper=None, **said):
    rule = Claim(**SAID, id="t-1", effect=lambda _: found, direction=direction, border=border, paper=paper, **said)
    return judged(rule, None, paper="Paper 2021", setting="planted")


@pytest.mark.parametrize(
    ("low", "high", "printed", "direction", "border", "verdict", "size"),
    [
        (-0.045, 0.007, -0.15, "less", 0.0, "undetermined", "smaller"),
        (-0.20, -0.10, -0.15, "less", 0.0, "reproduced", "as large"),
        (-0.40, -0.20, -0.15, "less", 0.0, "reproduced", "larger"),
        (0.05, 0.10, -0.15, "less", 0.0, "not reproduced", "smaller"),
        (0.1, 0.3, 0.2, "greater", 0.0, "reproduced", "as large"),
        (0.1, 0.15, 0.2, "greater", 0.0, "reproduced", "smaller"),
        (0.3, 0.4, 0.2, "greater", 0.0, "reproduced", "larger"),
        (-0.1, 0.3, 0.2, "greater", 0.0, "undetermined", ""),
        (0.1, 0.3, math.nan, "greater", 0.0, "reproduced", "no printed value"),
        (-0.01, 0.01, 0.0, "within", 0.02, "reproduced", "no printed value"),
        (math.nan, math.nan, 0.2, "greater", 0.0, "undetermined", ""),
        # no worse than so much: the paper's 0 is not a size to fall short of
        (-0.035, -0.005, 0.0, "greater", -0.03, "undetermined", ""),
        (0.06, 0.10, 0.02, "less", 0.05, "not reproduced", ""),
        # the paper's own number lies on the other side
        (-0.12, -0.08, -0.17, "greater", 0.0, "not reproduced", ""),
    ],
)
def test_size(low, high, printed, direction, border, verdict, size) -> None:
    rule = Claim(**SAID, id="t-1", effect=lambda _: None, direction=direction, border=border)
    assert size_of(effect(low, high), rule, printed, verdict) == size


@pytest.mark.parametrize(
    ("low", "high", "printed", "unit", "border", "size"),
    [
        (-0.03, 0.049, math.nan, "share", 0.0, "negligible"),
        (-0.03, 0.051, math.nan, "share", 0.0, "no printed value"),
        (-0.09, 0.09, math.nan, "τ", 0.0, "negligible"),
        (-4.0, 4.9, math.nan, "points", 0.0, "negligible"),
        (-1e-9, 1e-9, math.nan, "nats", 0.0, "no printed value"),  # no scale to be a twentieth of
        (0.45, 0.52, math.nan, "share", 0.5, "no printed value"),  # its border is not zero
        (-0.03, 0.04, -0.17, "share", 0.0, "negligible"),  # the paper's own number lies on the other side
        (-0.03, 0.04, 0.17, "share", 0.0, "smaller"),
        (-0.03, 0.04, 0.03, "share", 0.0, "negligible"),  # the paper's is negligible too
    ],
)
def test_an_open_direction_may_be_negligible(low, high, printed, unit, border, size) -> None:
    rule = Claim(**SAID, id="t-1", effect=lambda _: None, border=border, unit=unit)
    assert size_of(effect(low, high), rule, printed, "undetermined") == size


def test_an_open_claim_says_what_would_settle_it() -> None:
    claim = claim_of(effect(-0.02, 0.10))
    assert not claim.decided
    assert "trainings" in claim.settles
    assert "now 6 and 200" in claim.settles


def test_the_least_favourable_case_is_shown_and_all_must_hold() -> None:
    cases = {"lstm": effect(0.1, 0.3), "mlp": effect(-0.1, 0.2), "cnn": effect(0.3, 0.4)}
    claim = claim_of(cases, paper=lambda _: {"mlp": Printed(0.5, "Figure 2, MLP")})
    assert (claim.verdict, claim.case, claim.size) == ("undetermined", "mlp", "smaller")
    refuted = claim_of(cases | {"gru": effect(-0.3, -0.2)})
    assert (refuted.verdict, refuted.case) == ("not reproduced", "gru")
    assert "98.8% interval shown" in refuted.note


def test_a_case_without_a_value_holds_the_claim_back() -> None:
    claim = claim_of({"lstm": effect(0.1, 0.2), "transformer": Effect(math.nan)})
    assert claim.verdict == "undetermined"
    assert "transformer" in claim.note


@pytest.mark.parametrize(("low", "verdict"), [(0.05, "reproduced"), (-0.1, "undetermined")])
def test_what_must_hold_as_well_decides_where_it_is_shown(low, verdict) -> None:
    claim = Claim(**SAID, id="t-1", effect=lambda _: effect(0.1, 0.3), also=lambda _: effect(low, 0.2))
    found = judged(claim, None)
    assert found.verdict == verdict
    assert (found.low, found.case) == ((0.1, "") if low > 0 else (low, "what must be there"))
    assert bool(found.settles) == (low < 0)


@pytest.mark.parametrize("found", [{}, Effect(math.nan)], ids=["no case", "no number"])
def test_nothing_to_judge_by_is_not_tested(found) -> None:
    claim = claim_of(found)
    assert (claim.verdict, claim.note, claim.n) == ("not tested", ABSENT, 0)


def test_what_a_rule_cannot_be() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'greater'"):
        Claim(**SAID, id="t-1", effect=lambda _: None, direction="greator")
    with pytest.raises(ConfigError, match="positive border"):
        Claim(**SAID, id="t-1", effect=lambda _: None, direction="within")


def test_the_tally_counts_answers_and_chance() -> None:
    rules = [
        Claim(**SAID, id=f"t-{k}", effect=lambda _, e=e: e, paper=lambda _: Printed(0.5, "Table 1"))
        for k, e in enumerate([effect(0.1, 0.6), effect(-0.1, 0.2), effect(-0.1, 0.7), {}])
    ]
    claims = ledger(rules, None, paper="P", setting="s")
    said = tally(claims)
    assert "Of 4 claims: **1** reproduced, **0** not reproduced, **2** undetermined, **1** not tested" in said
    assert "For 1 of the undetermined" in said
    assert [claim.id for claim in claims] == ["t-0", "t-1", "t-2", "t-3"]
    json.dumps(claims[0].to_dict())
