"""The measures of the erasure study on small models."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.studies.erasure.grid import erasures
from attnlib.studies.erasure.params import Params


@pytest.fixture(scope="module", params=["han", "flan"])
def measured(request):
    """A model of each architecture, and what its measure gives on forty texts."""
    corpus = al.load_corpus("planted", n_train=200, n_dev=40, n_test=50, classes=3, shortest=18, longest=36)
    params = Params(
        corpora="planted", vectors="none", embedding_size=12, hidden_size=12, epochs=3, learning_rate=0.02
    )
    model = params.model("planted", request.param, "rnn")
    fitted = al.fit(corpus, model, params.training("planted", "rnn"), seed=3)
    return fitted, corpus, erasures(fitted, corpus, texts=40)


def test_a_model_is_measured_once_for_every_test(measured):
    fitted, corpus, found = measured
    assert {name: len(frame) for name, frame in found.items()} == {"labels": 50, "single": 160, "fractions": 160}
    assert found["labels"]["value"].mean() == pytest.approx(fitted.evaluate(corpus.test)["accuracy"])
    assert set(found["fractions"]["instance"]) <= {example.id for example in corpus.test}


def test_the_last_layer_is_tested_sentences_for_han_words_for_flan(measured):
    fitted, corpus, found = measured
    words = {example.id: len(example) for example in corpus.test}
    rows = found["fractions"].drop_duplicates("instance")
    if fitted.model_config.hierarchical:
        assert (rows["length"] <= 5).all()
    else:
        assert (rows["length"] == rows["instance"].map(words)).all()


def test_rankings_by_gradient_are_those_of_the_probability(measured):
    """The order by the logit differs from that of the probability as soon as there are three classes."""
    fitted, corpus, found = measured
    some = [e for e in corpus.test if e.id in set(found["single"]["instance"])]
    trace = fitted.trace(some)
    p, v = trace.probabilities.double(), trace.token_logits.double()
    k = trace.prediction
    rows = np.arange(len(some))
    gradient = p[rows, k].unsqueeze(1) * (v[rows, :, k] - (v * p.unsqueeze(1)).sum(-1))
    top = gradient.masked_fill(~trace.mask, -np.inf).argmax(1)
    mine = (
        found["single"].query("importance == 'grad_alpha' and sampling == 'any other'").set_index("instance")["top"]
    )
    assert mine[[e.id for e in some]].tolist() == top.tolist()
