"""Rankings of texts: those that fit, those that do not, and what their units are."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.erasure import flips as erasure
from attnlib.utils.errors import ConfigError, DataError
from tests.conformance import zoo
from tests.conformance.toy import Toy, trace

NAN = float("nan")


HAND = {"alpha": [[0.5, 0.3, 0.2]], "values": [[[2.0, 0.0], [0.0, 1.0], [0.0, 2.0]]]}


def toy(bias=(0.0, 0.0), **changes) -> Toy:
    return Toy(trace(**{**HAND, **changes}, bias=bias))


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        ([], "empty for 1 texts"),
        ([np.array([])], "an empty ranking for 3 tokens"),
        ([np.array([1.0, 2.0])], "2 scores for 3 tokens"),
        ([np.array([1.0, NAN, 2.0])], "NaN at token 1"),
        ([np.ones(3), np.ones(3)], "2 arrays for 1 texts"),
        ([np.ones((3, 2))], "shape"),
    ],
)
def test_a_ranking_that_does_not_fit_is_refused(ranking, said):
    with pytest.raises(DataError, match=said):
        erasure.fraction_to_flip(toy(), toy().texts(), ranking, level="attention")


def test_or_marked():
    model = Toy(trace([[0.5, 0.3, 0.2]] * 2, HAND["values"] * 2))
    frame = erasure.fraction_to_flip(
        model, model.texts(), [np.array([3.0, 2.0, 1.0]), np.full(3, NAN)], level="attention", on_bad="mark"
    )
    assert frame["status"].tolist() == ["flipped", "NaN at token 0"]
    assert frame["flipped"][1] is pd.NA
    assert np.isnan(frame["fraction"][1])


def test_infinite_scores_rank():
    frame = erasure.fraction_to_flip(toy(), toy().texts(), [np.array([np.inf, 0, -np.inf])], level="attention")
    assert frame["removed"][0] == 1


def test_units_of_a_hierarchical_model():
    fitted = zoo.fitted("han-gru")
    texts = zoo.texts(fitted, 3)
    sentences = erasure.fraction_to_flip(fitted, texts, "alpha", level="attention")
    words = erasure.fraction_to_flip(fitted, texts, "alpha", level="input")
    assert sentences["length"].tolist() == [3, 3, 3]
    assert words["length"].tolist() == [len(t) for t in texts]
    with pytest.raises(ConfigError, match="sentences"):
        erasure.fraction_to_flip(fitted, texts, "input_x_grad", level="attention")
