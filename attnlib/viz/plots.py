"""Figures of the series: tidy frame in, matplotlib Figure out, nothing left behind in pyplot.

Every figure carries a title, named axes with units, a legend for several series, and its n. A `Chart` draws
itself in a notebook as SVG, with letters as paths so that it looks the same everywhere.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.colors
import numpy as np
from matplotlib.figure import Figure

from attnlib.utils.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike

COLOURS = {
    "blue": "#0072B2",
    "vermillion": "#D55E00",
    "green": "#009E73",
    "purple": "#CC79A7",
    "orange": "#C28500",
    "sky": "#3399D6",
    "black": "#000000",
    "olive": "#959000",
}
"""Okabe & Ito's colours, told apart with every common colour blindness; the light ones are darkened, so that each
has a contrast of at least 3 to a white and to a dark page (on which black turns white)."""
CYCLE = tuple(COLOURS.values())
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
"""One per colour, so that series can be told apart in a greyscale print."""
DENSITY = mpl.colors.LinearSegmentedColormap.from_list("density", ["#a6cee3", "#3399D6", "#0072B2", "#a03fb5"])
"""From few to many, seen on a white and on a dark page."""
MANY = 300
"""Panels with more points than this are drawn as pixels: each point would be an element of the page."""

STYLE = {
    "axes.prop_cycle": mpl.cycler(color=CYCLE),
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.labelsize": 10,
    "figure.facecolor": "white",
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "grid.color": "#d9d9d9",
    "grid.linewidth": 0.6,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "savefig.facecolor": "white",
    "svg.fonttype": "path",
    "svg.hashsalt": "attnlib",
}
"""The common look. `svg.hashsalt` makes the file of a figure reproducible."""
styled = mpl.rc_context(STYLE)
"""Decorator of functions that draw: artists take the common look when they are made."""
ENDS = ["value", "low", "high"]
TOKENS = 30
"""Tokens of a text that are drawn with their names below: more of them cannot be read."""


class Chart(Figure):
    """A Figure in the common style that displays itself without pyplot.

    >>> figure, axes = al.plots.chart()
    >>> type(figure).__name__, "<svg" in figure.svg()
    ('Chart', True)
    """

    def __init__(self, **options: Any) -> None:
        with mpl.rc_context(STYLE):
            super().__init__(**({"layout": "constrained"} | options))

    def draw(self, renderer: Any) -> None:
        with mpl.rc_context(STYLE):  # ticks are made, and read the style, only when drawn
            super().draw(renderer)

    def svg(self) -> str:
        """The figure as an SVG document."""
        stream = io.StringIO()
        with mpl.rc_context(STYLE):
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

    width   inches of each panel; room: those of what is next to them; options: as `Figure.subplots` has them

    >>> figure, axes = al.plots.panels(["lstm", "mlp"], 2.5, 2.5)
    >>> list(axes)
    ['lstm', 'mlp']
    """
    across = sum(options.get("width_ratios", [1] * len(names)))
    figure, axes = chart(1, len(names), size=(room + width * across, height), sharey=True, squeeze=False, **options)
    return figure, dict(zip(names, axes[0], strict=True))


@styled
def label(axes: Axes, title: str, x: str, y: str, n: int | str | None = None, *, outer: bool = False) -> None:
    """Title with the n, and both axes named; `outer`: only those of the panels at the left and at the bottom.

    >>> figure, axes = al.plots.chart()
    >>> al.plots.label(axes, "Decision flips", "fraction removed", "share of texts", n=1200)
    >>> axes.get_title("left")
    'Decision flips  (n = 1,200)'
    """
    axes.set_title(title if n is None else f"{title}  (n = {n if isinstance(n, str) else f'{n:,}'})", loc="left")
    at = axes.get_subplotspec()
    axes.set_xlabel(x if not outer or at.is_last_row() else "")
    axes.set_ylabel(y if not outer or at.is_first_col() else "")


def whiskers(axes: Axes, at: ArrayLike, frame: pd.DataFrame, k: int, *, across: bool = False, **style: Any) -> None:
    """Markers for `value` with whiskers from `low` to `high`, in the k-th colour and shape; `at`: their places.

    across   the values run along the horizontal axis

    >>> import pandas as pd
    >>> figure, axes = al.plots.chart()
    >>> found = pd.DataFrame({"value": [0.3, 0.5], "low": [0.2, 0.4], "high": [0.4, 0.7]})
    >>> al.plots.whiskers(axes, [0, 1], found, 0)
    >>> len(axes.containers)
    1
    """
    value = frame["value"].to_numpy(float)
    reach = np.abs(frame[ENDS[1:]].to_numpy(float).T - value)
    style = {"color": CYCLE[k], "marker": MARKERS[k], "capsize": 3, "linestyle": "none"} | style
    if across:
        axes.errorbar(value, at, xerr=reach, **style)
    else:
        axes.errorbar(at, value, yerr=reach, **style)


