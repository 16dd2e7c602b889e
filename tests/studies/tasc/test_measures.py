"""Measures of the TaSc study on a tiny planted corpus."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.config import TrainConfig
from attnlib.studies.tasc import measures
from attnlib.studies.tasc.grid import TOP1, tidy

QUICK = TrainConfig(epochs=2, learning_rate=1e-2)


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=60, n_dev=20, n_test=12)


@pytest.fixture(scope="module")
def fitted(corpus):
    return al.fit(corpus, al.ModelConfig(encoder="mlp", scaling="lin", hidden_size=8, embedding_size=8), QUICK)


def test_faithfulness_holds_every_ranking_and_text(corpus, fitted):
    found = measures.faithfulness(
        fitted, corpus, rankings=["alpha"], baselines=["omission"], texts=7, baseline_texts=4
    )
    flips = found["flips"]
    texts = {name: set(part["instance"]) for name, part in flips.groupby("importance")}
    assert {name: len(own) for name, own in texts.items()} == {"alpha": 7, "omission": 4}
    assert texts["omission"] < texts["alpha"], "the slower rankings look at some of the same texts"
    direct = al.fraction_to_flip(fitted, [e for e in corpus.test if e.id in texts["alpha"]], "alpha")
    mine = flips[flips["importance"] == "alpha"]
    np.testing.assert_array_equal(mine["fraction"].to_numpy(), direct["fraction"].to_numpy())
    labels = found["labels"]
    accuracy = (labels["truth"] == labels["prediction"]).mean()
    assert (len(labels), accuracy) == (12, pytest.approx(fitted.evaluate(corpus.test)["accuracy"]))
    row = found["parameters"].iloc[0]
    assert row["scaling"] == row["vocabulary"] == len(corpus.vocabulary)


@pytest.mark.parametrize("operator", ["pad", "delete", "unk"])
def test_omission_erases_a_word_as_the_test_does(corpus, operator):
    """WO_i = p(ŷ|x) - p(ŷ|x without x_i), `without` meaning the same there and in the erasure that follows."""
    config = al.ModelConfig(encoder="lstm", hidden_size=8, embedding_size=8)
    lstm = al.fit(corpus, config, QUICK)
    flips = measures.faithfulness(lstm, corpus, rankings=[], baselines=["omission"], operator=operator)["flips"]
    scores = al.importance(lstm, corpus.test, "omission", operator=operator)
    expected = al.fraction_to_flip(lstm, corpus.test, scores, operator=operator)
    np.testing.assert_array_equal(flips["fraction"].to_numpy(), expected["fraction"].to_numpy())
    padded = al.importance(lstm, corpus.test, "omission")
    same = all(np.allclose(ours, theirs) for ours, theirs in zip(scores, padded, strict=True))
    assert same == (operator == "pad")


def test_top_token_flips_are_the_flips_at_one_token(corpus, fitted):
    found = tidy(measures.faithfulness(fitted, corpus, rankings=["alpha_grad"])["flips"])
    top = found.loc[found["metric"] == TOP1, "value"].to_numpy()
    direct = al.top_token_flips(fitted, corpus.test, "alpha_grad", level="input")["flipped"].to_numpy()
    np.testing.assert_array_equal(top == 100, direct)


def test_words_read_u_and_s_of_every_word_that_occurs(corpus, fitted):
    frame = measures.words(fitted, corpus).set_index("word")
    word = corpus.train[0].tokens[0]
    where = corpus.vocabulary.ids([word])[0]
    u = fitted.model.scaling.table.weight[where].item()
    assert frame["u"][word] == pytest.approx(u)
    assert frame["s"][word] == pytest.approx(u * fitted.model.embedding.weight[where].sum().item(), rel=1e-4)
    assert frame["count"].sum() == sum(len(e) for e in corpus.train)


def test_what_the_tokens_add_is_the_margin_of_the_prediction(corpus, fitted):
    plain = al.fit(corpus, al.ModelConfig(encoder="mlp", hidden_size=8, embedding_size=8), QUICK)
    table = measures.reading(plain, fitted, corpus)
    example = measures.readable(plain, fitted, corpus.test)
    assert table["token"].tolist() == fitted.tokens(example)
    assert set(table["predicted"]) == set(fitted.predict([example]).labels)
    assert table["attention, with"].sum() == pytest.approx(1, abs=1e-6)
    assert (table["scale, without"] == 1).all()
    np.testing.assert_allclose(table["product, with"], table["attention, with"] * table["scale, with"], rtol=1e-5)
    logits, bias = fitted.trace([example]).logits[0].tolist(), fitted.model.decoder.bias.tolist()
    k = fitted.classes.index(table["predicted"][0])
    margin = (logits[k] - bias[k]) - (logits[1 - k] - bias[1 - k])
    assert table["adds, with"].sum() == pytest.approx(margin, abs=1e-5)


def test_a_readable_text_is_classified_correctly_by_both(corpus, fitted):
    example = measures.readable(fitted, fitted, corpus.test)
    predicted = fitted.predict(corpus.test).labels
    correct = [e.id for e, label in zip(corpus.test, predicted, strict=True) if fitted.classes[e.label] == label]
    assert example.id in correct
