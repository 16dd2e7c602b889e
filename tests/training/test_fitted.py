"""Fitted: predictions that depend on the text alone, traces, equality; scores by hand and by definition."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
import torch

from attnlib.data import load_corpus
from attnlib.erasure.flips import fraction_to_flip
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted, scores
from attnlib.utils.errors import DataError, TrainingError
from tests.training.conftest import MODELS, QUICK


@pytest.fixture(scope="module")
def answering() -> Fitted:
    return fit(load_corpus("planted", task="qa", n_train=40, n_dev=20, n_test=20), MODELS["lstm"], QUICK)


def test_predictions_do_not_depend_on_batches_order_or_padding(fitted, corpus):
    texts = list(corpus.test)
    whole = fitted.predict(texts).probabilities
    shuffled = np.random.default_rng(0).permutation(len(texts))
    for found in (
        fitted.predict(texts, batch_size=1).probabilities,
        fitted.predict(texts, batch_size=7).probabilities,
        fitted.predict([texts[i] for i in shuffled]).probabilities[np.argsort(shuffled)],
        np.concatenate([fitted.predict(t).probabilities for t in texts]),
        fitted.trace(texts).probabilities.numpy(),
    ):
        np.testing.assert_allclose(found, whole, atol=1e-5)
    assert np.ptp(whole[:, 0]) > 1e-3, "all texts alike would show nothing"


def test_evaluate_agrees_with_predict(fitted, corpus):
    labels, p = fitted.predict(corpus.test)
    truth = [corpus.classes[e.label] for e in corpus.test]
    found = fitted.evaluate(corpus.test)
    assert found["accuracy"] == np.mean([a == b for a, b in zip(labels, truth, strict=True)])
    assert found["loss"] == pytest.approx(-np.log(p[np.arange(50), [e.label for e in corpus.test]]).mean())
    assert found["n"] == 50


def test_texts_without_a_token_are_named(lstm):
    with pytest.raises(DataError, match=r"2 of 3 texts hold no token after preprocessing, at position 1, 2"):
        lstm.predict(["fine", "  ", ""])
    with pytest.raises(DataError, match="No text was given"):
        lstm.predict([])
    with pytest.raises(DataError, match="a string or an Example; got 3"):
        lstm.predict([3])


def test_two_strings_are_two_texts_and_a_pair_only_for_a_query_model(lstm, answering):
    assert len(lstm.predict(("one text", "another text")).labels) == 2
    assert len(answering.predict(("Mary went to the kitchen.", "Where is Mary?")).labels) == 1
    assert len(answering.predict([("Mary went to the kitchen.", "Where is Mary?")] * 3).labels) == 3
    with pytest.raises(DataError, match="answers a query about a text"):
        answering.predict("Mary went to the kitchen.")
    with pytest.raises(DataError, match="a string or an Example; got"):
        lstm.predict([("a text", "a query")])


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_model_that_answers_nan_decides_nothing(lstm, corpus, value):
    broken = deepcopy(lstm)
    with torch.no_grad():
        broken.model.decoder.bias[0] = value
    ways = (broken.predict, broken.evaluate, broken.trace, lambda t: fraction_to_flip(broken, t, "alpha"))
    for way in ways:
        with pytest.raises(TrainingError, match=r"decoder\.bias"):
            way(corpus.test[:3])


def test_labels_outside_the_classes_are_refused(lstm, corpus):
    with pytest.raises(DataError, match=r"Labels must index the classes .* in odd"):
        lstm.evaluate([replace(corpus.test[0], label=2, id="odd")])


@pytest.mark.parametrize("trained", [True, False])
def test_gradients_on_request(corpus, trained):
    fitted = fit(corpus, MODELS["lstm"], QUICK.replace(train_embeddings=trained))
    fitted.model.train()  # as somebody might leave it
    trace = fitted.trace(corpus.test[:2], grad=True)
    assert not fitted.model.training
    (gradient,) = torch.autograd.grad(trace.logits[:, 1].sum(), trace.embedded)
    assert gradient.abs().sum() > 0
    (_, trace), *_ = fitted.traces(corpus.test[:2], grad=True)
    assert torch.autograd.grad(trace.logits.sum(), trace.embedded)[0].shape == trace.embedded.shape


def test_equality_sees_every_difference(lstm, corpus):
    again = fit(corpus, MODELS["lstm"], QUICK)
    assert again == lstm
    assert hash(again) == hash(lstm)
    again.history["seconds"] += 1.0
    assert again == lstm, "how long it took does not matter"
    with torch.no_grad():
        again.model.decoder.bias[0] += 1e-6
    assert again != lstm
    assert lstm != "lstm"


def test_scores_by_hand():
    # predictions 1, 0, 0, 1 for labels 1, 1, 0, 1: TP 2, FN 1, FP 0
    found = scores(np.array([1, 1, 0, 1]), np.array([[0, 1], [1, 0], [2, 0], [0, 3]]))
    assert found["accuracy"] == 0.75
    assert found["f1_positive"] == pytest.approx(4 / 5)
    assert found["f1_macro"] == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert found["auc"] == 1.0
    assert found["n"] == 4
