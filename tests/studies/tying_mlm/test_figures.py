"""Word-level objectives: every figure on frames made by hand, of one corpus and of two."""

from __future__ import annotations

import dataclasses

import pandas as pd
import pytest

from attnlib.data import load_corpus
from attnlib.studies.results import Results
from attnlib.studies.study import Study
from attnlib.studies.tying_mlm import figures
from attnlib.studies.tying_mlm.params import Params
from attnlib.training.fit import fit
from attnlib.utils.errors import DataError
from attnlib.viz import plots
from tests.studies.tying_mlm.frames import STEADY, changed, distances_of, kept_of, results, swaps_of

FRAMES = ("swaps", "texts", "information", "distances")


@pytest.fixture(scope="module")
def one() -> Results:
    found = results()
    weaker = swaps_of({"tying": STEADY}, seeds=(0,), strength=2.0, chosen=False)
    texts = found.texts[(found.texts["variant"] == "tying") & (found.texts["seed"] == 0)]
    swaps = pd.concat([found.swaps.assign(strength=1.0), weaker], ignore_index=True)
    return changed(
        found,
        swaps=swaps,
        kept=kept_of(swaps),
        texts=pd.concat([found.texts.assign(strength=1.0), texts.assign(strength=2.0, chosen=False)]),
    )


@pytest.fixture(scope="module")
def two(one) -> Results:
    frames = {name: getattr(one, name) for name in FRAMES}
    return results(
        **{name: pd.concat([f, f.assign(dataset="own")], ignore_index=True) for name, f in frames.items()}
    )


NAMES = ("drops", "drops-macro", "information", "per_token", "frontier", "strength", "layers", "entropy")


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
    for name, lines in {"drops": 4, "drops-macro": 4, "information": 4, "per_token": 3}.items():
        (axis,) = found[name].axes
        told = [label.get_text() for label in axis.get_yticklabels()]
        assert [t.split(",")[0] for t in told] == ["sst"] * lines + ["own"] * lines, name
    for name, panels in {"frontier": 2, "strength": 8, "layers": 4}.items():
        titles = [axis.get_title(loc="left") for axis in found[name].axes]
        assert len(titles) == panels, name
        assert sum("own" in title for title in titles) == panels / 2, name
        assert found[name].get_size_inches()[0] < 10, "panels go below each other, not ever further to the right"
    told = [label.get_text().split("\n")[0] for label in found["entropy"].axes[0].get_xticklabels()]
    assert told == ["sst", "own"]


def test_a_score_and_its_changes_have_axes_of_their_own(one) -> None:
    axes = drawn(one)["strength"].axes
    told = {axis.get_ylabel(): set(axis.get_legend_handles_labels()[1]) for axis in axes}
    assert told.pop("macro-F1 (points)") == {"macro-F1"}
    changes = told.pop("change (points)")
    assert changes
    assert all("Δ" in name for name in changes), changes


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
    models = {
        v: fit(corpus, params.model("planted", v, "additive"), params.training, seed=0) for v in ("base", "tying")
    }
    (example,) = figures.readable(corpus.dev, 1)
    assert 8 <= len(example) <= 24
    figure, readings = figures.sentences(models, example)
    assert [len(r.rows["probability"]) for r in readings.values()] == [len(example)] * 2
    assert readings["tying"].target == readings["base"].predicted
    assert len(figure.axes) == 1
    long = dataclasses.replace(example, tokens=example.tokens * 5, rationale=None)
    (axis,) = figures.sentences(models, long)[0].axes
    assert len(axis.get_xticks()) == plots.TOKENS, "names of 200 tokens lie on each other"
    with pytest.raises(DataError, match="base predicts"):
        figures.sentences({"tying": models["tying"]}, example)
    assert figures.readable(corpus.dev, 0) == []
