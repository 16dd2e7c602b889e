"""Figures of the study of sparse attention: one corpus each, in the order and at the places that were measured."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from attnlib.reports import output as report
from attnlib.studies.sparsity import figures
from attnlib.studies.sparsity.params import ATTENTION
from attnlib.utils.errors import DataError
from tests.studies.sparsity.frames import found, two_corpora

CORPORA = ["sst", "20news"]
DRAWN = {
    "boxes of gradient": lambda f: figures.agreement_boxes(f.agreement, "gradient"),
    "boxes of leave-one-out": lambda f: figures.agreement_boxes(f.agreement, "leave_one_out"),
    "entropies": lambda f: figures.entropy_boxes(f.entropies, "entropy_gradient_input"),
    "support": lambda f: figures.along(f.entropies, "metric", ["support_share"], "lam", title="t", y="y"),
    "agreement": lambda f: figures.along(f.agreement, "importance", ["gradient_input"], "lam", title="t", y="y"),
    "sparsity": lambda f: figures.against_support(
        f.agreement, f.entropies, "importance", ["gradient_input"], title="t", y="y"
    ),
    "adversaries": lambda f: figures.adversaries(f.adversaries),
    "facets": lambda f: figures.facets(f.facets),
}


@pytest.fixture(scope="module")
def both():
    return two_corpora()


@pytest.mark.parametrize("name", DRAWN)
def test_a_figure_is_of_one_corpus_and_names_it(both, name) -> None:
    with pytest.raises(DataError, match="one corpus"):
        DRAWN[name](both)
    for corpus in CORPORA:
        alone = both.replace(**{name: rows[rows["dataset"] == corpus] for name, rows in both.frames.items()})
        drawn = DRAWN[name](alone)
        titles = [axis.get_title(loc="left") for axis in drawn.axes]
        assert any(corpus in title for title in [*titles, drawn.get_suptitle()])


def test_adversaries_are_as_far_as_in_their_own_corpus(both) -> None:
    for corpus, drawn in figures.by_corpus(both.adversaries, figures.adversaries).items():
        axes = drawn.axes
        reach = {"sst": 0.6, "20news": 0.4}[corpus]
        places = [line.get_xdata() for axis in axes for box in axis.containers for line in box.lines[:1]]
        assert len(places) == 4
        np.testing.assert_allclose(np.concatenate(places).astype(float), reach)


def test_the_figure_of_adversaries_names_pushes_and_the_distance_asked_for() -> None:
    for axis in figures.adversaries(found(control=0.0).adversaries).axes:
        assert {text.get_text() for text in axis.texts} == {"0.1", "control"}
        upright = [line.get_xdata()[0] for line in axis.get_lines() if len(set(line.get_xdata())) == 1]
        assert figures.FAR in upright


def test_every_corpus_has_a_file_name_of_its_own() -> None:
    frame = pd.DataFrame({"dataset": ["hub:imdb", "data/a b.csv", "data-a-b-csv", "sst"]})
    drawn = figures.by_corpus(frame, lambda part: part["dataset"].item())
    assert list(drawn.values()) == frame["dataset"].tolist()
    assert all(report._safe(file) for file in drawn)
    assert list(drawn)[-1] == "sst"
    assert figures.by_corpus(pd.DataFrame(), figures.facets) == {}


def test_boxes_stand_in_the_order_of_measured_support() -> None:
    chart = figures.entropy_boxes(found().entropies, "entropy_gradient_input")
    names = [t.get_text().partition("\nn =")[0] for t in chart.axes[0].get_xticklabels()]
    assert names == ["softmax", "sparsegen\n−10", "sparsegen\n−1", "sparsemax", "sparsegen\n0.5"]
    results = found()
    share = results.entropies["metric"] == "support_share"
    results.entropies.loc[share, "value"] *= -1
    chart = figures.entropy_boxes(results.entropies, "entropy_gradient_input")
    assert [t.get_text() for t in chart.axes[0].get_xticklabels()][-1].startswith("softmax")


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


def test_a_line_follows_the_seeds_that_trained_the_whole_path() -> None:
    rows = found().entropies
    later = rows.assign(value=rows["value"] + np.where(rows["seed"] == 7, 5.0, 0.0))
    lines = [
        figures.along(f, "metric", ["entropy_gradient_input"], "lam", title="t", y="y")
        for f in (later, rows[rows["seed"] < 7])
    ]
    drawn = [[np.asarray(line.get_ydata(), float) for line in chart.axes[0].get_lines()] for chart in lines]
    for mine, theirs in zip(*drawn, strict=True):
        np.testing.assert_allclose(mine, theirs)


def test_labels_of_eleven_lambdas_do_not_overlap() -> None:
    lambdas = (-100.0, -30.0, -10.0, -3.0, -1.0, -0.3, 0.0, 0.3, 0.5, 0.7, 0.9)
    rows = [
        {
            "dataset": "sst",
            "encoder": e,
            "projection": "sparsegen",
            "lam": lam,
            "seed": 0,
            "instance": i,
            "value": 0.5,
        }
        for e in ATTENTION
        for lam in lambdas
        for i in range(3)
    ]
    name = {"m": "entropy of gradient importance"}  # a legend as wide as the notebook's leaves the panels less room
    frame = pd.DataFrame(rows).assign(metric="m")
    chart = figures.along(frame, "metric", ["m"], "lam", title="t", y="y", names=name)
    FigureCanvasAgg(chart).draw()
    for axis in chart.axes:
        labels = [t for t in axis.get_xticklabels() if t.get_text()]
        boxes = [t.get_window_extent() for t in labels]
        assert {"0", "0.9", "−100"} <= {t.get_text() for t in labels}
        assert all(a.x1 < b.x0 for a, b in pairwise(boxes))
        assert len(axis.get_xticks()) == len(lambdas)
