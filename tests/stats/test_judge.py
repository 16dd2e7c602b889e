"""What an interval says about a border, alone and as one of several cases."""

from __future__ import annotations

import math

import pytest
from scipy.stats import norm

from attnlib.stats.inference import Effect
from attnlib.stats.judge import decide, holds
from attnlib.utils.errors import ConfigError


def effect(low: float, high: float) -> Effect:
    """An effect with that 95% interval, normal at other levels."""
    middle, half = (low + high) / 2, (high - low) / 2

    def again(level: float) -> Effect:
        reach = half * norm.ppf((1 + level) / 2) / norm.ppf(0.975)
        return Effect(middle, middle - reach, middle + reach)

    return Effect(middle, low, high, again=again)


@pytest.mark.parametrize(
    ("low", "high", "direction", "border", "held"),
    [
        (0.1, 0.4, "greater", 0.0, True),
        (-0.4, -0.1, "greater", 0.0, False),
        (-0.1, 0.4, "greater", 0.0, None),
        (0.0, 0.4, "greater", 0.0, None),
        (-0.4, -0.1, "less", 0.0, True),
        (0.1, 0.4, "less", 0.0, False),
        (0.1, 0.4, "less", 0.2, None),
        (-0.01, 0.01, "within", 0.02, True),
        (-0.03, 0.01, "within", 0.02, None),
        (-0.05, -0.03, "within", 0.02, False),
        (math.nan, 0.4, "greater", 0.0, None),
    ],
)
def test_direction(low: float, high: float, direction: str, border: float, held: bool | None) -> None:
    assert holds(low, high, direction, border) is held


def test_what_no_interval_is() -> None:
    with pytest.raises(ConfigError, match="Did you mean 'greater'"):
        holds(0.1, 0.4, "greator")
    with pytest.raises(ConfigError, match="None of the cases"):
        decide({"a": Effect(math.nan)}, "greater")


def test_all_cases_hold_or_the_least_favourable_decides() -> None:
    good = {"a": effect(0.1, 0.3), "b": effect(0.05, 0.2)}
    found = decide(good, "greater")
    assert (found.holds, found.case, found.level) == (True, "b", 0.95)
    opened = decide(good | {"c": effect(-0.1, 0.2)}, "greater")
    assert (opened.holds, opened.case) == (None, "c")
    refuted = decide(good | {"c": effect(-0.3, -0.2)}, "greater")
    assert (refuted.holds, refuted.case, round(refuted.level, 4)) == (False, "c", 0.9833)


@pytest.mark.parametrize("last", [(-0.3, -0.001), (-0.1, 0.2), (-0.3, -0.2), (0.1, 0.3)])
@pytest.mark.parametrize("direction", ["greater", "less"])
def test_the_interval_shown_is_the_interval_that_decides(last, direction) -> None:
    sign = 1 if direction == "greater" else -1
    ends = [sorted((sign * low, sign * high)) for low, high in ((0.1, 0.2), last, (0.1, 0.4))]
    found = decide({str(k): effect(*pair) for k, pair in enumerate(ends)}, direction)
    assert holds(found.effect.low, found.effect.high, direction) is found.holds


def test_a_case_without_a_value_holds_the_others_back() -> None:
    found = decide({"lstm": effect(0.1, 0.2), "transformer": Effect(math.nan)}, "greater")
    assert (found.holds, found.missing) == (None, ("transformer",))
