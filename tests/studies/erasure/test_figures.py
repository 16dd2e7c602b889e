"""Figures of the erasure study: panels, empty ones, and their weight."""

from __future__ import annotations

import io
from types import SimpleNamespace

import numpy as np

from attnlib.studies.erasure import figures
from attnlib.studies.erasure.grid import RANKINGS
from tests.studies.erasure.frames import firsts, singles

ONCE = {name: [3, None] for name in RANKINGS}


def test_points_are_pixels_so_that_a_report_stays_light():
    """Thousands of points as vectors weigh a megabyte."""
    rng = np.random.default_rng(0)
    n = 1500
    single = singles([(False, False)] * n, delta_js=rng.normal(size=n), delta_alpha=rng.random(n))
    counts = {name: [10] * (n - 300) + [*rng.integers(1, 7, 300)] for name in RANKINGS}
    found = SimpleNamespace(single=single, fractions=firsts(counts))
    for chart in (figures.delta_js(found), figures.first_flips("fraction", "share", found)):
        drawn = io.StringIO()
        chart.savefig(drawn, format="svg")
        assert "<image" in drawn.getvalue()
        assert len(drawn.getvalue()) < 90_000