def boxes(axes: Axes, values: Sequence[ArrayLike], at: ArrayLike, width: float, colours: Sequence[str], **options):
    """Box plots (median, quartiles, whiskers to 1.5 times their distance) at given places; returns the artists.

    >>> figure, axes = al.plots.chart()
    >>> drawn = al.plots.boxes(axes, [[1, 2, 3], [2, 3, 5]], [0, 1], 0.5, al.plots.CYCLE[:2])
    >>> len(drawn["boxes"])
    2
    """
    look = {"flierprops": {"marker": ".", "markersize": 3, "alpha": 0.35}, "medianprops": {"color": "black"}}
    drawn = axes.boxplot(
        values, positions=at, widths=width, patch_artist=True, manage_ticks=False, **look | options
    )
    for box, colour in zip(drawn["boxes"], colours, strict=True):
        box.set(facecolor=colour, alpha=0.65)
    return drawn


def token_ticks(axes: Axes, tokens: Sequence[str]) -> None:
    """The tokens of a text below the axis, one per place.

    >>> figure, axes = al.plots.chart()
    >>> al.plots.token_ticks(axes, ["a", "great", "morning"])
    >>> [tick.get_text() for tick in axes.get_xticklabels()]
    ['a', 'great', 'morning']
    """
    names = [str(token).replace("$", r"\$") for token in tokens]
    axes.set_xticks(range(len(names)), names, rotation=55, ha="right")


@styled
def legend_below(figure: Figure) -> None:
    """One legend of all panels below them, where it covers nothing.

    >>> figure, axes = al.plots.chart()
    >>> _ = axes.plot([0, 1], [0, 1], label="attention")
    >>> al.plots.legend_below(figure)
    >>> [entry.get_text() for entry in figure.legends[0].get_texts()]
    ['attention']
    """
    found = {
        name: handle for axes in figure.axes for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=max(1, len(found)))


@styled
def heading(figure: Figure, title: str) -> None:
    """A title above all panels.

    >>> figure, axes = al.plots.chart(1, 2)
    >>> al.plots.heading(figure, "Decision flips")
    >>> figure.get_suptitle()
    'Decision flips'
    """
    figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")


@styled
def legend_right(axes: Axes, title: str | None = None) -> None:
    """A legend to the right of the panel.

    >>> figure, axes = al.plots.chart()
    >>> _ = axes.plot([0, 1], [0, 1], label="attention")
    >>> al.plots.legend_right(axes, "ranking")
    >>> axes.get_legend().get_title().get_text()
    'ranking'
    """
    axes.legend(title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0))


@styled
def training_curve(history: pd.DataFrame, *, title: str = "Training", score: str = "accuracy") -> Chart:
    """Loss on train and dev, and one dev score, by epoch; the epoch that was kept is marked.

    history: one row per epoch, as `Fitted.history`: `epoch`, `loss`, `dev_loss`, `dev_<score>`, `best` (bool).

    >>> figure = al.plots.training_curve(fitted.history)
    >>> [axes.get_title("left") for axes in figure.axes]
    ['Training: loss', 'Training: dev accuracy']
    """
    _require(history, ["epoch", "loss", f"dev_{score}", "best"])
    if history.empty:
        raise DataError("The history has no epochs: the model was not trained, and there is nothing to draw.")
    losses = [name for name in ("loss", "dev_loss") if name in history]
    figure, axes = chart(1, 2, size=(7.2, 3.0))
    for axis, names, unit in ((axes[0], losses, "loss"), (axes[1], [f"dev_{score}"], f"dev {score}")):
        for k, name in enumerate(names):
            told = "train" if name == "loss" else "dev"
            at = MARKERS[k + (unit != "loss")], CYCLE[k + (unit != "loss")]
            axis.plot(history["epoch"], history[name], marker=at[0], color=at[1], label=told)
        for epoch in history.loc[history["best"].astype(bool), "epoch"]:
            axis.axvline(epoch, color="#666666", linestyle=":", label=f"kept: epoch {int(epoch)}")
        label(axis, f"{title}: {unit}", "epoch", f"{unit} (nats per text)" if unit == "loss" else unit)
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend()
    return figure


