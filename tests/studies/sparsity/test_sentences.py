"""The study of sparse attention where nothing is ordered, along realised sparsity, and at the edge of precision."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures import agreement as measure
from attnlib.studies.sparsity import figures, measures, words
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.claims import claims
from attnlib.studies.sparsity.trends import trends
from attnlib.training.fit import fit
from tests.studies.sparsity.frames import found


def test_constant_attention_is_the_reason_where_it_leaves_no_trend() -> None:
    results = found()
    flat = results.agreement["lam"] == -10
    results.agreement.loc[flat, ["value", "status"]] = [np.nan, "constant attention"]
    trended = trends(results)
    assert trended["gradient"]["note"].tolist() == ["no trend: attention is constant at λ = -10"] * 2
    one = {claim.id: claim for claim in claims(results, trended)}["sparsity-9"]
    assert one.verdict == "undetermined"
    assert "attention is constant at λ = -10" in one.setting
    (said,) = words.about_trends(trended, "gradient")
    assert "BiLSTM, additive no trend: attention is constant at λ = -10" in said


def test_texts_of_one_word_give_plain_sentences() -> None:
    results = found()
    results.agreement = results.agreement.assign(value=np.nan, status="one token", tied=np.nan)
    results.entropies["value"] = results.entropies["value"].where(results.entropies["metric"] == "support_share")
    results.hidden = results.hidden.assign(value=np.nan, own=np.nan, even=np.nan)
    trended = trends(results)
    said = [
        *words.about_ties(results.agreement, results.entropies),
        *words.about_agreement(results.agreement, "gradient"),
        *words.about_entropy(results.entropies),
        *words.about_lambda(trended),
        *words.about_trends(trended, "support", "hidden", "gradient", "leave_one_out"),
        *words.about_entmax(results.agreement, results.entropies),
    ]
    assert not [sentence for sentence in said if "nan" in sentence or "unknown" in sentence or "**–" in sentence]
    assert "no text has two words" in said[0]


def test_a_softmax_that_underflows_is_said_and_no_fault() -> None:
    results = found()
    share = results.entropies["metric"] == "support_share"
    soft = results.entropies["projection"] == "softmax"
    results.entropies.loc[share & soft, "value"] = 1.0
    assert "softmax gives weight to every word, sparsemax" in words.about_support(results.entropies)[0]
    lost = soft & share & (results.entropies["instance"] == "test-0")
    results.entropies.loc[lost, "value"] = 0.9
    assert "rounds some to zero in 2.5% of texts" in words.about_support(results.entropies)[0]
    results.entropies["value"] = results.entropies["value"].clip(0, 1)
    params = study.Params(corpora=("sst",), lambdas=(-10, -1, 0, 0.5), entmax_alphas=(), pair_seeds=(2,))
    assert all(study.checks(results, params).values())


def test_realised_sparsity_is_the_axis_on_which_both_paths_meet() -> None:
    results = found()
    chart = figures.against_support(
        results.agreement, results.entropies, "importance", ["gradient_input"], title="t", y="y"
    )
    for axis in chart.axes:
        lines = {box.get_label(): box.lines[0].get_xydata() for box in axis.containers}
        assert list(lines) == ["gradient, sparsegen", "gradient, entmax"]
        sparsegen, entmax = lines.values()
        np.testing.assert_allclose(sparsegen[:, 0], [0.1, 0.3, 0.5, 0.7], atol=0.01)
        assert (np.diff(sparsegen[:, 1]) > 0).all()  # the agreement falls as attention becomes sparser
        np.testing.assert_allclose(sparsegen[1], entmax[0], atol=0.01)  # sparsemax
        left, right = axis.get_xlim()
        assert left > right


def test_the_agreement_of_entmax_is_said() -> None:
    results = found()
    said = words.about_entmax(results.agreement, results.entropies)
    assert len(said) == 2
    assert said[0].startswith(
        "sst, BiLSTM, additive, along entmax: agreement with gradient and leave-one-out, α = 1 ("
    )
    assert "of words with weight) 0.40 and 0.40; α = 2 (" in said[0]


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=20, n_test=60)


@pytest.fixture(scope="module")
def fitted(corpus):
    config = ModelConfig(encoder="lstm", attention="additive", hidden_size=16)
    return fit(corpus, config, TrainConfig(epochs=2, learning_rate=0.01))


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


def test_captions_say_whose_values_stand_beside_ours() -> None:
    said = words.not_the_same(["rotten_tomatoes", "sst", "20news"])
    assert said == (
        " Not the same texts: rotten_tomatoes and the paper's sst, 20news and the paper's 20news "
        "(see the first table)."
    )
    assert words.not_the_same(["sst"]) == ""
