"""Figures of the erasure study: panels, empty ones, and their weight."""

from __future__ import annotations

import io

import numpy as np
import pandas as pd
import pytest

from attnlib.studies.erasure import figures, numbers
from attnlib.studies.erasure.grid import BEYOND
from attnlib.studies.erasure.measures import RANKINGS
from tests.studies.erasure.frames import MODELS, few, firsts, singles

NEVER = {name: [None, None] for name in RANKINGS}
ONCE = {name: [3, None] for name in RANKINGS}


def test_without_a_text_to_draw_a_figure_says_so():
    for figure in (figures.delta_scatter, figures.negative_histogram, figures.flip_bars):
        assert "more than one item" in figure(few(0)).axes[0].texts[0].get_text()


def test_counts_start_at_zero_where_attention_is_never_wrong():
    single = few(1).assign(delta_js=0.1)
    assert all(axis.get_ylim()[0] == 0 for axis in figures.negative_histogram(single).axes)


@pytest.mark.parametrize("value", ["fraction", "mass_removed"])
def test_every_model_has_a_panel(value):
    fractions = pd.concat([firsts(ONCE, encoder=encoder) for encoder in MODELS], ignore_index=True)
    drawn = figures.fraction_boxes(fractions, value)
    titles = {axis.get_title(loc="left").split("\n")[0] for axis in drawn.axes}
    assert titles == {f"d, {numbers.model_name(encoder)}" for encoder in MODELS}


@pytest.mark.parametrize("removed", [NEVER, ONCE])
def test_models_of_the_other_papers_that_hardly_flip(removed):
    names = list(BEYOND["scaling"])
    fractions = pd.concat([firsts(removed, variant=name) for name in names])
    assert len(figures.beyond_boxes(fractions, "scaling").axes) == len(names)


def test_points_are_pixels_so_that_a_report_stays_light():
    """Thousands of points as vectors weigh a megabyte."""
    rng = np.random.default_rng(0)
    n = 1500
    single = singles([(False, False)] * n, delta_js=rng.normal(size=n), delta_alpha=rng.random(n))
    counts = {name: [10] * (n - 300) + [*rng.integers(1, 7, 300)] for name in RANKINGS}
    for chart in (figures.delta_scatter(single), figures.fraction_boxes(firsts(counts))):
        drawn = io.StringIO()
        chart.savefig(drawn, format="svg")
        assert "<image" in drawn.getvalue()
        assert len(drawn.getvalue()) < 90_000
