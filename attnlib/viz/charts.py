"""The look of figures and their parts: a chart in the common style, panels, labels, whiskers, boxes, legends.

A `Chart` draws itself in a notebook as SVG, with letters as paths so that it looks the same everywhere, and leaves
nothing behind in pyplot. `attnlib.viz.plots` has whole figures, and all of this.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.colors
import numpy as np
from matplotlib.figure import Figure

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from numpy.typing import ArrayLike

COLOURS = {
    "blue": "#0072B2", "vermillion": "#D55E00", "green": "#009E73", "purple": "#CC79A7",
    "orange": "#C28500", "sky": "#3399D6", "black": "#000000", "olive": "#959000",
}  # fmt: skip
"""Okabe & Ito's colours, told apart with every common colour blindness; the light ones are darkened, so that each
has a contrast of at least 3 to a white and to a dark page (on which black turns white)."""
CYCLE = tuple(COLOURS.values())
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One per colour, so that series can be told apart in a greyscale print."""
GREY = "#808080"
"""Seen on a white and on a dark page: for what is drawn as pixels, which cannot follow the page as black does."""
DENSITY = mpl.colors.LinearSegmentedColormap.from_list("density", ["#a6cee3", "#3399D6", "#0072B2", "#a03fb5"])
"""From few to many, seen on a white and on a dark page."""
STYLE = mpl.rc_params_from_file(Path(__file__).with_name("attnlib.mplstyle"), use_default_template=False)
STYLE["axes.prop_cycle"] = mpl.cycler(color=CYCLE)
"""The common look."""
styled = mpl.rc_context(STYLE)
"""Decorator of functions that draw: artists take the common look when they are made."""
ENDS = ["value", "low", "high"]
PAGE = 10.5
"""Inches across which panels stand side by side: a page shows them at four fifths, and letters stay readable."""
TOKENS = 30
"""Tokens of a text that are drawn with their names below: more of them cannot be read."""


class Chart(Figure):
    """A Figure in the common style that displays itself without pyplot.

    >>> figure, axes = al.plots.chart()
    >>> type(figure).__name__, "<svg" in figure.svg()
    ('Chart', True)
    """

    @styled
    def __init__(self, **options: Any) -> None:
        super().__init__(**({"layout": "constrained"} | options))

    @styled  # ticks are made, and read the style, only when drawn
    def draw(self, renderer: Any) -> None:
        super().draw(renderer)

    @styled
    def svg(self) -> str:
        """The figure as an SVG document."""
        stream = io.StringIO()
        self.savefig(stream, format="svg", metadata={"Date": None})
        return stream.getvalue()

    def _repr_svg_(self) -> str:
        return self.svg()


@styled
def chart(
    rows: int = 1, columns: int = 1, *, size: tuple[float, float] = (7.2, 3.6), **options: Any
) -> tuple[Chart, Any]:
    """A new figure and its axes (one, or an array of them), in the common style.

    >>> figure, axes = al.plots.chart(1, 2, sharey=True)
    >>> axes.shape
    (2,)
    """
    figure = Chart(figsize=size)
    return figure, figure.subplots(rows, columns, **options)


