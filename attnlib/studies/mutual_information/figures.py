"""Figures of the study of attention ranks and information: frames in, charts out."""

from __future__ import annotations

import numpy as np

from attnlib.studies.mutual_information.numbers import named, plain
from attnlib.studies.quantity import Figure
from attnlib.studies.results import Results
from attnlib.viz import plots

ATTENTIONS = ("Additive", "Deep", "Dot")
"""An attention's place here gives its colour and marker."""


@plots.styled
def curves(results: Results) -> plots.Chart:
    """Information (top) and mean attention (bottom) by rank, one column per attention, of the first training."""
    part, same = plain(results.ranks), ["dataset", "encoder", "seed"]
    part = named(part[(part[same] == part[same].iloc[0]).all(axis=1)].sort_values("rank", kind="stable"))
    groups = dict(list(part.groupby("attention", sort=False)))
    size = (1.2 + 2.7 * len(groups), 4.8)
    figure, axes = plots.chart(2, len(groups), size=size, sharex=True, sharey="row", squeeze=False)
    for (top, bottom), (attention, own) in zip(axes.T, groups.items(), strict=True):
        top.fill_between(own["rank"], own["low"], own["high"], color=plots.CYCLE[0], alpha=0.25, linewidth=0)
        top.plot(own["rank"], own["information"], "o-", ms=4, color=plots.CYCLE[0], label="states of the rank")
        top.plot(own["rank"], own["floor"], "--", color="#666666", label="shuffled outputs (floor)")
        bottom.plot(own["rank"], own["alpha"], "s-", ms=4, color=plots.CYCLE[1])
        name = f"{own['encoder'].iloc[0]}, {attention}"
        plots.label(top, name, "", "information (nats)", int(own["n"].max()), outer=True)
        plots.label(bottom, "", "attention rank (1: most)", "mean attention", outer=True)
        bottom.xaxis.get_major_locator().set_params(integer=True)
    plots.from_zero(axes.flat)
    plots.legend_below(figure)
    return figure


@plots.styled
def boxes(results: Results) -> plots.Chart:
    """Figure 2: tau by encoder and attention, one panel per corpus; every model is a dot."""
    part = named(plain(results.taus)).dropna(subset=["tau"])
    figure, panels = plots.panels(part["dataset"].unique(), 4.4, 3.2)
    for dataset, axis in panels.items():
        own = part[part["dataset"] == dataset]
        encoders = list(own["encoder"].unique())
        for k, attention in enumerate(ATTENTIONS):
            mine = own[own["attention"] == attention]
            values = [mine.loc[mine["encoder"] == encoder, "tau"] for encoder in encoders]
            at, look = np.arange(len(encoders)) + 0.27 * (k - 1), [plots.CYCLE[k]] * len(encoders)
            plots.boxes(axis, values, at, 0.22, look, showfliers=False, label=attention if len(mine) else None)
            places = np.repeat(at, [len(v) for v in values])
            axis.plot(places, np.concatenate(values), plots.MARKERS[k], color=plots.CYCLE[k], ms=4)
        axis.axhline(0, color="#666666", linewidth=0.8)
        axis.set_xticks(range(len(encoders)), encoders)
        plots.label(axis, dataset, "", "weighted τ", len(own), outer=True)
    plots.legend_below(figure)
    return figure


@plots.styled
def uniformity(results: Results) -> plots.Chart:
    """tau of every model against the entropy of its attention, one panel per corpus."""
    part = named(plain(results.taus))
    figure, panels = plots.panels(part["dataset"].unique(), 3.6, 3.0)
    for dataset, axis in panels.items():
        own = part[part["dataset"] == dataset]
        axis.plot(own["entropy"], own["tau"], "o", ms=4, alpha=0.6)
        plots.label(axis, dataset, "entropy of attention (1: uniform)", "weighted τ", len(own), outer=True)
    return figure


FIGURES = [
    Figure("curves", curves, "Information and attention by rank, of the first training with every "
           "attention. Band: 95% interval over texts (n).", "Curves by rank, one column per "
           "attention: information in nats with its floor, and mean attention."),
    Figure("figure2_tau", boxes, "After the paper's Figure 2: weighted τ of attention with "
           "information, by encoder and attention. n counts models.", "Box plots with dots, one "
           "panel per corpus: weighted tau by encoder, one colour per attention."),
    Figure("uniformity", uniformity, "Section 5.3: weighted τ against the entropy of attention, "
           "one point per model.", "Scatter plots, one panel per corpus: weighted tau "
           "against the entropy of attention."),
]  # fmt: skip