@styled
def histogram(
    frame: pd.DataFrame,
    value: str,
    hue: str | None = None,
    *,
    bins: int = 20,
    limits: tuple[float, float] = (0.0, 1.0),
    aside: str | None = None,
    title: str,
    x: str,
    y: str = "share of texts",
) -> Chart:
    """Shares by bin, one outline per hue; rows named in the column `aside` are bars of their own on the right.

    Every row counts once: in a bin, or (where `aside` holds a name) next to the axis. So each hue sums to one.

    >>> flips = al.fraction_to_flip(fitted, corpus.test, "alpha", level="input")
    >>> figure = al.plots.histogram(flips, "fraction", "prediction", title="Decision flips", x="fraction removed")
    >>> len(figure.axes[0].get_legend().get_texts())
    2
    """
    _require(frame, [value, *([hue] if hue else []), *([aside] if aside else [])])
    groups = _groups(frame, hue)
    names = sorted(frame[aside].dropna().unique()) if aside else []
    edges = np.linspace(*limits, bins + 1)
    figure, axis = chart(size=(7.2, 3.6))
    width = (limits[1] - limits[0]) * 0.075
    places = limits[1] + width * (1.9 + 2.6 * np.arange(len(names)))
    for k, (name, part) in enumerate(groups.items()):
        told = f"{name} (n = {len(part):,})" if hue else None
        inside = part if aside is None else part[part[aside].isna()]
        counts = np.histogram(inside[value].dropna(), bins=edges)[0] / max(len(part), 1)
        axis.stairs(counts, edges, fill=True, alpha=0.25, color=CYCLE[k])
        axis.stairs(counts, edges, color=CYCLE[k], linewidth=1.6, label=told)
        shares = [(part[aside] == other).mean() for other in names]
        shift = (k - (len(groups) - 1) / 2) * width / len(groups) * 1.9
        bars = axis.bar(places + shift, shares, width / len(groups) * 1.8, color=CYCLE[k], alpha=0.8)
        axis.bar_label(bars, [f"{share:.0%}" for share in shares], fontsize=8)
    label(axis, title, x, y, None if hue else len(frame))
    ticks = np.linspace(*limits, 5)
    told = [*(f"{tick:.2f}" for tick in ticks), *(fill(name, 11) for name in names)]
    axis.set_xticks([*ticks, *places], told)
    axis.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
    if names:
        axis.axvline(limits[1] + width * 0.45, color="#666666", linewidth=0.8)
    if hue:
        axis.legend()
    return figure


def _shares_only(axis: Axes, values: np.ndarray) -> None:
    """No ticks below 0% or above 100% where all values are shares."""
    if np.nanmin(values, initial=0.0) >= 0 and np.nanmax(values, initial=0.0) <= 1:
        ticks = [tick for tick in axis.get_xticks() if -1e-9 <= tick <= 1 + 1e-9]
        ends = axis.get_xlim()
        axis.set_xticks(ticks)
        axis.set_xlim(*ends)


@styled
def intervals(
    frame: pd.DataFrame,
    name: str,
    *,
    hue: str | None = None,
    reference: str | None = None,
    n: str | None = "n",
    title: str,
    x: str,
    percent: bool = False,
) -> Chart:
    """`value` with whiskers from `low` to `high`, one line per row of `name`; `reference` as a hollow marker.

    Rows keep the frame's order, from top to bottom. NaN references are left out.

    >>> import pandas as pd
    >>> found = pd.DataFrame([al.stats.exact_share(9, 10).row() | {"ranking": "alpha"}])
    >>> figure = al.plots.intervals(found, "ranking", title="Share of models", x="share", percent=True)
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['alpha  (n = 10)']
    """
    _require(frame, [name, *ENDS, *[c for c in (hue, reference) if c]])
    groups, names = _groups(frame, hue), list(dict.fromkeys(frame[name]))
    figure, axis = chart(size=(7.2, 1.3 + 0.36 * len(names) * max(1, 0.7 * len(groups))))
    for k, (group, part) in enumerate(groups.items()):
        shift = (k - (len(groups) - 1) / 2) * 0.7 / len(groups)
        at = np.array([names.index(line) for line in part[name]]) + shift
        whiskers(axis, at, part, k, across=True, label=str(group) if hue else None)
        if reference and part[reference].notna().any():
            told = f"paper: {group}" if hue else "paper"
            axis.plot(part[reference], at, MARKERS[k], mfc="none", mec=CYCLE[k], ms=9, ls="none", label=told)
    counts = frame.groupby(name, sort=False)[n].max() if n in frame else {}
    told = [f"{line}  (n = {int(counts[line]):,})" if line in counts else str(line) for line in names]
    axis.set_yticks(range(len(names)), told)
    axis.set_ylim(len(names) - 0.5, -0.5)
    label(axis, title, x, "")
    if percent:
        axis.xaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
        _shares_only(axis, frame[[*ENDS, *([reference] if reference else [])]].to_numpy(float))
    if hue or (reference and frame[reference].notna().any()):
        legend_right(axis)
    return figure


