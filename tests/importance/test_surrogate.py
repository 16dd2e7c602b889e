"""LIME and KernelSHAP: what they must add up to, and what they must find."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

from attnlib.erasure.flips import fraction_to_flip
from attnlib.importance.scores import importance
from attnlib.importance.surrogate import AllZero
from tests.conformance import naive, zoo

LIME = {"samples": 200}


def test_shapley_values_sum_to_what_the_text_adds():
    fitted = zoo.fitted("none")
    text = zoo.texts(fitted, 1)
    found = importance(fitted, text, "kernel_shap", samples=600)[0]
    trace = naive.traced(fitted, text[0])
    k = int(trace.prediction[0])
    added = trace.probabilities[0, k] - naive.nothing_left(fitted, text[0]).softmax(-1)[k]
    assert found.sum() == pytest.approx(float(added), abs=0.02)


@pytest.mark.parametrize("name", ["lstm", "cnn", "query-mlp"])
def test_lime_finds_what_omission_finds(name):
    """Next to random and omission: most words have a weight, and removing the heaviest flips decisions early."""
    fitted = zoo.fitted(name)
    texts = zoo.texts(fitted, 12)
    scores = {m: importance(fitted, texts, m, **o) for m, o in {"random": {}, "omission": {}, "lime": LIME}.items()}
    assert (np.concatenate(scores["lime"]) != 0).mean() > 0.99
    means = {m: fraction_to_flip(fitted, texts, s)["fraction"].fillna(1.0).mean() for m, s in scores.items()}
    assert means["lime"] < (means["omission"] + means["random"]) / 2


def test_a_text_that_no_removal_moves_is_reported():
    fitted = deepcopy(zoo.fitted("mlp"))
    with torch.no_grad():
        fitted.model.decoder.weight.zero_()
    with pytest.warns(AllZero, match="2 of 2 texts"):
        importance(fitted, zoo.texts(fitted, 2), "lime", samples=20)
