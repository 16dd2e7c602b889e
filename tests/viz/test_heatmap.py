"""What a model makes of a text: the rows are the trace's own numbers, in the order of the tokens."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

import attnlib as al
from attnlib.data.types import Example
from attnlib.utils.errors import DataError, UnknownName
from attnlib.viz.heatmap import heatmap, read


def untrained(corpus, **options):
    """A model with its initial parameters: as good as a trained one for what is tested here."""
    config = al.ModelConfig(**{"embedding_size": 8, "hidden_size": 8} | options)
    return al.fit(corpus, config, al.TrainConfig(epochs=0), seed=1)


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=40, n_dev=5, n_test=12)


@pytest.fixture(scope="module")
def fitted(corpus):
    return untrained(corpus)


def test_rows_are_the_numbers_of_the_trace(corpus, fitted):
    examples = list(corpus.test)
    readings = read(fitted, examples, ["alpha", "probability", "alpha_grad"])
    scores = al.importance(fitted, examples, "alpha_grad")
    trace = fitted.trace(examples)
    with torch.no_grad():
        alone = (trace.token_logits + trace.bias).softmax(-1)[..., 1]
    for b, (example, reading) in enumerate(zip(examples, readings, strict=True)):
        assert reading.example is example
        assert reading.tokens == example.tokens
        np.testing.assert_allclose(reading.rows["alpha"], trace.alpha[b, : len(example)], atol=1e-6)
        np.testing.assert_allclose(reading.rows["probability"], alone[b, : len(example)].numpy(), atol=1e-6)
        np.testing.assert_allclose(reading.probabilities, trace.probabilities[b], atol=1e-6)
        np.testing.assert_array_equal(reading.rows["alpha_grad"], scores[b])
        assert reading.predicted == int(trace.prediction[b])


def test_with_scaling_a_token_alone_is_scaled_too(corpus):
    fitted = untrained(corpus, scaling="lin")
    (reading,) = read(fitted, corpus.test[0], "probability")
    trace = fitted.trace([corpus.test[0]])
    with torch.no_grad():
        alone = (trace.scale.unsqueeze(-1) * trace.token_logits + trace.bias).softmax(-1)[0, :, 1]
    np.testing.assert_allclose(reading.rows["probability"], alone.numpy(), atol=1e-6)


def test_the_target_is_the_second_of_two_classes_or_the_one_asked_for(corpus, fitted):
    example = corpus.test[0]
    positive = read(fitted, example, "probability")[0]
    negative = read(fitted, example, "probability", target="negative")[0]
    np.testing.assert_allclose(positive.rows["probability"], 1 - negative.rows["probability"], rtol=1e-5)
    assert positive.labels() == {"probability": "p(positive)"}
    with pytest.raises(UnknownName, match=r"Unknown class 'postive'\. Did you mean 'positive'"):
        read(fitted, example, target="postive")


def test_with_more_classes_the_target_is_the_predicted_one():
    corpus = al.load_corpus("planted", n_train=40, n_dev=5, n_test=6, classes=4)
    for reading in read(untrained(corpus), list(corpus.test), "probability"):
        assert reading.target == reading.predicted
        assert reading.labels()["probability"] == f"p({corpus.classes[reading.predicted]})"


def test_a_question_needs_no_linear_decoder():
    corpus = al.load_corpus("planted", n_train=40, n_dev=5, n_test=3, task="qa")
    fitted = untrained(corpus)
    assert not fitted.trace(list(corpus.test)).linear
    reading = read(fitted, corpus.test[0], ["alpha", "probability"])[0]
    assert ((reading.rows["probability"] > 0) & (reading.rows["probability"] < 1)).all()
    asked = f"asked: {' '.join(corpus.test[0].query)}"
    assert asked in BeautifulSoup(str(reading.html()), "html.parser").get_text()


def test_typed_text_has_no_true_class_and_shows_unknown_words(fitted):
    reading = read(fitted, "The <b>wonderful</b> zzyzx story")[0]
    page = BeautifulSoup(str(reading.html()), "html.parser")
    text = page.get_text()
    assert "true class" not in text
    assert f"predicted {fitted.classes[reading.predicted]} with p = " in text
    assert "unknown to the model" in text
    assert not page.find_all("script")
    where = list(reading.tokens).index("zzyzx")
    assert reading.unknown_words[where]
    assert not reading.unknown_words[list(reading.tokens).index("story")]


def test_the_true_class_and_the_rationale_are_shown(corpus, fitted):
    example = corpus.test[0]
    wrong = Example(example.tokens, 1 - read(fitted, example)[0].predicted, rationale=example.rationale, id="w")
    page = BeautifulSoup(str(heatmap(fitted, wrong)), "html.parser")
    assert f"true class {fitted.classes[wrong.label]} ✗" in page.get_text()
    underlined = [tag.get_text() for tag in page.find_all(style=True) if "underline;" in tag["style"] and tag.bdi]
    assert underlined == [t for t, mark in zip(example.tokens, example.rationale, strict=True) if mark]


def test_a_class_name_is_escaped(corpus):
    from dataclasses import replace

    fitted = untrained(replace(corpus, classes=("<img src=x>", "<script>")))
    page = BeautifulSoup(str(heatmap(fitted, list(corpus.test[:2]), ["alpha", "probability"])), "html.parser")
    assert not page.find_all(["img", "script"])


def test_wrong_rows_and_empty_texts_are_named(corpus, fitted):
    with pytest.raises(UnknownName, match=r"Unknown row of a heat map 'alhpa'\. Did you mean 'alpha'"):
        heatmap(fitted, corpus.test[0], "alhpa")
    with pytest.raises(DataError, match="word"):
        heatmap(fitted, "   ")
    with pytest.raises(DataError, match="at least one"):
        heatmap(fitted, [])


def test_words_of_a_hierarchical_model_weigh_with_their_sentence():
    corpus = al.load_corpus("planted", n_train=40, n_dev=5, n_test=6, shortest=20, longest=30)
    fitted = untrained(corpus, hierarchical=True)
    examples = list(corpus.test)
    for reading, example in zip(read(fitted, examples, ["alpha", "probability"]), examples, strict=True):
        alone = fitted.trace([example])
        starts = [*example.sentences, len(example)]
        assert len(starts) > 2, "the test needs more than one sentence"
        sums = [reading.rows["alpha"][a:b].sum() for a, b in pairwise(starts)]
        np.testing.assert_allclose(sums, alone.alpha[0, : len(sums)], atol=1e-6)
        first = reading.rows["probability"][: starts[1]]
        assert np.ptp(first) == 0, "a sentence speaks with one voice"
