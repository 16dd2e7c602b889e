"""What an axis cuts off is found, and axes that start at zero cut nothing off."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from attnlib.reports import output as report
from attnlib.viz.plots import from_zero
from tests.limits import outside, touching

X = [0.0, 1.0, 2.0]
DRAWN = {
    "line": lambda axis: axis.plot(X, [0, 1, 5]),
    "marker at the edge": lambda axis: axis.plot(X, [0.5, 1, 2], "o", ms=12),
    "whisker": lambda axis: axis.errorbar(X, [0.5, 1, 1.5], yerr=0.9),
    "bar": lambda axis: axis.bar(X, [1, 1, 3]),
    "area": lambda axis: axis.fill_between(X, [0.5, 1, 1], [1, 1, 4]),
    "points": lambda axis: axis.scatter(X, [0.5, 1, 3]),
    "annotation": lambda axis: axis.annotate("λ", (1, 3)),
}


@pytest.mark.parametrize("kind", DRAWN)
def test_what_leaves_the_axes_is_found(kind: str) -> None:
    figure = Figure()
    axis = figure.subplots()
    DRAWN[kind](axis)
    axis.set(xlim=(-1, 3), ylim=(0, 2))
    assert outside(figure)
    axis.set_ylim(-1, 6)
    assert not outside(figure)


def test_what_is_not_drawn_or_drawn_to_be_long_is_no_loss() -> None:
    figure = Figure()
    axis = figure.subplots()
    axis.plot(X, [1, np.nan, 1.5])
    axis.axhline(1.2)
    axis.axline((0, 0), slope=1)
    axis.plot(X, [9, 9, 9], visible=False)
    axis.set(xlim=(-1, 3), ylim=(0, 2))
    assert not outside(figure)


@pytest.mark.parametrize("first", [1.0, 4.0])
def test_axes_from_zero_hold_their_data(first: float) -> None:
    figure = Figure()
    axes = figure.subplots(1, 2, sharey=True)
    for axis, height in zip(axes, (first, 3.0), strict=True):
        axis.errorbar(X, [0.0, height / 2, height], yerr=[0, 0.2, 0.6], fmt="o")
    near = Figure()
    near.subplots().errorbar(X, [0.99, 1.0, 1.0], yerr=[0.01, 0, 0], fmt="o")
    for drawn in (figure, near):
        from_zero(drawn.axes)
        assert not outside(drawn)
        assert drawn.axes[0].get_ylim()[0] < 0 < 0.1 * drawn.axes[0].get_ylim()[1]
    assert near.axes[0].get_ylim()[1] < 1.1


def test_a_figure_with_a_fault_is_refused_in_tests_alone(tmp_path: Path, monkeypatch) -> None:
    figure = Figure(figsize=(6, 3), layout="constrained")
    axes = figure.subplots(1, 2)
    assert touching(figure) == []
    for axis, title in zip(axes, ("a title that is longer than its panel is wide", "another"), strict=True):
        axis.set_title(title, loc="left")
    assert touching(figure) == [("a title that is longer than its panel is wide", "another")]
    with pytest.raises(AssertionError, match="has texts that touch"):
        report.Output(tmp_path).figure(figure, "bad")
    monkeypatch.delenv(report.STRICT)
    report.Output(tmp_path).figure(figure, "bad")  # a reader's run is never lost to it
    assert (tmp_path / "figures" / "bad.svg").exists()
