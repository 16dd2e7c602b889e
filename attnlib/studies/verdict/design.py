"""A fraction of a factorial that still has every pair of parts.

With k factors of m levels, the rows whose level numbers sum to a multiple of m are an orthogonal array of strength
k - 1: any k - 1 factors appear in every combination, equally often (Box & Hunter 1961 for m = 2: the half fraction,
whose main effects are free of two-factor interactions from k = 4 on). With unequal numbers of levels, or with
combinations that cannot work, pairs may be missing; rows are then added until none is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations, product
from typing import Any

Row = dict[str, Any]


def whole(factors: Mapping[str, Sequence[Any]], works: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """Every combination that works, in the order of the levels."""
    rows = (dict(zip(factors, levels, strict=True)) for levels in product(*factors.values()))
    return [row for row in rows if works(row)]


def fraction(factors: Mapping[str, Sequence[Any]], works: Callable[[Row], bool] = lambda row: True) -> list[Row]:
    """A part of the combinations that work, in which every pair of levels that can work occurs.

    >>> rows = fraction({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    >>> [tuple(row.values()) for row in rows]
    [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    most = max(map(len, factors.values()))
    candidates = whole(factors, works)
    chosen = [row for row in candidates if sum(factors[f].index(row[f]) for f in factors) % most == 0]
    rest = [row for row in candidates if row not in chosen]
    missing = set().union(*map(pairs, candidates)) - set().union(*map(pairs, chosen))
    while missing:
        best = max(rest, key=lambda row: len(pairs(row) & missing))
        chosen.append(best)
        missing -= pairs(best)
    return sorted(chosen, key=candidates.index)


def pairs(row: Row) -> set[frozenset]:
    """The pairs of levels of a row."""
    return {frozenset(two) for two in combinations(row.items(), 2)}
