"""The explorer and its static twin tell the same story as the engine."""

import numpy as np
import pytest
from bs4 import BeautifulSoup

import attnlib as al
from attnlib.utils.errors import ConfigError, UnknownName
from attnlib.viz import explorer as widgets
from attnlib.viz.textmap import Html


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=120, n_dev=20, n_test=20)


@pytest.fixture(scope="module")
def fitted(corpus):
    return al.fit(
        corpus,
        al.ModelConfig(embedding_size=16, hidden_size=16),
        al.TrainConfig(epochs=3, learning_rate=0.02),
        seed=0,
    )


@pytest.fixture
def watched(monkeypatch):
    """Somebody sits in front of the notebook."""
    monkeypatch.delenv("ATTNLIB_PROGRESS", raising=False)
    monkeypatch.delenv("ATTNLIB_OUT", raising=False)


def text_of(html):
    return BeautifulSoup(str(html), "html.parser").get_text()


@pytest.mark.parametrize("level", ["attention", "input"])
@pytest.mark.parametrize("by", ["alpha", "alpha_grad"])
def test_a_path_agrees_with_fraction_to_flip(corpus, fitted, level, by):
    table = al.fraction_to_flip(fitted, list(corpus.test), by, level=level)
    assert table["flipped"].any(), "the test needs a text that flips"
    for example, removed, status in zip(corpus.test, table["removed"], table["status"], strict=True):
        path = widgets.erase(fitted, example, by=by, level=level)
        assert path.first_flip == (None if status == "never" else removed)
        assert path.probability.shape == path.flipped.shape == (len(example) + 1,)
        assert not path.flipped[0]
        np.testing.assert_allclose(path.probability[0], path.reading.probabilities.max(), atol=1e-6)
        words = {
            "never": "never changes",
            "only_when_empty": "only when nothing is left",
            "flipped": "first changes",
        }
        assert words[status] in path.verdict()


def test_probability_colours_but_attention_ranks(corpus, fitted):
    path = widgets.erase(fitted, corpus.test[0], by="probability")
    assert list(path.reading.rows) == ["probability"]
    assert path.order.tolist() == widgets.erase(fitted, corpus.test[0]).order.tolist()


def test_a_step_strikes_out_what_is_gone(corpus, fitted):
    path = widgets.erase(fitted, corpus.test[0])
    page = BeautifulSoup(str(path.step(3)), "html.parser")
    struck = [tag.get_text() for tag in page.find_all(title=True) if "line-through" in tag["style"]]
    gone = sorted(path.order[:3])
    assert struck == [path.reading.tokens[i] for i in gone]
    assert f"erased 3 of {len(corpus.test[0])}" in page.get_text()
    assert f"= {path.probability[3]:.2f}" in page.get_text()
    assert ("decision changed" in page.get_text()) == bool(path.flipped[3])


def test_the_static_twin_shows_each_text_until_its_decision_changes(corpus, fitted):
    examples = list(corpus.test[:3])
    text = text_of(widgets.explore_static(fitted, examples, steps=2))
    for example in examples:
        path = widgets.erase(fitted, example)
        assert path.verdict() in text
        assert f"erased 2 of {len(example)}" in text
        if path.first_flip:
            assert f"erased {path.first_flip} of {len(example)}" in text
    assert "highest attention down, at the attention level" in text


def test_what_somebody_wrote_is_shown_not_run(fitted):
    html = widgets.explore_static(fitted, ["a <script>alert(1)</script> wonderful story <img src=x onerror=y>"])
    page = BeautifulSoup(str(html), "html.parser")
    assert not page.find_all(["script", "img"])
    assert "script" in page.get_text()
    assert "http" not in str(html)


@pytest.mark.parametrize("variable", [("ATTNLIB_PROGRESS", "0"), ("ATTNLIB_OUT", "somewhere")])
def test_in_a_batch_run_the_twin_stands_in(corpus, fitted, monkeypatch, watched, variable):
    monkeypatch.setenv(*variable)
    assert isinstance(widgets.explore(fitted, list(corpus.test[:1])), Html)


def test_the_widget_follows_its_controls(corpus, fitted, watched):
    assert not isinstance(widgets.explore(fitted, list(corpus.test[:2])), Html)
    explorer = widgets.Explorer(fitted, list(corpus.test[:2]), ("alpha", "probability"), "attention", 0)
    assert "nothing erased" in text_of(explorer.view.value)
    assert explorer.count.max == len(corpus.test[0])
    explorer.count.value = 2
    assert f"erased 2 of {len(corpus.test[0])}" in text_of(explorer.view.value)
    explorer.by.value = "probability"
    assert "p(positive): 0 (negative)" in text_of(explorer.view.value)
    explorer.level.value = "input"
    expected = widgets.erase(fitted, corpus.test[0], by="probability", level="input")
    assert f"= {expected.probability[2]:.2f}" in text_of(explorer.view.value)
    explorer.chosen.value = corpus.test[1]
    assert explorer.count.max == len(corpus.test[1])
    assert f"of {len(corpus.test[1])}" in text_of(explorer.view.value)


