"""Word-level objectives: every figure on frames made by hand, of one corpus and of two."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from attnlib.data import load_corpus
from attnlib.studies.results import Results
from attnlib.studies.study import Study
from attnlib.studies.tying_mlm import figures, grid
from attnlib.studies.tying_mlm.params import Params
from attnlib.training.fit import fit
from attnlib.viz import plots
from tests.studies.tying_mlm.frames import distances_of, results

FRAMES = ("swaps", "texts", "information", "distances")


@pytest.fixture(scope="module")
def one() -> Results:
    return results()


@pytest.fixture(scope="module")
def two(one) -> Results:
    frames = {name: getattr(one, name) for name in FRAMES}
    return results(
        **{name: pd.concat([f, f.assign(dataset="own")], ignore_index=True) for name, f in frames.items()}
    )


NAMES = ("drops", "information", "per_token", "frontier")


def drawn(found: Results) -> dict:
    return {name: Study("tying_mlm").figures[name].drawn(found) for name in NAMES}


def test_every_figure_is_drawn_with_title_and_axes(one) -> None:
    for name, figure in drawn(one).items():
        assert "<svg" in figure.svg()
        for axis in figure.axes:
            assert axis.get_title(loc="left"), name
            assert axis.get_xlabel(), name


def test_figures_of_two_corpora_keep_them_apart(two) -> None:
    found = drawn(two)
    for name, lines in {"drops": 6, "information": 4, "per_token": 4}.items():
        (axis,) = found[name].axes
        told = [label.get_text() for label in axis.get_yticklabels()]
        assert [t.split(",")[0] for t in told] == ["sst"] * lines + ["own"] * lines, name
    assert [axis.get_title(loc="left").split()[0] for axis in found["frontier"].axes] == ["sst", "own"]


def test_labels_of_a_frontier_do_not_overlap() -> None:
    lams = [0.0, 0.001, 0.0025, 0.005, 0.01, 0.1, 1.0]
    places = [0.1, 0.101, 0.102, 0.103, 0.104, 0.4, 0.6]
    curves = {v: [(jsd, 0.05 + shift) for jsd in places] for v, shift in (("base", 0.0), ("mlm", 0.2))}
    frame = distances_of(curves)
    frame["lam"] = frame["lam"].map(dict(enumerate(lams)))
    figure = figures.frontier(results(distances=frame))
    figure.draw_without_rendering()
    (axis,) = figure.axes
    boxes = [text.get_window_extent() for text in axis.texts]
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[:k])
    assert sorted(text.get_text() for text in axis.texts) == sorted(["0", "0.1", "1"] * 2)


def test_a_sentence_as_the_models_read_it() -> None:
    corpus = load_corpus("planted", n_train=60, n_dev=20, n_test=20)
    params = Params(corpora="planted", vectors="none", embedding_size=8, epochs=1)
    specs = {v: grid.fit(params, "planted", v, "additive", 0) for v in ("base", "tying")}
    models = {v: fit(corpus, spec.model, spec.train, seed=0) for v, spec in specs.items()}
    example = corpus.dev[0]
    (axis,) = figures.sentence(models, example).axes
    assert [len(line.get_xdata()) for line in axis.get_lines()[::2]] == [len(example)] * 2
    assert [line.get_label().split(",")[0] for line in axis.get_lines()[::2]] == ["base", "tying"]
    long = dataclasses.replace(example, tokens=example.tokens * 5, rationale=None)
    (axis,) = figures.sentence(models, long).axes
    assert len(axis.get_xticks()) == plots.TOKENS, "names of 200 tokens lie on each other"
