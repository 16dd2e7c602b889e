"""Figures of the series: tidy frame in, matplotlib Figure out, nothing left behind in pyplot.

Every figure carries a title, named axes with units, a legend for several series, and its n.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import matplotlib.ticker
import numpy as np

from attnlib.utils.errors import DataError
from attnlib.viz import charts
from attnlib.viz.charts import *  # noqa: F403  the parts that the kit's own studies draw with
from attnlib.viz.charts import CYCLE, Chart, chart, label, styled

if TYPE_CHECKING:
    import pandas as pd


@styled
def intervals(
    frame: pd.DataFrame,
    name: str,
    *,
    hue: str | None = None,
    n: str | None = "n",
    title: str,
    x: str,
    percent: bool = False,
) -> Chart:
    """`value` with whiskers from `low` to `high`, one line per row of `name`, from top to bottom.

    >>> import pandas as pd
    >>> found = pd.DataFrame([al.stats.exact_share(9, 10).row() | {"ranking": "alpha"}])
    >>> figure = al.plots.intervals(found, "ranking", title="Share of models", x="share", percent=True)
    >>> [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    ['alpha  (n = 10)']
    """
    _require(frame, [name, *charts.ENDS, *([hue] if hue else [])])
    groups, names = _groups(frame, hue), list(dict.fromkeys(frame[name]))
    figure, axis = chart(size=(7.2, 1.3 + 0.36 * len(names) * max(1, 0.7 * len(groups))))
    axis.xaxis.set_major_locator(mpl.ticker.MaxNLocator(6, steps=[1, 2, 2.5, 5, 10]))  # labels with room between
    for k, (group, part) in enumerate(groups.items()):
        shift = (k - (len(groups) - 1) / 2) * 0.7 / len(groups)
        at = np.array([names.index(line) for line in part[name]]) + shift
        charts.whiskers(axis, at, part, k, across=True, label=str(group) if hue else None)
    counts = frame.groupby(name, sort=False)[n].max() if n in frame else {}
    told = [f"{line}  (n = {int(counts[line]):,})" if line in counts else str(line) for line in names]
    axis.set_yticks(range(len(names)), told)
    axis.set_ylim(len(names) - 0.5, -0.5)
    label(axis, title, x, "")
    if percent:
        charts.percent(axis.xaxis)
        values = frame[charts.ENDS].to_numpy(float)
        if np.nanmin(values, initial=0.0) >= 0 and np.nanmax(values, initial=0.0) <= 1:  # all are shares
            ends = axis.get_xlim()
            axis.set_xticks([tick for tick in axis.get_xticks() if -1e-9 <= tick <= 1 + 1e-9])
            axis.set_xlim(*ends)
    if hue:
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
