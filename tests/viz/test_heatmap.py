"""What a model makes of a text: the rows are the trace's own numbers; coloured, escaped, readable."""

import re
from itertools import pairwise

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

import attnlib as al
from attnlib.data.types import Example
from attnlib.utils.errors import DataError, UnknownName
from attnlib.viz.heatmap import BLUE, LIMIT, ORANGE, STRONGEST, Scale, heatmap, number, read, text_heatmap
from attnlib.viz.prose import emphasised, say


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


def test_a_question_needs_no_linear_decoder():
    corpus = al.load_corpus("planted", n_train=40, n_dev=5, n_test=3, task="qa")
    fitted = untrained(corpus)
    assert not fitted.trace(list(corpus.test)).linear
    reading = read(fitted, corpus.test[0], ["alpha", "probability"])[0]
    assert ((reading.rows["probability"] > 0) & (reading.rows["probability"] < 1)).all()
    asked = f"asked: {' '.join(corpus.test[0].query)}"
    assert asked in BeautifulSoup(str(reading.html()), "html.parser").get_text()


def test_typed_text_has_no_true_class(fitted):
    reading = read(fitted, "The <b>wonderful</b> zzyzx story")[0]
    text = BeautifulSoup(str(reading.html()), "html.parser").get_text()
    assert "true class" not in text
    assert f"predicted {fitted.classes[reading.predicted]} with p = " in text


def test_the_true_class_and_the_rationale_are_shown(corpus, fitted):
    example = corpus.test[0]
    wrong = Example(example.tokens, 1 - read(fitted, example)[0].predicted, rationale=example.rationale, id="w")
    page = BeautifulSoup(str(heatmap(fitted, wrong)), "html.parser")
    assert f"true class {fitted.classes[wrong.label]} ✗" in page.get_text()
    underlined = [tag.get_text() for tag in page.find_all(style=True) if "underline;" in tag["style"] and tag.bdi]
    assert underlined == [t for t, mark in zip(example.tokens, example.rationale, strict=True) if mark]


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


def opacity(css):
    return float(re.fullmatch(r"rgba\(\d+,\d+,\d+,([\d.]+)\)", css)[1])


def luminance(rgb):
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in np.array(rgb) / 255]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def test_a_scale_is_blue_upwards_and_orange_below_its_centre():
    growing = Scale(0.0, 0.4)
    assert [growing.strength(v) for v in (0.0, 0.1, 0.4, 0.9)] == pytest.approx([0, 0.25, 1, 1])
    chance = Scale.probability(4)
    assert [chance.strength(v) for v in (0.0, 0.125, 0.25, 0.625, 1.0)] == pytest.approx([-1, -0.5, 0, 0.5, 1])
    assert chance.colour(1.0).startswith("rgba(0,114,178")
    assert chance.colour(0.0).startswith("rgba(213,94,0")
    assert opacity(chance.colour(0.0)) == STRONGEST
    assert opacity(chance.colour(0.25)) == 0


@pytest.mark.parametrize("colour", [BLUE, ORANGE])
@pytest.mark.parametrize(("page", "ink"), [((255,) * 3, (17,) * 3), ((17,) * 3, (238,) * 3)])
def test_the_strongest_colour_leaves_text_readable_on_light_and_dark_pages(colour, page, ink):
    shown = [STRONGEST * c + (1 - STRONGEST) * p for c, p in zip(colour, page, strict=True)]
    bright, dark = sorted((luminance(shown), luminance(ink)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("value", "told"),
    [(0.41234, "0.412"), (-1.239, "−1.24"), (-0.0, "0"), (12.345, "12.35"), (0.0, "0"), (1, "1"), (np.nan, "–")],
)
def test_numbers_are_short(value, told):
    assert number(value) == told


def test_whatever_a_text_holds_shows_as_text():
    nasty = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "&amp;", "'", "\n", " "]
    several = text_heatmap(nasty, {"<i>a</i>": np.ones(6), "b": np.ones(6)}, head="<u>head</u>")
    html = str(several) + str(text_heatmap(nasty, {"<i>w</i>": np.ones(6)}))
    page = BeautifulSoup(html, "html.parser")
    assert not page.find_all(["script", "img", "i", "u"])
    assert all(set(tag.attrs) <= {"style", "title", "role", "aria-label"} for tag in page.find_all(True))
    words = [tag.get_text() for tag in page.find_all("bdi")]
    assert words == [*nasty[:4], "⏎", "␣"] * 2
    assert "<u>head</u>" in page.get_text()


def test_every_number_is_in_a_tooltip_and_rows_print_theirs():
    page = BeautifulSoup(
        str(text_heatmap(["good", "film"], {"attention": [0.75, 0.25], "p": [0.9, 0.4]})), "html.parser"
    )
    assert [tag["title"] for tag in page.find_all(title=True)] == [
        "good: attention 0.750, p 0.900",
        "film: attention 0.250, p 0.400",
    ]
    assert "0.750" in page.get_text()
    one = BeautifulSoup(str(text_heatmap(["good", "film"], [0.75, 0.25])), "html.parser")
    assert one.find(title=True)["title"] == "good: weight 0.750"
    assert "0.250" not in one.get_text(), "one row colours the words and keeps its numbers in the tooltips"
    assert one.find(title=True)["style"].count(Scale(0, 0.75).colour(0.75)) == 1


def test_a_long_text_is_cut_and_says_by_how_much():
    alpha = np.full(400, 1 / 400)
    html = text_heatmap(["w"] * 400, {"attention": alpha, "grad": -np.ones(400)})
    assert "250 more tokens" in BeautifulSoup(str(html), "html.parser").get_text()
    assert str(html).count("<bdi>") == LIMIT


def test_what_does_not_fit_is_named():
    with pytest.raises(DataError, match=r"'a' has the shape \(2,\), the text 3 tokens"):
        text_heatmap(["x", "y", "z"], {"a": [1, 2]})
    with pytest.raises(DataError, match="scores of row 'a' are no numbers"):
        text_heatmap(["x"], {"a": [10**400]})
    with pytest.raises(DataError, match="'marked' has the shape"):
        text_heatmap(["x", "y"], [1, 2], marked=[True])


def test_saying_escapes_and_makes_bold():
    said = say("a **<script>** b", "x < y & z")
    page = BeautifulSoup(str(said), "html.parser")
    assert [p.get_text() for p in page.find_all("p")] == ["a <script> b", "x < y & z"]
    assert page.b.get_text() == "<script>"
    assert not page.find_all("script")
    assert repr(said) == "a <script> b\nx < y & z"


def test_links_lead_within_the_page_or_to_reports_and_nowhere_else():
    assert emphasised("[0.2 [0.1, 0.3]](#figure-a)").startswith('<a href="#figure-a">0.2 [')
    assert emphasised("[x](../../01_tasc/cpu/report.html#claim-1)").startswith('<a href="../../01_tasc/')
    for outside in ("[x](https://a.b)", "[x](javascript:1)", "[0.1, 0.2] (#a)"):
        assert "<a " not in emphasised(outside)
    assert repr(say("**a** [b](#c)")) == "a b"
