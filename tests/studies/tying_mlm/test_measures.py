"""The study's measures on small trained models, and what the notebook draws and says of them."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from attnlib.config import TrainConfig
from attnlib.data import load_corpus
from attnlib.store.specs import columns
from attnlib.studies.tying_mlm import claims, figures, frontier, tables, words
from attnlib.studies.tying_mlm import grid as study
from attnlib.studies.tying_mlm.measures import behaviour, distances, imitate, knowledge
from attnlib.training.fit import fit
from attnlib.utils.errors import DataError

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


@pytest.fixture(scope="module")
def two(results) -> study.Results:
    """The same with a second, smaller corpus, whose texts are numbered alike."""
    frames = {}
    for name in ("swaps", "texts", "kept", "information", "distances"):
        frame = getattr(results, name)
        small = frame[frame["instance"] < 30] if "instance" in frame else frame
        frames[name] = pd.concat([frame, small.assign(dataset="sst")], ignore_index=True)
    return dataclasses.replace(results, **frames)


class _Given:
    def __init__(self, known):
        self.known = known

    def __getitem__(self, data):
        return self.known[data.corpus]


def test_checks_pass_and_can_fail(results, corpus) -> None:
    known = {"planted": corpus}
    assert [name for name, passed in words.checks(results, PARAMS, known).items() if not passed] == []
    broken = dataclasses.replace(
        results,
        swaps=results.swaps[results.swaps["draw"] < 2].assign(change=0.5, prediction=0),
        texts=results.texts.assign(entropy=2.0),
        information=results.information.assign(value=99.0),
        distances=results.distances.assign(jsd=1.0),
    )
    other = {"planted": dataclasses.replace(corpus, test=corpus.test[:-1])}
    found = words.checks(broken, PARAMS, other)
    assert [name for name, passed in found.items() if passed] == []
    less = results.information["value"].where(results.information["variant"] != "residual", 0.0)
    known_less = dataclasses.replace(results, information=results.information.assign(value=less))
    assert all(words.checks(known_less, PARAMS, known).values()), "what the states know is a finding, not a check"


def test_checks_of_two_corpora_count_each(two, corpus) -> None:
    params = PARAMS.replace(corpora=("planted", "sst"), adversary_corpora=("planted", "imdb"))
    small = dataclasses.replace(corpus, name="sst", test=corpus.test[:30])
    known = {"planted": corpus, "sst": small, "imdb": corpus}
    assert all(words.checks(two, params, known).values())
    # as many texts in all, and yet not those of each corpus
    swapped = {"planted": dataclasses.replace(corpus, test=corpus.test[:30]), "sst": corpus}
    swapped["sst"] = dataclasses.replace(corpus, name="sst")
    assert not words.checks(two, params, swapped)["every model answered every test text"]


def test_checks_know_a_corpus_whose_name_is_not_its_source(results, corpus) -> None:
    for entry in ("texts/planted.csv", {"path": "reviews.csv", "name": "planted"}):
        params = PARAMS.replace(corpora=(entry,))
        assert all(words.checks(results, params, {"planted": corpus}).values()), entry


def test_what_differs_from_the_paper_is_said_where_it_does(corpus) -> None:
    assert words.about_corpora([corpus]) == ["The paper has no corpus like planted."]
    told = words.about_corpora([dataclasses.replace(corpus, name=name) for name in ("20news", "imdb")])
    assert len(told) == 2
    assert "split by date" in told[0]
    here = words.about_clustering(PARAMS.replace(mi_words=200))
    assert "200 words" in here
    assert "not the values" in here
    there = PARAMS.replace(mi_words=1000, mi_clusters=1000, mi_batch=100, mi_occurrences=1_000_000)
    assert "sizes can be compared" in words.about_clustering(there)


@pytest.mark.parametrize(
    ("low", "high", "said"), [(0.1, 0.3, ") raise"), (-0.3, -0.1, ") lower"), (-0.1, 0.1, "neither")]
)
def test_what_the_residual_adds_is_told_and_not_demanded(low, high, said) -> None:
    gaps = pd.DataFrame([{"contrast": "residual - base", "low": low, "high": high}])
    assert said in words.about_residual(gaps)[0]
    assert words.about_residual(gaps.assign(contrast="mlm - base")) == []


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


def drawn(results: study.Results) -> dict:
    return {
        "drops": figures.drops(tables.f1_table(results.swaps)),
        "information": figures.information(tables.information_table(results.information)),
        "probabilities": figures.probabilities(tables.probability_table(results.texts)),
        "frontier": figures.frontier(frontier.frontier_table(results.distances)),
        "strength": figures.by_strength(tables.ablation_table(results.swaps, results.texts)),
        "layers": figures.by_layers(tables.layer_table(results.swaps)),
        "entropies": figures.entropies(tables.entropies(results.texts)),
    }


def test_every_figure_is_drawn_with_title_and_axes(results, two) -> None:
    for found in (results, two):
        for figure in drawn(found).values():
            assert "<svg" in figure.svg()
            for axis in figure.axes:
                assert axis.get_title(loc="left")
                assert axis.get_xlabel()


def test_figures_of_two_corpora_keep_them_apart(two) -> None:
    found = drawn(two)
    for name, lines in {"drops": 4, "information": 3, "probabilities": 3}.items():
        (axis,) = found[name].axes
        told = [label.get_text() for label in axis.get_yticklabels()]
        assert len(told) == 2 * lines, name
        assert [t.split(",")[0] for t in told] == ["planted"] * lines + ["sst"] * lines, name
    for name, panels in {"frontier": 2, "strength": 2, "layers": 4}.items():
        titles = [axis.get_title(loc="left") for axis in found[name].axes]
        assert len(titles) == panels, name
        assert sum("sst" in title for title in titles) == panels / 2, name
        assert found[name].get_size_inches()[0] < 10, "panels go below each other, not ever further to the right"
    told = [label.get_text().split("\n")[0] for label in found["entropies"].axes[0].get_xticklabels()]
    assert told == ["planted", "sst"]


def test_words_and_claims_of_two_corpora_name_them(two, results, monkeypatch) -> None:
    monkeypatch.setattr(claims, "unlearned", lambda swaps: swaps[:0])  # two epochs teach some of them nothing
    f1, mi = tables.f1_table(two.swaps), tables.information_table(two.information)
    assert "over attentions and corpora" in words.about_drops(f1, tables.fragility_table(two.swaps))[0]
    assert words.about_paper(f1)
    known = tables.changes(two.information, ["residual"], pair=["metric"])
    by_corpus = {
        "information": (words.about_information(mi, known), 2),
    }
    for name, (told, each) in by_corpus.items():
        for dataset in ("planted", "sst"):
            assert sum(sentence.startswith((f"{dataset}:", f"{dataset},")) for sentence in told) == each, name
    found = {c.id: c for c in claims.claims(two, "two corpora")}
    assert found["tying_mlm-fragile-tying"].n == found["tying_mlm-init-constant"].n == 40 + 30
    assert set(found) == {c.id for c in claims.claims(results, "one corpus")}


def test_a_start_has_the_interval_of_its_own_corpus(two) -> None:
    table = tables.initialisation_table(two.swaps, two.texts)
    (row,) = table[
        (table["dataset"] == "sst") & (table["init"] == "kaiming") & (table["metric"] == "normalised entropy")
    ].itertuples()
    assert row.ours == f"{row.value:.3f} [{row.low:.3f}, {row.high:.3f}]"


def test_labels_of_a_frontier_do_not_overlap() -> None:
    lams = [0.0, 0.001, 0.0025, 0.005, 0.01, 0.1, 1.0]
    rows = [
        {"dataset": "sst", "variant": v, "λ": lam, "jsd": jsd, "tvd": 0.05 + shift, "n": 9}
        for v, shift in (("base", 0.0), ("mlm", 0.2))
        for lam, jsd in zip(lams, [0.1, 0.101, 0.102, 0.103, 0.104, 0.4, 0.6], strict=True)
    ]
    table = pd.DataFrame(rows)
    table = table.assign(**{f"{k}_{end}": table[k] for k in ("jsd", "tvd") for end in ("low", "high")})
    figure = figures.frontier(table)
    figure.draw_without_rendering()
    (axis,) = figure.axes
    boxes = [text.get_window_extent() for text in axis.texts]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert sorted(text.get_text() for text in axis.texts) == sorted(["0", "0.1", "1"] * 2)


def test_a_sentence_as_the_models_read_it(corpus) -> None:
    models = {
        v: fit(corpus, PARAMS.model("planted", v, "additive"), PARAMS.training, seed=0) for v in ("base", "tying")
    }
    (example,) = figures.readable(corpus.dev, 1)
    assert 8 <= len(example) <= 24
    figure, readings = figures.sentences(models, example)
    assert [len(r.rows["probability"]) for r in readings.values()] == [len(example)] * 2
    assert readings["tying"].target == readings["base"].predicted
    assert "of the tokens alone give the answer of the whole" in words.about_sentence(readings)
    assert len(figure.axes) == 1
    long = dataclasses.replace(example, tokens=example.tokens * 5, rationale=None)
    (axis,) = figures.sentences(models, long)[0].axes
    assert len(axis.get_xticks()) == figures.LINE, "names of 200 tokens lie on each other"
    assert f"{len(long)} tokens, the first 30" in axis.get_title(loc="left")
    with pytest.raises(DataError, match="base predicts"):
        figures.sentences({"tying": models["tying"]}, example)
    assert figures.readable(corpus.dev, 0) == []


def test_sentences_carry_their_numbers(results) -> None:
    f1, gaps = tables.f1_table(results.swaps), tables.fragility_table(results.swaps)
    told = words.about_drops(f1, gaps)
    base = f1[(f1["variant"] == "base") & (f1["metric"] == "f1_trained")]["value"].mean()
    assert f"base {base:.1f}" in told[0]
    alike = words.about_drops(f1, gaps.assign(estimate=0.0, p_holm=1.0))
    assert alike[1].startswith("**residual** loses as much as base on average")
    assert words.about_paper(f1) == ["The paper prints no numbers for this corpus or one like it."]
    assert "have the paper's sign" in words.about_paper(f1.assign(paper=f1["value"]))[0]
    assert f"{len(results.kept)} classifiers" in words.about_runs(results)[1]
    mi = tables.information_table(results.information)
    said = words.about_information(mi, tables.changes(results.information, ["residual"], pair=["metric"]))
    assert len(said) == 3
    assert "k = 15" in said[0]
    points = frontier.frontier_table(results.distances)
    gap = frontier.frontier_gap(results.distances, "tying", "base")
    nothing = gap._replace(estimate=np.nan)
    assert "share no JSD" in words.about_adversaries(points, {"tying": nothing})[-1]
    quiet = tables.changes(tables.correct(study.main(results.texts)), ["tying"])
    assert f"{quiet['estimate'][0]:+.3f}" in words.about_tokens(quiet)[0]
