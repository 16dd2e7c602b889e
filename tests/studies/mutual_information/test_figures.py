"""Figures of the study of attention ranks and information: what they show, and that they show all of it."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies.mutual_information import figures
from tests.limits import outside
from tests.studies.mutual_information.frames import GOOD, results, tau_frame, tau_row


@pytest.fixture
def ranks() -> pd.DataFrame:
    rows = pd.DataFrame([tau_row("lstm", a, s, 0.5) | {"rank": r} for a in GOOD for s in (4, 5) for r in (3, 1, 2)])
    size = rows["attention"].map({name: k + 1 for k, name in enumerate(GOOD)}) / rows["rank"]
    told = {"information": 1.0, "low": 0.9, "high": 1.1, "alpha": 0.5}
    return rows.assign(**{name: value * size for name, value in told.items()}, floor=0.1)


def test_curves_are_of_one_training(ranks) -> None:
    axes = figures.curves(results(ranks, ranks=ranks)).axes
    assert [line.get_xdata().tolist() for axis in axes[3:] for line in axis.lines] == [[1, 2, 3]] * 3


def test_every_marker_and_whisker_is_inside(ranks) -> None:
    taus = pd.concat([tau_frame(), tau_frame(dataset="mine.csv", fix_attention=-0.9)])
    charts = [
        figures.curves(results(taus, ranks=ranks)),
        figures.boxes(results(taus)),
        figures.uniformity(results(taus)),
    ]
    assert [outside(chart) for chart in charts] == [[]] * 3
