"""Figures of the study of attention ranks and information: frames in, charts out."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from attnlib.studies.datasets import short
from attnlib.studies.mutual_information.grid import NAMES
from attnlib.studies.mutual_information.tables import plain
from attnlib.viz import plots
from attnlib.viz.limits import from_zero

ATTENTIONS = ("additive", "deep", "dot")
"""An attention's place here gives its colour and marker."""


def shown(ranks: pd.DataFrame) -> pd.DataFrame:
    """Whose curves are drawn: corpus, encoder and training of the first model, with every attention."""
    part = plain(ranks)
    same = ["dataset", "encoder", "seed"]
    return part[(part[same] == part[same].iloc[0]).all(axis=1)].sort_values("rank", kind="stable")


def curves(part: pd.DataFrame) -> plots.Chart:
    """Information (top) and mean attention (bottom) by rank, one column per attention: the models of `shown`."""
    attentions = list(dict.fromkeys(part["attention"]))
    figure, axes = plots.chart(
        2, len(attentions), size=(1.2 + 2.7 * len(attentions), 4.8), sharex=True, sharey="row", squeeze=False
    )
    with mpl.rc_context(plots.STYLE):
        for k, attention in enumerate(attentions):
            own = part[part["attention"] == attention]
            top, bottom = axes[:, k]
            top.fill_between(own["rank"], own["low"], own["high"], color=plots.CYCLE[0], alpha=0.25, linewidth=0)
            top.plot(own["rank"], own["information"], "o-", ms=4, color=plots.CYCLE[0], label="states of the rank")
            top.plot(own["rank"], own["floor"], "--", color="#666666", label="shuffled outputs (floor)")
            bottom.plot(own["rank"], own["alpha"], "s-", ms=4, color=plots.CYCLE[1])
            first = k == 0
            name = f"{NAMES[own['encoder'].iloc[0]]}, {NAMES[attention]}"
            plots.label(top, name, "", "information (nats)" if first else "", int(own["n"].max()))
            plots.label(bottom, "", "attention rank (1: most)", "mean attention" if first else "")
            bottom.xaxis.get_major_locator().set_params(integer=True)
        from_zero(axes.flat)
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=2)
    return figure


def boxes(taus: pd.DataFrame) -> plots.Chart:
    """Figure 2: tau over seeds, one panel per corpus, boxes by encoder and attention; every model is a dot."""
    part = plain(taus)
    datasets, attentions = list(dict.fromkeys(part["dataset"])), list(dict.fromkeys(part["attention"]))
    groups = {d: list(dict.fromkeys(part.loc[part["dataset"] == d, "encoder"])) for d in datasets}
    ratios = [max(1.3, len(groups[d])) for d in datasets]
    figure, axes = plots.chart(
        1, len(datasets), size=(1.6 + 2.0 * sum(ratios), 3.8), sharey=True, squeeze=False, width_ratios=ratios
    )
    width = 0.8 / len(attentions)
    with mpl.rc_context(plots.STYLE):
        for axis, dataset in zip(axes[0], datasets, strict=True):
            own = part[part["dataset"] == dataset]
            for k, attention in enumerate(attentions):
                for at, encoder in enumerate(groups[dataset]):
                    values = own.loc[(own["attention"] == attention) & (own["encoder"] == encoder), "tau"].dropna()
                    place = at + (k - (len(attentions) - 1) / 2) * width
                    drawn = axis.boxplot(
                        [values], positions=[place], widths=width * 0.8, patch_artist=True, manage_ticks=False,
                        showfliers=False, medianprops={"color": "black"},
                        label=None if at else NAMES[attention],
                    )  # fmt: skip
                    look = ATTENTIONS.index(attention)
                    drawn["boxes"][0].set(facecolor=plots.CYCLE[look], alpha=0.5)
                    marker = {"marker": plots.MARKERS[look], "color": plots.CYCLE[look]}
                    axis.plot(np.full(len(values), place), values, linestyle="", ms=4, **marker)
            axis.axhline(0, color="#666666", linewidth=0.8)
            axis.set_xticks(range(len(groups[dataset])), [NAMES[e] for e in groups[dataset]])
            axis.set_xlim(-0.6, len(groups[dataset]) - 0.4)
            plots.label(axis, short(dataset), "", "weighted τ" if axis is axes[0][0] else "", len(own))
        handles, names = axes[0][0].get_legend_handles_labels()
        figure.legend(handles, names, loc="outside lower center", ncols=len(names))
    return figure


def averages(table: pd.DataFrame) -> plots.Chart:
    """Mean tau by attention, and by encoder and attention, the paper's hollow (`tables.average_table`)."""
    encoders = table["encoder"].replace("all", "all encoders")
    part = table.assign(line=encoders + ", " + table["attention"])
    title = "Which attention follows information?"
    return plots.intervals(part, "line", n="trainings", reference="paper", title=title, x="mean weighted τ")


def special(table: pd.DataFrame) -> plots.Chart:
    """Tables 2 and 4 as a picture: tau as trained minus tau in each setting, the paper's values hollow."""
    part = table.assign(line=table["dataset"] + ", " + table["variant"])
    x = "τ as trained minus τ there"
    return plots.intervals(part, "line", n="trainings", reference="paper", title="What τ loses", x=x)


def gumbel(pairs: pd.DataFrame) -> plots.Chart:
    """tau with softmax and with Gumbel-softmax: above the diagonal it rose."""
    figure, axis = plots.chart(size=(5.6, 4.2))
    _by_attention(axis, pairs, "softmax", "gumbel")
    with mpl.rc_context(plots.STYLE):
        axis.axline((0, 0), slope=1, color="#666666", linestyle=":", linewidth=1)
        plots.label(axis, "τ with both projections", "softmax", "Gumbel-softmax", f"{len(pairs)} settings")
    _legend(figure)
    return figure


def uniformity(taus: pd.DataFrame) -> plots.Chart:
    """tau of every model against the entropy of its attention, one panel per corpus."""
    part = plain(taus)
    datasets = list(dict.fromkeys(part["dataset"]))
    figure, axes = plots.chart(1, len(datasets), size=(1.2 + 3.6 * len(datasets), 3.6), sharey=True, squeeze=False)
    with mpl.rc_context(plots.STYLE):
        for axis, dataset in zip(axes[0], datasets, strict=True):
            own = part[part["dataset"] == dataset]
            _by_attention(axis, own, "entropy", "tau")
            y = "weighted τ" if axis is axes[0][0] else ""
            plots.label(axis, short(dataset), "normalised entropy of attention (1: uniform)", y, len(own))
            axis.xaxis.set_major_locator(MaxNLocator(5))
    _legend(figure)
    return figure


def _by_attention(axis, frame: pd.DataFrame, x: str, y: str) -> None:
    """Points in the colour and shape of their attention, the same in every figure."""
    with mpl.rc_context(plots.STYLE):
        for attention, part in frame.groupby("attention", sort=False):
            k = ATTENTIONS.index(attention)
            axis.plot(part[x], part[y], plots.MARKERS[k], color=plots.CYCLE[k], alpha=0.75, label=NAMES[attention])


def _legend(figure: plots.Chart) -> None:
    """One legend below all panels, where it covers no point."""
    found = {
        name: handle for axis in figure.axes for handle, name in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    with mpl.rc_context(plots.STYLE):
        figure.legend(found.values(), found.keys(), loc="outside lower center", ncols=max(1, len(found)))
