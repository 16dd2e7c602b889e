"""Figures of the study of sparse attention: one corpus each, in the order and at the places that were measured."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib.studies.study import Study
from tests.studies.sparsity.frames import found, two_corpora

FIGURES = Study("sparsity").figures


@pytest.fixture(scope="module")
def both():
    return two_corpora()


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_of_one_corpus_and_names_it(both, name) -> None:
    drawn = FIGURES[name].drawn(both)
    assert list(drawn) == ["sst", "20news"]
    for corpus, figure in drawn.items():
        titles = [axis.get_title(loc="left") for axis in figure.axes]
        assert any(corpus in title for title in [*titles, figure.get_suptitle()])
        assert "<svg" in figure.svg()


def test_boxes_and_lines_stand_in_the_order_of_lambda() -> None:
    (chart,) = FIGURES["entropy-gradient"].drawn(found()).values()
    names = [t.get_text().partition("\nn =")[0] for t in chart.axes[0].get_xticklabels()]
    assert names == ["softmax", "sparsegen\n−10", "sparsegen\n−1", "sparsemax", "sparsegen\n0.5"]
    (chart,) = FIGURES["agreement-lambda"].drawn(found()).values()
    for axis in chart.axes:
        assert [t.get_text() for t in axis.get_xticklabels()] == ["−10", "−1", "0", "0.5"]
        for line in axis.containers:
            x, y = line.lines[0].get_xydata().T
            np.testing.assert_array_equal(x, range(4))
            assert (np.diff(y) < 0).all()  # the agreement falls as attention becomes sparser
