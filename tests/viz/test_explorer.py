"""The explorer shows what the library computes."""

import json
from itertools import chain

import numpy as np
import pytest
from bs4 import BeautifulSoup

import attnlib as al
from attnlib.utils.errors import UnknownName
from attnlib.viz import explorer
from attnlib.viz.prose import Html


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=120, n_dev=20, n_test=20)


def trained(corpus, **model):
    config = al.ModelConfig(embedding_size=16, hidden_size=16, **model)
    return al.fit(corpus, config, al.TrainConfig(epochs=3, learning_rate=0.02), seed=0)


@pytest.fixture(scope="module")
def fitted(corpus):
    return trained(corpus)


@pytest.fixture
def watched(monkeypatch):
    """Somebody sits in front of the notebook."""
    monkeypatch.delenv("ATTNLIB_PROGRESS", raising=False)
    monkeypatch.delenv("ATTNLIB_OUT", raising=False)


def only(data):
    return data["models"][0]["texts"]


@pytest.mark.parametrize("level", ["attention", "input"])
@pytest.mark.parametrize("by", ["alpha", "alpha_grad"])
def test_paths_agree_with_fraction_to_flip(corpus, fitted, level, by):
    table = al.fraction_to_flip(fitted, list(corpus.test), by, level=level)
    assert table["flipped"].any(), "the test needs a text that flips"
    data = explorer.explored({"": fitted}, list(corpus.test), [by], level)
    for text, row in zip(only(data), table.itertuples(), strict=True):
        path = text["paths"][level][by]
        others = [k for k, winner in enumerate(path["winner"]) if winner != text["predicted"]]
        assert (others[0] if others else None) == (row.removed if row.flipped else None)
        assert len(path["p"]) == len(path["winner"]) == len(path["order"]) + 1 == row.length + 1


@pytest.mark.parametrize("model", [{}, {"scaling": "lin"}, {"encoder": "mlp", "projection": "sparsemax"}])
def test_a_prediction_can_be_computed_from_what_the_page_holds(corpus, model):
    fitted = trained(corpus, **model)
    data = explorer.explored({"": fitted}, list(corpus.test[:5]), ["alpha"], "attention")
    expected = fitted.predict(corpus.test[:5]).probabilities
    for text, probabilities in zip(only(data), expected, strict=True):
        pooled = text["pooled"]
        z = np.array(pooled["bias"]) + np.array(pooled["alpha"]) @ np.array(pooled["values"])
        np.testing.assert_allclose(np.exp(z) / np.exp(z).sum(), probabilities, atol=1e-6)


def test_it_opens_on_a_confident_and_correct_prediction(corpus, fitted):
    other = trained(corpus, encoder="mlp")
    true = [[m.predict(e).probabilities[0, e.label] for e in corpus.test] for m in (fitted, other)]
    texts = [corpus.test[i] for i in np.argsort(np.min(true, axis=0))]  # the worst error first
    texts[0] = al.Example(texts[-2].tokens, 1 - texts[-2].label, id="confident and wrong")
    data = explorer.explored({"one": fitted, "two": other}, texts, ["alpha"], "attention")
    assert data["text"] == len(texts) - 1
    raw = ["a city", "a wonderful city"]
    assert explorer.explored({"": fitted}, raw, ["alpha"], "input")["text"] == np.argmax(
        fitted.predict(raw).probabilities.max(1)
    )
    still = explorer.frozen({"one": fitted, "two": other}, texts, ["alpha"], "attention").text
    assert f"true class {corpus.classes[texts[-1].label]}" in still
    assert "✗" not in still
    assert all(f"{token}[" in still for token in texts[-1].tokens)


def test_a_hierarchical_model_erases_sentences_at_its_attention_layer():
    corpus = al.load_corpus("planted", n_train=60, n_dev=20, n_test=10)
    fitted = trained(corpus, hierarchical=True)
    data = explorer.explored({"": fitted}, corpus.test[:3], ["alpha", "omission"], "attention")
    table = al.fraction_to_flip(fitted, corpus.test[:3], "alpha", level="attention")
    for text, row in zip(only(data), table.itertuples(), strict=True):
        assert list(chain(*text["sentences"])) == list(range(len(text["tokens"])))
        assert len(text["weights"]) == len(text["sentences"]) == row.length
        assert list(text["paths"]["attention"]) == ["alpha"]
        assert list(text["paths"]["input"]) == ["alpha", "omission"]
        assert sorted(map(tuple, text["paths"]["attention"]["alpha"]["order"])) == list(
            map(tuple, text["sentences"])
        )
        assert text["pooled"]["units"] == text["sentences"]


def test_a_model_that_joins_a_query_cannot_be_edited():
    corpus = al.load_corpus("planted", task="qa", n_train=40, n_dev=10, n_test=5)
    fitted = al.fit(corpus, al.ModelConfig(embedding_size=8, hidden_size=8), al.TrainConfig(epochs=1))
    data = explorer.explored({"": fitted}, corpus.test[:2], ["alpha"], "attention")
    assert only(data)[0]["pooled"] is None


def test_long_texts_are_erased_in_steps(corpus, fitted):
    example = " ".join(["wonderful story"] * 100)
    (text,) = only(explorer.explored({"": fitted}, [example], ["alpha"], "attention"))
    path = text["paths"]["attention"]["alpha"]
    assert len(path["order"]) == explorer.STEPS
    assert sorted(chain(*path["order"])) == list(range(200))


def test_what_somebody_wrote_is_shown_not_run(fitted):
    hostile = "a </script><script>alert(1)</script> wonderful <img src=x onerror=y>"
    page = BeautifulSoup(str(explorer.frozen({"": fitted}, [hostile], ["alpha"], "attention")), "html.parser")
    (script,) = page.find_all("script")
    assert script["type"] == "application/json"
    assert not page.find_all("img")
    assert json.loads(script.string)["texts"][0]["name"] == hostile
    assert "wonderful" in page.find(class_="ax-place").get_text(), "something to see without scripts"


@pytest.mark.parametrize("variable", [("ATTNLIB_PROGRESS", "0"), ("ATTNLIB_OUT", "somewhere")])
def test_in_a_batch_run_it_is_frozen(corpus, fitted, monkeypatch, watched, variable):
    monkeypatch.setenv(*variable)
    assert isinstance(al.explore(fitted, list(corpus.test[:1])), Html)


def test_a_typed_text_joins_the_others(corpus, fitted, watched):
    widget = al.explore({"one": fitted, "two": fitted}, list(corpus.test[:2]), by=["alpha"])
    widget.typed = "a wonderful <b>story</b>"
    assert [text["name"] for text in widget.data["texts"]][2:] == ["a wonderful <b>story</b>"]
    assert [len(model["texts"]) for model in widget.data["models"]] == [3, 3]
    assert not widget.problem


def test_unknown_names(corpus, fitted):
    with pytest.raises(UnknownName, match="Did you mean 'attention'"):
        al.explore(fitted, corpus.test[:1], level="atention")
    with pytest.raises(UnknownName, match="alpha_grad"):
        al.explore(fitted, corpus.test[:1], by=["alpha_gard"])
