"""The one judge: what an interval says about a border, for the claims of papers and for the rows of an audit.

A statement about *every* one of k cases holds where each of them is past the border, and fails where one is short
of it by its interval of level 1 - (1 - level) / k, which is the one that is shown then.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from attnlib.stats.inference import LEVEL, Effect
from attnlib.utils.errors import ConfigError, one_of

Direction = Literal["greater", "less", "within"]
DIRECTIONS: tuple[Direction, ...] = get_args(Direction)


def holds(low: float, high: float, direction: Direction, border: float = 0.0) -> bool | None:
    """Whether all of an interval is on the claimed side of a border; None where it covers the border or is none.

    `within` claims the range between -border and border.

    >>> holds(0.1, 0.4, "greater"), holds(-0.4, -0.1, "greater"), holds(-0.1, 0.4, "greater")
    (True, False, None)
    """
    one_of("direction", direction, DIRECTIONS)
    if direction == "within":
        inside, outside = -border < low and high < border, low >= border or high <= -border
    elif direction == "less":
        inside, outside = high < border, low > border
    else:
        inside, outside = low > border, high < border
    return True if inside else False if outside else None


@dataclass(frozen=True)
class Decision:
    """`holds`, the least favourable case with the interval (of `level`) that decided, cases without a value."""

    holds: bool | None
    case: str
    effect: Effect
    level: float
    missing: tuple[str, ...] = ()


def decide(cases: Mapping[str, Effect], direction: Direction, border: float = 0.0) -> Decision:
    """Whether something holds in each of several cases (of one, if there is one), by their intervals."""
    known = {name: effect for name, effect in cases.items() if not math.isnan(effect.estimate)}
    if not known:
        raise ConfigError(f"None of the cases {sorted(cases)} has a value to judge.")
    strict = round(1 - (1 - LEVEL) / len(known), 12)
    counted = {name: effect.at(strict) for name, effect in known.items()}

    def asked(effects: Mapping[str, Effect]) -> dict[str, bool | None]:
        return {name: holds(e.low, e.high, direction, border) for name, e in effects.items()}

    def worst(names: list[str]) -> str:
        sign = {"greater": -1, "less": 1}.get(direction)
        return max(names, key=lambda n: abs(known[n].estimate) if sign is None else sign * known[n].estimate)

    missing = tuple(name for name in cases if name not in known)
    alone, together = asked(known), asked(counted)
    if all(alone.values()):
        name = worst(list(known))
        return Decision(None if missing else True, name, known[name], LEVEL, missing)
    failed = [name for name, held in together.items() if held is False]
    name = worst(failed or [name for name, held in alone.items() if not held])
    return Decision(False if failed else None, name, counted[name], strict, missing)
