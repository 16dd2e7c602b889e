"""Comprehensiveness, sufficiency and AOPC: by hand, against exhaustive bounds."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.special import softmax

import attnlib as al
from attnlib.erasure import flips as erasure
from attnlib.measures import faithfulness
from attnlib.rankings.scores import importance
from tests.conformance import naive, zoo


def curves(p):
    """A frame of curves from lists of probabilities."""
    rows = [
        {"text": i, "id": str(i), "length": len(c) - 1, "removed": k, "probability": x}
        for i, c in enumerate(p)
        for k, x in enumerate(c)
    ]
    return pd.DataFrame(rows)


def test_by_hand():
    frame = curves([[0.9, 0.5, 0.4, 0.3, 0.2], [0.8, 0.1]])
    found = faithfulness.comprehensiveness_of(frame, shares=(0.25, 0.5))
    np.testing.assert_allclose(found["value"], [((0.9 - 0.5) + (0.9 - 0.4)) / 2, 0.7])
    # keeping a quarter of four words removes three, keeping half removes two; one word is always kept whole
    found = faithfulness.sufficiency_of(frame, shares=(0.25, 0.5))
    np.testing.assert_allclose(found["value"], [((0.9 - 0.3) + (0.9 - 0.4)) / 2, 0.0])
    found = faithfulness.aopc_of(frame)
    np.testing.assert_allclose(found["value"], [(0.4 + 0.5 + 0.6 + 0.7) / 4, 0.7])


def test_shares_round_up_to_a_word():
    frame = curves([np.linspace(1, 0, 11)])
    assert faithfulness.comprehensiveness_of(frame, shares=(0.01,))["value"][0] == pytest.approx(0.1)
    assert faithfulness.comprehensiveness_of(frame, shares=(0.1,))["value"][0] == pytest.approx(0.1)
    assert faithfulness.comprehensiveness_of(frame, shares=(0.11,))["value"][0] == pytest.approx(0.2)


@pytest.mark.parametrize("level", ["input", "attention"])
def test_the_best_removals_are_those_of_all_orders(level):
    fitted = zoo.fitted("lstm")
    text = zoo.texts(fitted, 1)[0]
    text = type(text)(text.tokens[:4], text.label, id="short")
    high, low = (aopc_bound(fitted, text, sign, operator=level.replace("input", "pad")) for sign in (1, -1))
    values = []
    for order in permutations(range(4)):
        scores = np.empty(4)
        scores[list(order)] = [4, 3, 2, 1]
        curve = naive.curve(fitted, text, scores, level)
        p = curve.softmax(-1)[:, int(curve[0].argmax())].numpy()
        values.append((p[0] - p[1:]).mean())
    assert low == pytest.approx(min(values))
    assert high == pytest.approx(max(values))
    ranking = importance(fitted, [text], "omission")
    value = faithfulness.aopc_of(erasure.erasure_curves(fitted, [text], ranking, level=level))["value"].iloc[0]
    assert low - 1e-9 <= value <= high + 1e-9


def aopc_bound(fitted, text, sign, *, beam=10, **how):
    """The highest (or lowest) AOPC that any order of removal reaches on a text."""

    def drop(sets):
        (logits,) = al.erase(fitted, [text], [[(), *sets]], **how)
        p = softmax(logits, axis=1)[:, logits[0].argmax()]
        return sign * (p[0] - p[1:])

    n = len(fitted.tokens(text))
    first = drop([frozenset({i}) for i in range(n)])
    largest, total = faithfulness.best_removals(drop, range(1, n + 1), first, beam=beam)
    assert largest[0] == first.max()
    return sign * total / n
