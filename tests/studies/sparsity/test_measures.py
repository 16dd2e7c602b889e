"""What is measured on a model of the study of sparse attention."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures import agreement as measure
from attnlib.studies.sparsity import measures
from attnlib.training.fit import fit


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=20, n_test=60)


@pytest.fixture(scope="module")
def fitted(corpus):
    config = ModelConfig(encoder="lstm", attention="additive", hidden_size=16)
    return fit(corpus, config, TrainConfig(epochs=2, learning_rate=0.01))


def test_readings_cover_the_texts_asked_for_and_label_all(fitted, corpus) -> None:
    found = measures.readings(fitted, corpus, texts=10, hidden_texts=3)
    assert found["agreement"]["instance"].nunique() == found["spread"]["instance"].nunique() == 10
    assert found["hidden"]["instance"].nunique() == 3
    labels = found["labels"]
    assert list(labels["instance"]) == [example.id for example in corpus.test]
    assert ((labels["truth"] == labels["prediction"]) == (labels["value"] == 1)).all()


def test_changes_that_differ_by_rounding_alone_are_tied() -> None:
    changes = measure.resolved(np.array([-0.2, 0.2 + 4e-8, 3e-7, 0.0, 0.100002, 0.1]))
    assert changes[0] == changes[1]
    assert (changes[2:4] == 0).all()
    assert changes[4] > changes[5]


def test_a_text_agrees_alone_as_it_does_among_others(fitted, corpus) -> None:
    """Changes that are equal but for rounding would be ordered by it. One may lie on the edge of a step."""
    kinds = ["leave_one_out_input", "leave_one_out_hidden"]
    together, _ = measure.attention_agreement(fitted, corpus.test, kinds)
    alone = pd.concat([measure.attention_agreement(fitted, [example], kinds)[0] for example in corpus.test])
    first, second = (f.set_index(["instance", "importance"])["value"].sort_index() for f in (together, alone))
    assert ((first - second).abs() > 1e-9).sum() <= 1


def test_appendix_has_the_length_of_every_state(fitted, corpus) -> None:
    frame = measures.appendix(fitted, corpus, texts=2)
    for name, part in frame.groupby("instance"):
        (example,) = [e for e in corpus.test if e.id == name]
        trace = fitted.trace([example])
        np.testing.assert_allclose(part["norm"], trace.hidden[0].norm(dim=-1).numpy(), rtol=1e-6)


def test_a_duel_has_one_row_per_test_text(fitted, corpus) -> None:
    found = measures.duel(fitted, fitted, corpus)
    assert list(found["instance"]) == [example.id for example in corpus.test]
    assert (found["right_base"] == found["right_adversary"]).all()
    np.testing.assert_allclose(found["jsd"], 0, atol=1e-6)
