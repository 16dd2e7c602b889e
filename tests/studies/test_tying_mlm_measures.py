"""The study's measures on small trained models, and what the notebook draws and says of them."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.config import TrainConfig
from attnlib.data import load_corpus
from attnlib.errors import DataError
from attnlib.spec import columns
from attnlib.studies import tying_mlm as study
from attnlib.studies import tying_mlm_figures as figures
from attnlib.studies import tying_mlm_tables as tables
from attnlib.studies import tying_mlm_words as words
from attnlib.studies.tying_mlm_measures import behaviour, distances, imitate, knowledge
from attnlib.training import fit

PARAMS = study.Params(
    embedding_size=12, variants=("base", "residual", "tying"), seeds=(0, 1), epochs=2, learning_rate=0.02,
    permutations=3, deltas=(1.0, 5.0), layers=(2,), layer_variants=("base",), lambdas=(0.0, 1.0),
    adversary_bases=("base", "tying"), adversary_epochs=2,
)  # fmt: skip
MI = {"words": 20, "k": 15, "most": 600, "resamples": 10}


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=40, n_test=40)


@pytest.fixture(scope="module")
def results(corpus) -> study.Results:
    """The study's frames without the store."""
    found: dict[str, list[pd.DataFrame]] = {
        "swaps": [],
        "texts": [],
        "kept": [],
        "information": [],
        "distances": [],
    }
    known = {"planted": corpus}
    fitted = {}

    def add(name, frame, run, **more):
        found[name].append(frame.assign(**{**columns(run, _Given(known)), **more}))

    for run in study.models(PARAMS):
        fitted[run] = fit(corpus, run.model, run.train, run.seed)
        for name, frame in behaviour(fitted[run], corpus, permutations=3).items():
            add(name, frame, run)
        if run.model.attention == "additive" and run.label["chosen"] and run.label["layers"] == 1:
            add("information", knowledge(fitted[run], corpus, **MI), run)
    for variant in PARAMS.adversary_bases:
        base = study.fit(PARAMS, "planted", variant, "additive", 0)
        for lam in PARAMS.lambdas:
            run = study.adversary(PARAMS, "planted", variant, lam)
            other = imitate(corpus, run.model, run.train, run.seed, warm_start=fitted[base], **run.params)
            add("distances", distances(fitted[base], other, corpus), base, lam=lam)
    frames = {name: pd.concat(parts, ignore_index=True) for name, parts in found.items()}
    grid = SimpleNamespace(summary="18 runs.", failures=pd.DataFrame(columns=["run", "error", "message"]))
    return study.Results(**frames, grid=grid)


class _Given:
    def __init__(self, known):
        self.known = known

    def __getitem__(self, data):
        return self.known[data.corpus]


def test_checks_pass_and_can_fail(results) -> None:
    assert [name for name, passed in words.checks(results, PARAMS, 40).items() if not passed] == []
    broken = dataclasses.replace(
        results,
        swaps=results.swaps[results.swaps["draw"] < 2].assign(change=0.5, prediction=0),
        texts=results.texts.assign(entropy=2.0),
        information=results.information.assign(value=99.0),
        distances=results.distances.assign(jsd=1.0),
    )
    failed = [name for name, passed in words.checks(broken, PARAMS, 41).items() if not passed]
    assert len(failed) == 7


def test_a_smaller_sample_of_training_texts_keeps_the_vocabulary(corpus, results) -> None:
    base = fit(corpus, PARAMS.model("planted", "base", "additive"), TrainConfig(epochs=0), seed=0)
    train = PARAMS.adversary_training
    other = imitate(corpus, base.model_config, train, 1, warm_start=base, lam=0.0, texts=30)
    assert other.vectoriser.vocabulary.words == base.vectoriser.vocabulary.words
    assert len(other.history) <= PARAMS.adversary_epochs


def test_more_than_two_classes_are_refused() -> None:
    three = load_corpus("planted", n_train=60, n_dev=20, n_test=20, classes=3)
    fitted = fit(three, PARAMS.model("planted", "base", "dot"), TrainConfig(epochs=1), seed=0)
    with pytest.raises(DataError, match="3 classes"):
        behaviour(fitted, three)


def test_every_figure_is_drawn_with_title_and_axes(results, corpus) -> None:
    f1, deep = tables.f1_table(results.swaps), tables.layer_table(results.swaps)
    ablation = tables.ablation_table(results.swaps, results.texts)
    drawn = [
        figures.drops(f1),
        figures.information(tables.information_table(results.information)),
        figures.probabilities(tables.probability_table(results.texts)),
        figures.frontier(tables.frontier_table(results.distances)),
        figures.by_strength(ablation),
        figures.by_layers(deep),
        figures.entropies(tables.entropies(results.texts)),
    ]
    for figure in drawn:
        assert "<svg" in figure.svg()
        for axis in figure.axes:
            assert axis.get_title(loc="left")
            assert axis.get_xlabel()


def test_a_sentence_as_the_models_read_it(corpus) -> None:
    models = {
        v: fit(corpus, PARAMS.model("planted", v, "additive"), PARAMS.training, seed=0) for v in ("base", "tying")
    }
    (example,) = figures.readable(corpus.dev, 1)
    assert 8 <= len(example) <= 24
    figure, readings = figures.sentences(models, example)
    assert [len(r.rows["probability"]) for r in readings.values()] == [len(example)] * 2
    assert readings["tying"].target == readings["base"].predicted
    assert "of the tokens alone say what the whole says" in words.about_sentence(readings)
    assert len(figure.axes) == 1
    with pytest.raises(DataError, match="base predicts"):
        figures.sentences({"tying": models["tying"]}, example)
    assert figures.readable(corpus.dev, 0) == []


def test_sentences_carry_their_numbers(results) -> None:
    f1, gaps = tables.f1_table(results.swaps), tables.fragility_table(results.swaps)
    told = words.about_drops(f1, gaps)
    base = f1[(f1["variant"] == "base") & (f1["metric"] == "f1_trained")]["value"].mean()
    assert f"base {base:.1f}" in told[0]
    assert words.about_paper(f1) == ["The paper prints no numbers for this corpus or one like it."]
    assert "have the paper's sign" in words.about_paper(f1.assign(paper=f1["value"]))[0]
    assert f"{len(results.kept)} classifiers" in words.about_runs(results)[1]
    mi = tables.information_table(results.information)
    said = words.about_information(mi, tables.changes(results.information, ["residual"], pair=["metric"]))
    assert len(said) == 3
    assert "k = 15" in said[0]
    points = tables.frontier_table(results.distances)
    gap = tables.frontier_gap(results.distances, "tying", "base")
    nothing = gap._replace(estimate=np.nan)
    assert "share no JSD" in words.about_adversaries(points, {"tying": nothing})[-1]
    assert len(words.about_layers(tables.layer_table(results.swaps))) == 1
    assert len(words.about_initialisation(tables.initialisation_table(results.swaps, results.texts))) == 2
    alone = tables.probability_table(results.texts)
    quiet = tables.changes(tables.correct(study.main(results.texts)), ["tying"])
    assert f"{quiet['estimate'][0]:+.3f}" in words.about_tokens(alone, quiet)[1]