def test_the_widget_takes_a_typed_text_and_says_what_is_wrong_with_it(corpus, fitted, watched):
    explorer = widgets.Explorer(fitted, list(corpus.test[:1]), ("alpha",), "attention", 0)
    assert explorer.typed.layout.display is None, "the box is always there"
    assert type(explorer.typed).__name__ == "Text", "a line, which Enter submits"
    explorer.typed.value = "a wonderful <b>story</b>"
    assert explorer.chosen.value is widgets.OWN, "what was typed is what is shown"
    assert "wonderful" in text_of(explorer.view.value)
    assert "<b>story" not in explorer.view.value
    explorer.count.value = 2
    explorer.typed.value = "x" * 3 + "\u200b"
    assert explorer.path is not None
    explorer.typed.value = "good"
    assert explorer.count.max == 1
    assert "erased 1 of 1" in text_of(explorer.view.value)
    explorer.chosen.value = corpus.test[0]
    assert explorer.count.max == len(corpus.test[0])
    explorer.typed.value = ""
    assert explorer.chosen.value is corpus.test[0], "an emptied box chooses nothing"
    explorer.chosen.value = widgets.OWN
    assert "Type a text" in text_of(explorer.view.value)
    assert explorer.flip.value == ""


def test_the_widget_says_that_it_computes(corpus, fitted, watched, monkeypatch):
    explorer = widgets.Explorer(fitted, list(corpus.test[:1]), ("alpha",), "attention", 0)
    seen, erase = [], widgets.erase

    def slow(*given, **options):
        seen.append(text_of(explorer.view.value))
        return erase(*given, **options)

    monkeypatch.setattr(widgets, "erase", slow)
    explorer.level.value = "input"
    assert seen == ["computing…"]
    assert "computing" not in explorer.view.value
    assert explorer.level.description == "erase at"
    assert [shown for shown, _ in explorer.level.options] == ["attention level", "input level"]


def test_the_flip_is_marked_under_the_slider(corpus, fitted, watched):
    explorer = widgets.Explorer(fitted, list(corpus.test), ("alpha",), "attention", 0)
    marked = 0
    for example in corpus.test:
        explorer.chosen.value = example
        k, n = explorer.path.first_flip, len(example)
        page = BeautifulSoup(explorer.flip.value, "html.parser")
        parts = [tag["style"] for tag in page.find_all("span")][:-1]
        label = page.find_all("span")[-1]
        if k is None:
            assert "never" in label.get_text()
            assert len(parts) == 1
            continue
        marked += 1
        assert str(k) in label.get_text()
        assert f"left:{k / n:.2%}" in label["style"] or f"right:{1 - k / n:.2%}" in label["style"]
        assert "rgb(0,114,178)" in parts[0]
        assert f"width:{(k - 0.5) / n:.2%}" in parts[0], "blue up to the step before the flip"
        assert "rgb(213,94,0)" in parts[1]
        assert len(parts) == 1 + np.abs(np.diff(explorer.path.flipped.astype(int))).sum()
    assert marked, "the test needs a text that flips"


def test_an_error_is_shown_in_the_widget(corpus, watched):
    stories = al.load_corpus("planted", n_train=30, n_dev=5, n_test=3, task="qa")
    asked = al.fit(stories, al.ModelConfig(embedding_size=8, hidden_size=8), al.TrainConfig(epochs=0))
    explorer = widgets.Explorer(asked, list(stories.test[:1]), ("alpha",), "attention", 0)
    explorer.chosen.value = widgets.OWN
    explorer.typed.value = "john went home ."
    alert = BeautifulSoup(explorer.view.value, "html.parser").find(role="alert")
    assert "query" in alert.get_text()
    explorer.count.value = 1
    assert BeautifulSoup(explorer.view.value, "html.parser").find(role="alert"), (
        "the slider must not hide the error"
    )


def test_a_hierarchical_model_loses_words_from_the_input_alone(corpus, watched):
    han = al.fit(
        corpus, al.ModelConfig(embedding_size=8, hidden_size=8, hierarchical=True), al.TrainConfig(epochs=0), seed=0
    )
    with pytest.raises(ConfigError, match="level='input'"):
        widgets.erase(han, corpus.test[0])
    path = widgets.erase(han, corpus.test[0], level="input")
    np.testing.assert_allclose(path.reading.rows["alpha"].sum(), 1, atol=1e-6)
    explorer = widgets.Explorer(han, list(corpus.test[:1]), ("alpha",), "attention", 0)
    assert explorer.level.options == (("input level", "input"),)


def test_a_wrong_level_is_named(corpus, fitted):
    with pytest.raises(UnknownName, match=r"Unknown level 'inptu'\. Did you mean 'input'"):
        widgets.erase(fitted, corpus.test[0], level="inptu")
