"""The erasure study: what its parameters refuse, what its profiles run, and its measures on small models."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.reports.plan import plans
from attnlib.studies.common import CPU_DATA, CPU_MODEL, CPU_TRAIN
from attnlib.studies.erasure import grid as study
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError

DATA = paths.development_data()


def profile(name):
    (plan,) = plans(["05_erasure"], name, [])
    return study.Params(**plan.values)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"corpora": ["bbcc"]}, "Did you mean 'bbc'"),
        ({"architectures": {"planted": ["hen"]}}, "'han' or 'flan'"),
        ({"architectures": {"planted": []}}, "at least one"),
        ({"corpora": []}, "at least one"),
        ({"encoders": ["rnn", "rnn"]}, "each once"),
        ({"encoders": ["lstm"]}, "'rnn', 'conv' or 'noenc'"),
        ({"seeds": []}, "at least one"),
        ({"architectures": {"yelp": ["han"]}}, "Unknown corpus in architectures"),
        ({"settings": "paper"}, "settings of the paper"),
        ({"vectors": "glove", "embedding_size": 100}, "50 wide"),
        ({"beyond": "nowhere"}, "Unknown corpus"),
        ({"hiden_size": 4}, "Did you mean 'hidden_size'"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(options, told):
    with pytest.raises(ConfigError, match=told):
        study.Params(**options)


def test_every_profile_is_the_grid_it_says():
    sizes = {}
    for name in ("smoke", "cpu", "paper"):
        runs = study.grid(profile(name))
        fits = [run.fits[0] for run in runs if run.fits]
        sizes[name] = (len(runs), sum(f.model.hierarchical for f in fits))
    beyond = 11
    assert sizes["smoke"] == (1 + 2 * 3 * 2 + beyond, 6)
    assert sizes["cpu"] == (2 + 3 * 3 * 3 + beyond, 9)
    assert sizes["paper"] == (4 + 24 * 3, 36)


def test_a_grid_takes_the_notebooks_values_as_they_are():
    params = profile("smoke")
    assert study.grid(params.model_dump()) == study.grid(params)


def test_the_models_of_the_other_papers_are_trained_as_they_train_them():
    """Equal specs are one model in the store."""
    fits = {run.label["variant"]: run.fits[0] for run in study.grid(profile("cpu")) if "variant" in run.label}
    assert {fit.data for fit in fits.values()} == {CPU_DATA}
    assert {fit.train for fit in fits.values()} == {CPU_TRAIN}
    assert fits["softmax"].model == CPU_MODEL
    assert fits["lin"].model == CPU_MODEL.replace(scaling="lin")
    assert fits["tying"].model == CPU_MODEL.replace(regulariser="tying", hidden_size=50)


def test_paper_settings_are_those_of_the_appendix():
    params = profile("paper")
    han, flan = params.model("yahoo", "han", "rnn"), params.model("yahoo", "flan", "conv")
    assert (han.embedding_dropout, han.sentence_dropout, han.logit_dropout) == (0.4445, 0.2202, 0.3749)
    assert (flan.embedding_dropout, flan.sentence_dropout, flan.logit_dropout) == (0.4445, 0.0, 0.4457)
    assert (flan.dropout, flan.kernel_sizes, han.hierarchical) == (0.3, (3, 5), True)
    assert params.model("yelp", "flan", "noenc").attention_size == 200
    train = params.training("amazon", "rnn")
    assert (train.learning_rate, train.epochs, train.patience, train.clip_norm) == (2e-4, 60, 5, 10.0)
    assert params.training("imdb10", "conv").epochs == 15
    assert (params.training("imdb10", "noenc").epochs, params.training("imdb10", "noenc").patience) == (60, 10)


@pytest.fixture(scope="module", params=["han", "flan"])
def measured(request):
    """A model of each architecture, and what its measure gives on forty texts."""
    corpus = al.load_corpus("planted", n_train=200, n_dev=40, n_test=50, classes=3, shortest=18, longest=36)
    params = study.Params(embedding_size=12, hidden_size=12, epochs=3, learning_rate=0.02)
    model = params.model("planted", request.param, "rnn")
    fitted = al.fit(corpus, model, params.training("planted", "rnn"), seed=3)
    return fitted, corpus, study.erasures(fitted, corpus, texts=40)


def test_a_model_is_measured_once_for_every_test(measured):
    fitted, corpus, found = measured
    assert {name: len(frame) for name, frame in found.items()} == {"right": 50, "single": 240, "fractions": 160}
    assert found["right"]["value"].mean() == pytest.approx(fitted.evaluate(corpus.test)["accuracy"])
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


def test_facts_of_a_corpus():
    corpus = al.load_corpus("planted", n_train=30, n_dev=10, n_test=20, classes=4)
    facts = study.describe(corpus).set_index("metric")
    assert facts.loc[["train_and_dev", "test", "classes"], "value"].tolist() == [40, 20, 4]
    assert facts.loc["avg_words", "value"] == np.mean([len(e) for _, e in corpus.items()])
    assert facts.loc["avg_sentences", "value"] >= 1


@pytest.mark.realdata
@pytest.mark.skipif(DATA is None, reason="needs the raw corpora: set ATTNLIB_DATA")
@pytest.mark.parametrize(
    ("corpus", "options", "classes"),
    [
        ("yelp", {}, 5),
        pytest.param(
            "aclimdb", {"labels": "stars", "preprocessing": {"punctuation": "keep"}}, 8, marks=pytest.mark.slow
        ),
    ],
)
def test_stars_of_real_reviews(corpus, options, classes):
    """Yelp has five stars, IMDB eight; sentences are there, and the tests run through."""
    texts = al.load_corpus(corpus, limit=150, max_length=60, **options)
    assert len(texts.classes) == classes
    facts = study.describe(texts).set_index("metric")["value"]
    assert facts["avg_sentences"] > 2
    params = study.Params(embedding_size=12, hidden_size=12, epochs=2, learning_rate=0.02)
    for architecture in ("han", "flan"):
        model = params.model("planted", architecture, "noenc")
        fitted = al.fit(texts, model, params.training("planted", "noenc"))
        found = study.erasures(fitted, texts, texts=60)
        flips = found["fractions"].query("importance == 'alpha' and length > 1")
        assert len(flips) > 40
        assert flips["fraction"].dropna().between(0, 1).all()
        one = found["single"].query("importance == 'alpha' and sampling == 'any other' and status == 'compared'")
        assert (one["delta_alpha"] >= 0).all()
        assert (one["delta_js"] > 0).mean() > 0.5