@styled
def box_by(
    frame: pd.DataFrame,
    x: str,
    y: str,
    hue: str | None = None,
    *,
    title: str,
    x_label: str | None = None,
    y_label: str | None = None,
) -> Chart:
    """Box plots of y by x, side by side by hue.

    >>> found = al.comprehensiveness(fitted, corpus.test, "alpha")
    >>> figure = al.plots.box_by(found, "metric", "value", title="Faithfulness")
    >>> [tick.get_text() for tick in figure.axes[0].get_xticklabels()]
    ['comprehensiveness\\nn = 100']
    """
    _require(frame, [x, y, *([hue] if hue else [])])
    groups, names = _groups(frame, hue), list(dict.fromkeys(frame[x]))
    figure, axis = chart(size=(max(4.0, 1.6 + 0.9 * len(names) * max(1, 0.6 * len(groups))), 3.8))
    width = 0.75 / len(groups)
    for k, (group, part) in enumerate(groups.items()):
        values = [part.loc[part[x] == name, y].dropna().to_numpy() for name in names]
        at = np.arange(len(names)) + (k - (len(groups) - 1) / 2) * width
        boxes(axis, values, at, width * 0.85, [CYCLE[k]] * len(names), label=str(group))
    counts = frame.dropna(subset=[y]).groupby(x, sort=False).size()
    axis.set_xticks(range(len(names)), [f"{name}\nn = {counts.get(name, 0):,}" for name in names])
    label(axis, title, x if x_label is None else x_label, y if y_label is None else y_label)
    if hue:
        legend_right(axis, hue)
    return figure


@styled
def scatter_density(
    frame: pd.DataFrame,
    x: str,
    y: str,
    *,
    title: str,
    x_label: str | None = None,
    y_label: str | None = None,
    hue: str | None = None,
    unit: str = "texts",
    diagonal: bool = False,
    dense: int = 1500,
) -> Chart:
    """Points, or beyond `dense` of them hexagons coloured by the logarithm of their count of `unit`.

    One panel per value of `hue`: hexagons cannot be told apart by colour.

    >>> curves = al.erasure_curves(fitted, corpus.test, "alpha")
    >>> figure = al.plots.scatter_density(curves, "mass_removed", "probability", title="Erasure", unit="steps")
    >>> figure.axes[0].get_xlabel(), figure.axes[0].get_ylabel()
    ('mass_removed', 'probability')
    """
    _require(frame, [x, y, *([hue] if hue else [])])
    groups = {name: part.dropna(subset=[x, y]) for name, part in _groups(frame, hue).items()}
    most = max(map(len, groups.values()))
    figure, axes = panels(groups, 4.4, 4.2)
    for k, (name, part) in enumerate(groups.items()):
        axis = axes[name]
        if most > dense:
            grid = {"gridsize": 45, "bins": "log", "mincnt": 1, "cmap": DENSITY, "linewidths": 0.1}
            cells = axis.hexbin(part[x], part[y], **grid)
            figure.colorbar(cells, ax=axis, label=f"{unit} per cell (log)")
        else:
            look = {"s": 14, "alpha": 0.5, "color": CYCLE[k], "edgecolors": "none"}
            axis.scatter(part[x], part[y], rasterized=len(part) > MANY, **look)
        if diagonal:
            axis.axline((0, 0), slope=1, color="#666666", linestyle=":", linewidth=1)
        sides = (x if x_label is None else x_label, y if y_label is None else y_label)
        label(axis, name if hue else title, *sides, len(part), outer=True)
    if hue:
        heading(figure, title)
    return figure


def _groups(frame: pd.DataFrame, hue: str | None) -> dict[str, pd.DataFrame]:
    """Parts of the frame by hue, in order of appearance; one part without."""
    if frame.empty:
        raise DataError("The frame to draw has no rows.")
    if hue is None:
        return {"": frame}
    return {str(name): part for name, part in frame.groupby(hue, sort=False)}


def _require(frame: pd.DataFrame, columns: Sequence[str]) -> None:
    missing = [name for name in columns if name not in frame]
    if missing:
        raise DataError(f"The frame lacks the column {missing[0]!r}; it has {', '.join(map(str, frame.columns))}.")
