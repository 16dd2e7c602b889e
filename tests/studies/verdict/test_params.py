"""The fraction of the factorial holds every pair of parts, and is balanced where it can be."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from attnlib.studies.verdict.params import fraction, pairs, whole

BINARY = {"a": "xy", "b": "xy", "c": "xy", "d": "xy"}
MIXED = {
    "attention": ["additive", "dot", "deep"],
    "projection": ["softmax", "sparsemax"],
    "scaling": ["none", "lin"],
}


def no_masking(row):
    return not (row["encoder"] == "mlp" and row["regulariser"] == "mlm")


def test_the_half_fraction_is_orthogonal_of_strength_three():
    rows = fraction(BINARY)
    assert len(rows) == 8
    for three in combinations(BINARY, 3):
        assert set(Counter(tuple(row[f] for f in three) for row in rows).values()) == {1}


@pytest.mark.parametrize("factors", [BINARY, MIXED, {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1, 2], "d": [0, 1]}])
def test_every_pair_occurs_in_fewer_rows_than_the_whole(factors):
    rows, every = fraction(factors), whole(factors)
    assert set().union(*map(pairs, rows)) == set().union(*map(pairs, every))
    assert len(rows) < len(every)
    assert all(row in every for row in rows)


def test_what_cannot_work_is_left_out_and_every_other_pair_is_there():
    factors = {"encoder": ["mlp", "lstm"], "regulariser": ["none", "tying", "mlm"], "scaling": ["none", "lin"]}
    rows = fraction(factors, no_masking)
    assert all(map(no_masking, rows))
    assert set().union(*map(pairs, rows)) == set().union(*map(pairs, whole(factors, no_masking)))
