"""Figures of the series: tidy frame in, matplotlib Figure out, nothing left behind in pyplot.

Every figure carries a title, named axes with units, a legend for several series, and its n.
"""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.ticker
import numpy as np

from attnlib.utils.errors import DataError
from attnlib.viz import charts
from attnlib.viz.charts import *  # noqa: F403  the parts that the kit's own studies draw with
from attnlib.viz.charts import CYCLE, MARKERS, Chart, chart, label, styled

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Chart", "box_by", "chart", "histogram", "intervals", "label", "scatter_density", "training_curve"]

MANY = 300
"""Panels with more points than this are drawn as pixels: each point would be an element of the page."""


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
    drawn = {"loss": [("train", "loss"), ("dev", "dev_loss")], f"dev {score}": [("dev", f"dev_{score}")]}
    figure, axes = chart(1, 2, size=(7.2, 3.2))
    for axis, (unit, lines) in zip(axes, drawn.items(), strict=True):
        for told, name in lines:
            k = int(told == "dev")
            if name in history:
                axis.plot(history["epoch"], history[name], marker=MARKERS[k], color=CYCLE[k], label=told)
        for epoch in history.loc[history["best"].astype(bool), "epoch"]:
            axis.axvline(epoch, color="#666666", linestyle=":", label=f"kept: epoch {int(epoch)}")
        label(axis, f"{title}: {unit}", "epoch", f"{unit} (nats per text)" if unit == "loss" else unit)
        axis.xaxis.get_major_locator().set_params(integer=True)
    charts.legend_below(figure)
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
    label(axis, title, x, "share of texts", None if hue else len(frame))
    ticks = np.linspace(*limits, 5)
    told = [*(f"{tick:.2f}" for tick in ticks), *(fill(name, 11) for name in names)]
    axis.set_xticks([*ticks, *places], told)
    charts.percent(axis.yaxis)
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
    _require(frame, [name, *charts.ENDS, *[c for c in (hue, reference) if c]])
    groups, names = _groups(frame, hue), list(dict.fromkeys(frame[name]))
    figure, axis = chart(size=(7.2, 1.3 + 0.36 * len(names) * max(1, 0.7 * len(groups))))
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))  # labels with room between
    papers = reference is not None and frame[reference].notna().any()
    for k, (group, part) in enumerate(groups.items()):
        shift = (k - (len(groups) - 1) / 2) * 0.7 / len(groups)
        at = np.array([names.index(line) for line in part[name]]) + shift
        charts.whiskers(axis, at, part, k, across=True, label=str(group) if hue else "ours" if papers else None)
        if reference and part[reference].notna().any():
            told = f"paper: {group}" if hue else "paper"
            axis.plot(part[reference], at, MARKERS[k], mfc="none", mec=CYCLE[k], ms=9, ls="none", label=told)
    counts = frame.groupby(name, sort=False)[n].max() if n in frame else {}
    told = [f"{line}  (n = {int(counts[line]):,})" if line in counts else str(line) for line in names]
    axis.set_yticks(range(len(names)), told)
    axis.set_ylim(len(names) - 0.5, -0.5)
    label(axis, title, x, "")
    if percent:
        charts.percent(axis.xaxis)
        _shares_only(axis, frame[[*charts.ENDS, *([reference] if reference else [])]].to_numpy(float))
    if hue or papers:
        charts.legend_right(axis)
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
        charts.boxes(axis, values, at, width * 0.85, [CYCLE[k]] * len(names), label=str(group))
    counts = frame.dropna(subset=[y]).groupby(x, sort=False).size()
    axis.set_xticks(range(len(names)), [f"{name}\nn = {counts.get(name, 0):,}" for name in names])
    label(axis, title, x if x_label is None else x_label, y if y_label is None else y_label)
    if hue:
        charts.legend_right(axis, hue)
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
    figure, axes = charts.panels(groups, 4.4, 4.2)
    for k, (name, part) in enumerate(groups.items()):
        axis = axes[name]
        if most > dense:
            grid = {"gridsize": 45, "bins": "log", "mincnt": 1, "cmap": charts.DENSITY, "linewidths": 0.1}
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
        charts.heading(figure, title)
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
