"""Requests: what cannot be asked is refused before anything runs; rankings that fit and those that do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from attnlib.engine.explainable import erase
from attnlib.erasure import flips as erasure
from attnlib.erasure.request import Erasure
from attnlib.utils.errors import ConfigError, DataError, UnknownName
from tests.conformance import zoo
from tests.erasure.test_flips import toy


def test_what_means_nothing_at_a_level_is_refused():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 1)
    for measure in (erasure.fraction_to_flip, erasure.top_token_flips, erasure.erasure_curves):
        with pytest.raises(ConfigError, match="Leave operator out"):
            measure(fitted, texts, "alpha", level="attention", operator="pad")


def test_unknown_words_are_errors():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 2)
    with pytest.raises(ConfigError, match="Did you mean 'attention'"):
        erasure.fraction_to_flip(fitted, texts, "alpha", level="atention")
    with pytest.raises(UnknownName, match="Did you mean 'delete'"):
        erasure.fraction_to_flip(fitted, texts, "alpha", operator="deleet")
    with pytest.raises(UnknownName, match="Did you mean 'alpha'"):
        erasure.fraction_to_flip(fitted, texts, "alhpa")
    with pytest.raises(ConfigError, match="mask token"):
        erasure.fraction_to_flip(fitted, texts, "alpha", operator="mask")
    with pytest.raises(ConfigError, match="quirk"):
        erasure.fraction_to_flip(fitted, texts, "alpha", quirks={"tasc_gi"})
    with pytest.raises(ConfigError, match="no method runs"):
        erasure.fraction_to_flip(fitted, texts, [np.ones(len(t)) for t in texts], steps=3)


def test_what_is_no_field_is_an_option_of_the_method():
    one = Erasure.of("omission", {"level": "input", "operator": "pad"})
    assert (one.operator, one.options) == ("pad", {})
    other = Erasure.of("integrated_gradients", {"steps": 3, "tolerance": None, "seed": 4})
    assert (other.seed, dict(other.options)) == (4, {"steps": 3, "tolerance": None})
    with pytest.raises(ConfigError, match="Did you mean 'level'"):
        Erasure.of("alpha", {"levl": "input"})


def test_a_function_takes_only_what_it_honours():
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 1)
    for ranking in ("alpha", [np.ones(len(t)) for t in texts]):
        for name, value in (("level", "input"), ("operator", "pad")):
            with pytest.raises(ConfigError, match=f"Unknown option of this erasure {name!r}"):
                erasure.single_removals(fitted, texts, ranking, **{name: value})
    with pytest.raises(ConfigError, match="quirk"):
        erasure.erasure_curves(fitted, texts, "alpha", quirks={"tasc_denominator"})


NAN = float("nan")


@pytest.mark.parametrize(
    ("ranking", "said"),
    [
        ([], "0 arrays for 1 texts"),
        ([np.array([])], "an empty ranking for 3 tokens"),
        ([np.array([1.0, 2.0])], "2 scores for 3 tokens"),
        ([np.array([1.0, NAN, 2.0])], "NaN at token 1"),
        ([np.ones(3), np.ones(3)], "2 arrays for 1 texts"),
        ([[1, 2, 10**400]], "no numbers"),
        (toy, "got the function toy. Give the scores it returns"),
        (lambda text: np.ones(3), "got a function without a name. Give the scores"),
    ],
)
def test_a_ranking_that_does_not_fit_is_refused(ranking, said):
    with pytest.raises(DataError, match=said):
        erasure.fraction_to_flip(toy(), toy().texts(), ranking, level="attention")


@pytest.mark.parametrize("name", ["FeatureAblation", "Lime", "KernelShap"])
def test_attributions_of_captum_rank(name):
    """Their answers come from `erase`. Leaving each word out once is omission."""
    fitted = zoo.fitted("lstm")
    texts = zoo.texts(fitted, 3)
    method = getattr(pytest.importorskip("captum.attr"), name)
    scores = []
    for text in texts:

        def answer(kept, text=text):
            removed = [np.flatnonzero(row == 0) for row in kept.numpy()]
            return torch.tensor(erase(fitted, [text], [removed])[0])[:, fitted.logits([text]).argmax()]

        words = torch.ones(1, len(text), dtype=torch.float64)
        options = {} if name == "FeatureAblation" else {"n_samples": 20}
        scores.append(method(answer).attribute(words, **options)[0])
    found = erasure.fraction_to_flip(fitted, texts, scores)
    assert found["status"].isin(["flipped", "never"]).all()
    if name == "FeatureAblation":
        pd.testing.assert_frame_equal(
            found, erasure.fraction_to_flip(fitted, texts, "omission", target="logit", operator="pad")
        )


def test_units_of_a_hierarchical_model():
    fitted = zoo.fitted("han-gru")
    texts = zoo.texts(fitted, 3)
    sentences = erasure.fraction_to_flip(fitted, texts, "alpha", level="attention")
    words = erasure.fraction_to_flip(fitted, texts, "alpha", level="input")
    assert sentences["length"].tolist() == [3, 3, 3]
    assert words["length"].tolist() == [len(t) for t in texts]
    with pytest.raises(ConfigError, match="sentences"):
        erasure.fraction_to_flip(fitted, texts, "input_x_grad", level="attention")
