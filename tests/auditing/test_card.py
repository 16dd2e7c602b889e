"""What a card says: an answer and a next step for every outcome, gates that do not hold among them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from attnlib.auditing.card import Card
from attnlib.auditing.rows import INPUT, behind
from attnlib.auditing.rules import FAIL, OPEN, PASS, Row, estimate, judge, overall, rules
from attnlib.auditing.trainings import Repaired

EVERY = tuple(rules()["objections"])


def gate(name, note, rows=INPUT, status=FAIL, **more):
    return Row(rules()["gates"][name], status, note=note, rows=rows, **more)


REMOVALS, TEXTS = gate("removals", "it keeps 10%"), gate("texts", "64 texts")


def readings(**shares):
    rows = [
        {"ranking": name, "name": name.replace("_", " "), "operator": "unk", "value": value, "low": value - 0.05,
         "high": value + 0.05, "other": value, "weights": value}
        for name, value in shares.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def repaired(name="masking in training", *, sound=PASS, f1_change=-0.005, **shares):
    return Repaired(name, "words hidden", readings(**(shares or {"alpha": 0.3, "input_x_grad": 0.8})), sound, 0.85,
                    f1_change, 1.0)  # fmt: skip


def card(values, gates=(), repairs=(), **shares):
    """A card whose rows have these true values (default: past the pass border)."""
    rng = np.random.default_rng(0)
    rows = []
    for o in rules()["objections"].values():
        value = values.get(o.id, o.passes + (0.2 if o.direction == "greater" else -0.1))
        noise = 0.05 * rng.standard_normal(400)
        rows.append(judge(o, estimate(noise - noise.mean() + value)))
    verdict, rows = overall(behind(rows, gates), all(one.status == PASS for one in gates))
    shown = readings(**(shares or {"alpha": 0.1, "input_x_grad": 0.7, "leave-one-out": 0.9}))
    return Card(verdict, rows, list(gates), None, shown, "alpha", repairs=list(repairs))


def test_a_failed_gate_leaves_open_what_rests_on_it_and_no_more():
    found = card({"words": 0.0, "alternatives": 0.9}, [REMOVALS])
    status = {row.objection.id: row.status for row in found.rows}
    assert {name for name, s in status.items() if s == OPEN} == set(INPUT)
    assert found.verdict == "must not be read"  # by row 6, which removes no word
    assert "quite different attention would do" in found.answer[1]
    assert "They fail 1 of 8 tests" in found.answer[1]
    assert "The 3 tests still open cannot change that." in found.answer[1]
    assert card({"words": 0.0}, [REMOVALS]).verdict == "undetermined"
    assert card({}, [REMOVALS]).verdict == "undetermined"
    assert card({}).verdict == "may be read"


@pytest.mark.parametrize(
    ("repairs", "said"),
    [
        ((), "Train or fine-tune with words masked at random, then audit again"),
        ((repaired(),), "after masking in training and read input x grad: it then reaches 80%"),
        ((repaired(alpha=0.6, input_x_grad=0.8),), "and read alpha: it then reaches 60%"),
        ((repaired(sound=OPEN),), "then audit again"),
        ((repaired(f1_change=-0.2),), "then audit again"),
    ],
)
def test_where_removals_tell_nothing_the_card_answers_by_a_repaired_model(repairs, said):
    found = card({"alternatives": 0.9}, [REMOVALS], repairs)
    assert found.answer[-1].startswith("Removing words cannot tell")
    assert "input x grad instead" not in found.answer[-1]
    assert re.search(said, found.answer[-1])
    assert ("Repairs tried" in found.html()) == bool(repairs)


def test_a_gate_that_is_not_decided_says_what_would_settle_it():
    open_ = gate("removals", "it keeps 51%", status=OPEN, settles="About 240 texts.", effect=estimate(np.ones(120)))
    found = card({"words": 0.0}, [open_], [repaired()])
    assert found.verdict == "undetermined"
    assert {row.settles for row in found.rows if row.status == OPEN} == {open_.told}
    assert found.answer[-1] == f"So far input x grad explains this model best (70%). {open_.told}"
    assert "is not decided: it keeps 51%" in re.sub("<.*?>", "", found.html())
    assert "it fails when random words are removed" not in found.html()


def test_a_fault_of_the_whole_model_is_named_before_one_of_some_rows():
    said = "40% of the texts are longer than the model reads"
    cut = gate("cut", said, EVERY)
    assert "So far input x grad explains this model best (70%)" in card({"words": 0.0}, [TEXTS]).answer[-1]
    found = card({}, [TEXTS, cut])
    assert found.answer[0] == f"This model could not be judged: {said}."
    assert found.answer[-1].startswith("Shorten the texts, or use")


def test_the_cheapest_good_way_is_recommended():
    assert "read input x grad instead" in card({"words": 0.0}).answer[-1]
    poor = {"alpha": 0.1, "input_x_grad": 0.2, "leave-one-out": 0.9}
    assert (
        "Train again with TaSc and read alpha"
        in card({"words": 0.0}, repairs=[repaired("TaSc", alpha=0.7)], **poor).answer[-1]
    )
    assert "leave-one-out" in card({"words": 0.0}, **poor).answer[-1]
