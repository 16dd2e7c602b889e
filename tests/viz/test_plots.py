"""Figures state their n, keep every row, and leave pyplot alone."""

import io

import matplotlib as mpl
import pandas as pd
import pytest

from attnlib.utils.errors import DataError
from attnlib.viz import plots


@pytest.fixture
def measured():
    rows = [("top", "a", 0.3, 0.2, 0.5), ("random", "a", 0.1, 0.05, 0.2), ("top", "b", 0.4, 0.3, 0.5)]
    rows.append(("random", "b", 0.2, 0.1, 0.4))
    frame = pd.DataFrame(rows, columns=["what", "level", "value", "low", "high"])
    return frame.assign(n=50)


def texts(figure):
    """Every string the figure draws."""
    figure.draw_without_rendering()
    return [t.get_text() for t in figure.findobj(mpl.text.Text) if t.get_text()]


def test_intervals_reach_from_low_to_high(measured):
    figure = plots.intervals(measured, "what", hue="level", title="t", x="share", percent=True)
    axis = figure.axes[0]
    reaches = [segment[:, 0].tolist() for line in axis.collections for segment in line.get_segments()]
    assert reaches == [pytest.approx(pair) for pair in ([0.2, 0.5], [0.05, 0.2], [0.3, 0.5], [0.1, 0.4])]
    drawn = texts(figure)
    assert "top  (n = 50)" in drawn
    ticks = [text for text in drawn if text.endswith("%")]
    assert ticks
    assert not any("." in tick for tick in ticks), "no digits that say nothing"


def test_shares_have_no_ticks_below_zero(measured):
    none = measured.assign(value=0.0, low=0.0, high=0.0)
    axis = plots.intervals(none, "what", hue="level", title="t", x="share", percent=True).axes[0]
    assert axis.get_xlim()[0] < 0, "markers are whole"
    assert min(axis.get_xticks()) >= 0
    gaps = measured.assign(value=-0.2, low=-0.4, high=0.1)
    axis = plots.intervals(gaps, "what", hue="level", title="t", x="points", percent=True).axes[0]
    assert min(axis.get_xticks()) < 0, "differences have"


def test_a_box_shows_the_median_and_its_n():
    frame = pd.DataFrame({"x": ["p"] * 5 + ["q"] * 3, "y": [1, 2, 3, 4, 5, 7, 8, 9.0], "h": ["u"] * 8})
    figure = plots.box_by(frame, "x", "y", "h", title="t")
    level = {tuple(line.get_ydata()) for line in figure.axes[0].lines}
    assert {(3.0, 3.0), (8.0, 8.0)} <= level
    assert {"p\nn = 5", "q\nn = 3", "u"} <= set(texts(figure))


def test_the_same_frame_gives_the_same_file_in_its_own_style_and_pyplot_knows_nothing(measured):
    import matplotlib.pyplot as plt

    before = dict(mpl.rcParams)
    first, second = (plots.intervals(measured, "what", hue="level", title="t", x="x") for _ in range(2))
    assert first._repr_svg_() == second._repr_svg_()
    assert first.svg().count("<text") == 0, "letters are paths"
    with mpl.rc_context({"font.size": 30, "figure.facecolor": "black"}):
        first.savefig(io.BytesIO(), format="png")
    assert max(t.get_fontsize() for t in first.findobj(mpl.text.Text)) < 12
    assert first.get_facecolor() == (1.0, 1.0, 1.0, 1.0)
    assert plt.get_fignums() == []
    assert dict(mpl.rcParams) == before


def test_wrong_frames_are_named(measured):
    with pytest.raises(DataError, match="lacks the column 'waht'; it has what, level"):
        plots.intervals(measured, "waht", title="t", x="x")
    with pytest.raises(DataError, match="no rows"):
        plots.box_by(measured.iloc[:0], "level", "value", title="t")


def test_panels_that_would_be_too_wide_for_a_page_go_below_each_other():
    for n, rows in ((2, 1), (3, 2), (4, 2), (5, 3)):
        figure, drawn = plots.panels([f"corpus {k}" for k in range(n)], 3.6, 3.0)
        assert len(figure.axes) == len(drawn) == n
        assert figure.get_size_inches()[0] <= plots.PAGE
        assert figure.get_size_inches()[1] == 3.0 * rows
        for name, axis in drawn.items():
            plots.label(axis, name, "x", "y", outer=True)
        lowest = [axis.get_xlabel() for axis in drawn.values()]
        assert lowest == [""] * (n - min(n, 2)) + ["x"] * min(n, 2), "one x per column, also above a gap"