def panels(names: Collection[Any], width: float, height: float, *, room: float = 1.2, **options: Any):
    """A figure with one panel per name, side by side with one vertical scale: the figure, and name -> axes.

    As many rows as it takes for the panels to stay readable: see `PAGE`.

    width   inches of each panel; room: those of what is next to them; options: as `Figure.subplots` has them
    """
    rows = -(-len(names) // max(1, int((PAGE - room) / width + 1e-9)))
    columns = -(-len(names) // rows)
    size = (room + width * columns, height * rows)
    figure, axes = chart(rows, columns, size=size, sharey=True, squeeze=False, **options)
    for spare in axes.flat[len(names) :]:
        spare.remove()
    return figure, dict(zip(names, axes.flat, strict=False))


@styled
def label(axes: Axes, title: str, x: str, y: str, n: int | str | None = None, *, outer: bool = False) -> None:
    """Title with the n, and both axes named; `outer`: only those of the panels at the left and at the bottom.

    >>> figure, axes = al.plots.chart()
    >>> al.plots.label(axes, "Decision flips", "fraction removed", "share of texts", n=1200)
    >>> axes.get_title("left")
    'Decision flips  (n = 1,200)'
    """
    axes.set_title(title if n is None else f"{title}  (n = {n if isinstance(n, str) else f'{n:,}'})", loc="left")
    axes.set_xlabel(x if not outer or _lowest(axes) else "")
    axes.set_ylabel(y if not outer or axes.get_subplotspec().is_first_col() else "")


def _lowest(axes: Axes) -> bool:
    """Whether no panel is below this one."""
    places = [other.get_subplotspec() for other in axes.get_figure(root=True).axes]
    own = axes.get_subplotspec()
    below = (at for at in places if at and at.colspan == own.colspan and at.rowspan.start > own.rowspan.start)
    return not any(below)


def percent(axis: Axis) -> None:
    """Ticks of shares in percent, with the digits they need and no more."""
    axis.set_major_formatter(lambda share, _=None: f"{100 * share:z.6g}%".replace("-", "−"))


def from_zero(axes: Iterable[Axes]) -> None:
    """Start the vertical axis at zero, with room for markers at both ends, once everything is drawn.

    `set_ylim(bottom=0)` ends the autoscaling of all axes that share the limit, and what is drawn later is cut off.
    The room that autoscaling leaves above is a share of the range of the data: none to speak of where all of it
    lies far from zero.
    """
    for axis in axes:
        low, high = axis.get_ylim()
        if low >= 0 or axis.dataLim.y0 >= 0:
            high = max(high, 1.05 * axis.dataLim.y1)
            axis.set_ylim(-0.03 * high, high)


def whiskers(axes: Axes, at: ArrayLike, frame: pd.DataFrame, k: int, *, across: bool = False, **style: Any) -> None:
    """Markers for `value` with whiskers from `low` to `high`, in the k-th colour and shape; `at`: their places.

    across   the values run along the horizontal axis
    """
    value = frame["value"].to_numpy(float)
    reach = np.abs(frame[ENDS[1:]].to_numpy(float).T - value)
    style = {"color": CYCLE[k], "marker": MARKERS[k], "capsize": 3, "linestyle": "none"} | style
    if across:
        axes.errorbar(value, at, xerr=reach, **style)
    else:
        axes.errorbar(at, value, yerr=reach, **style)


def boxes(axes: Axes, values: Sequence[ArrayLike], at: ArrayLike, width: float, colours: Sequence[str], **options):
    """Box plots (median, quartiles, whiskers to 1.5 times their distance) at given places; returns the artists."""
    outliers = {"marker": ".", "markersize": 3, "alpha": 0.5, "markeredgecolor": GREY, "markerfacecolor": GREY}
    look = {"flierprops": outliers, "medianprops": {"color": "black"}}
    drawn = axes.boxplot(
        values, positions=at, widths=width, patch_artist=True, manage_ticks=False, **look | options
    )
    for box, colour in zip(drawn["boxes"], colours, strict=True):
        box.set(facecolor=colour, alpha=0.65)
    return drawn


def token_ticks(axes: Axes, tokens: Sequence[str]) -> None:
    """The tokens of a text below the axis, one per place."""
    names = [str(token).replace("$", r"\$") for token in tokens]
    axes.set_xticks(range(len(names)), names, rotation=55, ha="right")


@styled
def legend_below(figure: Figure) -> None:
    """One legend of all panels below them, where it covers nothing."""
    found = {
        name: handle for axes in figure.axes for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=max(1, len(found)))


@styled
def heading(figure: Figure, title: str) -> None:
    """A title above all panels."""
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")


@styled
def legend_right(axes: Axes, title: str | None = None) -> None:
    """A legend to the right of the panel."""
    axes.legend(title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0))
