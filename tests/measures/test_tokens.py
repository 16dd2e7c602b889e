"""What single tokens say alone: by hand, against the definition, whatever the batches."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlib import stats
from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.data.types import Example
from attnlib.measures.tokens import token_probabilities, token_table
from attnlib.training.fit import fit


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=60, n_dev=20, n_test=30)


def model(corpus, **options):
    return fit(corpus, ModelConfig(hidden_size=16, embedding_size=8, **options), TrainConfig(epochs=1), seed=0)


@pytest.mark.parametrize("options", [{}, {"scaling": "lin"}, {"regulariser": "concat"}], ids=str)
def test_all_attention_on_one_token_gives_its_probability(corpus, options) -> None:
    trace = model(corpus, **options).trace(corpus.test[:5])
    found = token_probabilities(trace)
    for b, t in ((0, 0), (1, 3), (4, 2)):
        context = trace.hidden[b, t] * (1.0 if trace.scale is None else trace.scale[b, t])
        assert torch.allclose(found[b, t], (trace.weight @ context + trace.bias).softmax(-1), atol=1e-6)


def test_the_answer_is_the_weighted_mean_of_what_tokens_say(corpus) -> None:
    trace = model(corpus).trace(corpus.test[:5])
    alone = trace.token_logits + trace.bias
    assert torch.allclose((trace.alpha.unsqueeze(-1) * alone).sum(1), trace.logits, atol=1e-5)


def test_a_table_by_hand(corpus) -> None:
    fitted = model(corpus)
    with torch.no_grad():  # tokens alone say exactly softmax(b), whatever they are
        fitted.model.decoder.weight.zero_()
        fitted.model.decoder.bias.copy_(torch.tensor([0.0, 1.0]))
    table = token_table(fitted, corpus.test)
    p = float(np.e / (1 + np.e))
    assert (table["prediction"] == 1).all()
    assert table["confidence"].to_numpy() == pytest.approx(p, abs=1e-6)
    assert table["token_probability"].to_numpy() == pytest.approx(p, abs=1e-6)


def test_a_table_agrees_with_single_texts_in_any_batch(corpus) -> None:
    fitted = model(corpus)
    table = token_table(fitted, corpus.test)
    few = token_table(fitted, corpus.test, batch_size=3)
    assert table["id"].tolist() == [e.id for e in corpus.test]
    for name in ("token_probability", "entropy", "confidence"):
        np.testing.assert_allclose(table[name], few[name], atol=1e-6)
    trace = fitted.trace([corpus.test[7]])
    chosen = int(trace.prediction)
    alone = token_probabilities(trace)[0, :, chosen].detach()
    assert table["token_probability"][7] == pytest.approx(float(alone.mean()), abs=1e-6)
    assert table["entropy"][7] == pytest.approx(float(stats.normalized_entropy(trace.alpha[0].detach())), abs=1e-6)


def test_one_token_has_no_entropy(corpus) -> None:
    table = token_table(model(corpus), [Example(("wonderful",), 1)])
    assert np.isnan(table["entropy"][0])
    assert table["token_probability"][0] == pytest.approx(table["confidence"][0], abs=1e-6)
