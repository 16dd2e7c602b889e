"""Figures of the study of attention ranks and information: frames in, charts out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from matplotlib.ticker import MaxNLocator

from attnlib.studies.datasets import short
from attnlib.studies.mutual_information.grid import NAMES
from attnlib.studies.mutual_information.numbers import ABLATIONS, averages, decisive, gumbel_pairs, losses, plain
from attnlib.studies.quantity import Figure, NotTested
from attnlib.studies.results import Results
from attnlib.viz import plots

ATTENTIONS = ("additive", "deep", "dot")
"""An attention's place here gives its colour and marker."""


def shown(ranks: pd.DataFrame) -> pd.DataFrame:
    """Whose curves are drawn: corpus, encoder and training of the first model, with every attention."""
    part = plain(ranks)
    same = ["dataset", "encoder", "seed"]
    return part[(part[same] == part[same].iloc[0]).all(axis=1)].sort_values("rank", kind="stable")


@plots.styled
def curves(results: Results) -> plots.Chart:
    """Information (top) and mean attention (bottom) by rank, one column per attention: the models of `shown`."""
    part = shown(results.ranks)
    attentions = list(dict.fromkeys(part["attention"]))
    figure, axes = plots.chart(
        2, len(attentions), size=(1.2 + 2.7 * len(attentions), 4.8), sharex=True, sharey="row", squeeze=False
    )
    for k, attention in enumerate(attentions):
        own = part[part["attention"] == attention]
        top, bottom = axes[:, k]
        top.fill_between(own["rank"], own["low"], own["high"], color=plots.CYCLE[0], alpha=0.25, linewidth=0)
        top.plot(own["rank"], own["information"], "o-", ms=4, color=plots.CYCLE[0], label="states of the rank")
        top.plot(own["rank"], own["floor"], "--", color="#666666", label="shuffled outputs (floor)")
        bottom.plot(own["rank"], own["alpha"], "s-", ms=4, color=plots.CYCLE[1])
        name = f"{NAMES[own['encoder'].iloc[0]]}, {NAMES[attention]}"
        plots.label(top, name, "", "information (nats)", int(own["n"].max()), outer=True)
        plots.label(bottom, "", "attention rank (1: most)", "mean attention", outer=True)
        bottom.xaxis.get_major_locator().set_params(integer=True)
    plots.from_zero(axes.flat)
    plots.legend_below(figure)
    return figure


@plots.styled
def boxes(results: Results) -> plots.Chart:
    """Figure 2: tau over seeds, one panel per corpus, boxes by encoder and attention; every model is a dot."""
    part = plain(results.taus)
    datasets, attentions = list(dict.fromkeys(part["dataset"])), list(dict.fromkeys(part["attention"]))
    groups = {d: list(dict.fromkeys(part.loc[part["dataset"] == d, "encoder"])) for d in datasets}
    widest = max(map(len, groups.values()))
    figure, panels = plots.panels(datasets, 1.0 + 1.1 * widest, 3.2)
    width = 0.8 / len(attentions)
    for dataset, axis in panels.items():
        own = part[part["dataset"] == dataset]
        for k, attention in enumerate(attentions):
            for at, encoder in enumerate(groups[dataset]):
                values = own.loc[(own["attention"] == attention) & (own["encoder"] == encoder), "tau"].dropna()
                place = at + (k - (len(attentions) - 1) / 2) * width
                look = ATTENTIONS.index(attention)
                name = None if at else NAMES[attention]
                box = {"showfliers": False, "label": name}
                plots.boxes(axis, [values], [place], width * 0.8, [plots.CYCLE[look]], **box)
                marker = {"marker": plots.MARKERS[look], "color": plots.CYCLE[look]}
                axis.plot(np.full(len(values), place), values, linestyle="", ms=4, **marker)
        axis.axhline(0, color="#666666", linewidth=0.8)
        axis.set_xticks(range(len(groups[dataset])), [NAMES[e] for e in groups[dataset]])
        middle = (len(groups[dataset]) - 1) / 2  # a box is as wide in every panel
        axis.set_xlim(middle - widest / 2 - 0.1, middle + widest / 2 + 0.1)
        plots.label(axis, short(dataset), "", "weighted τ", len(own), outer=True)
    plots.legend_below(figure)
    return figure


def means(results: Results) -> plots.Chart:
    """Mean tau by attention, and by encoder and attention, the paper's hollow (`numbers.averages`)."""
    table = averages(results)
    encoders = table["encoder"].replace("all", "all encoders")
    part = table.assign(line=encoders + ", " + table["attention"])
    title = "Which attention follows information?"
    return plots.intervals(part, "line", n="trainings", reference="paper", title=title, x="mean weighted τ")


def drops(variants: Sequence[str], results: Results) -> plots.Chart | None:
    """Tables 2 and 4 as a picture: the drop in tau from the model as trained, the paper's values hollow."""
    try:
        table = losses(variants, results)
    except NotTested:
        return None
    part = table.assign(line=table["dataset"] + ", " + table["variant"])
    x = "τ as trained minus τ of the variant"
    return plots.intervals(part, "line", n="trainings", reference="paper", title="Drop in τ", x=x)


@plots.styled
def gumbel(results: Results) -> plots.Chart | None:
    """tau with softmax and with Gumbel-softmax: above the diagonal it rose."""
    if (pairs := gumbel_pairs(decisive(results.taus))).empty:
        return None
    figure, axis = plots.chart(size=(5.6, 4.2))
    _by_attention(axis, pairs, "softmax", "gumbel")
    axis.axline((0, 0), slope=1, color="#666666", linestyle=":", linewidth=1)
    plots.label(axis, "τ with both projections", "softmax", "Gumbel-softmax", f"{len(pairs)} settings")
    plots.legend_below(figure)
    return figure


@plots.styled
def uniformity(results: Results) -> plots.Chart:
    """tau of every model against the entropy of its attention, one panel per corpus."""
    part = plain(results.taus)
    figure, panels = plots.panels(part["dataset"].unique(), 3.6, 3.0, sharex=True)
    for dataset, axis in panels.items():
        own = part[part["dataset"] == dataset]
        _by_attention(axis, own, "entropy", "tau")
        x = "normalised entropy of attention (1: uniform)"
        plots.label(axis, short(dataset), x, "weighted τ", len(own), outer=True)
        axis.xaxis.set_major_locator(MaxNLocator(5))
    plots.legend_below(figure)
    return figure


def _by_attention(axis, frame: pd.DataFrame, x: str, y: str) -> None:
    """Points in the colour and shape of their attention, the same in every figure."""
    for attention, part in frame.groupby("attention", sort=False):
        k = ATTENTIONS.index(attention)
        axis.plot(part[x], part[y], plots.MARKERS[k], color=plots.CYCLE[k], alpha=0.75, label=NAMES[attention])


def rank_by_rank(results: Results) -> str:
    """What the curves show at their ends, computed."""
    told = []
    for attention, own in shown(results.ranks).groupby("attention", sort=False):
        first, last = own.iloc[0], own.iloc[-1]
        told.append(
            f"{NAMES[attention]}: rank 1 carries **{first['information']:.2f}** nats at a mean weight of "
            f"{first['alpha']:.2f}, rank {last['rank']} carries {last['information']:.2f} at {last['alpha']:.3f}; "
            f"the most informative rank is {own.loc[own['information'].idxmax(), 'rank']}."
        )
    return " ".join(told)


MEANS = "95% intervals over trainings; hollow: the paper's."
LOST = "Dots with whiskers, one line per corpus: what tau loses {}; hollow dots are the paper's."
FIGURES = [
    Figure("curves", curves, "Information and attention by rank, of the first training with every "
           "attention. Band: 95% interval over texts (n).", "Curves by rank, one column per "
           "attention: information in nats with its floor, and mean attention.", says=rank_by_rank),
    Figure("figure2_tau", boxes, "After the paper's Figure 2: weighted τ of attention with "
           "information, by encoder and attention. n counts models.", "Box plots with dots, one "
           "panel per corpus: weighted tau by encoder, one colour per attention."),
    Figure("tau_averages", means, f"The averages of the paper's section 5: mean τ with {MEANS}",
           "Dots with whiskers: mean tau by attention, and by encoder and attention; hollow dots "
           "are the paper's."),
    Figure("ablations", partial(drops, ABLATIONS), f"After the paper's Table 2, as a picture: "
           f"{MEANS}", LOST.format("with an ablation")),
    Figure("adversaries", partial(drops, ["adversary_unfrozen"]), f"After the paper's Table 4, as "
           f"a picture: {MEANS}", LOST.format("with an adversary")),
    Figure("uniformity", uniformity, "Section 5.3: weighted τ against the entropy of attention, "
           "one point per model.", "Scatter plots, one panel per corpus: weighted tau of each "
           "model against the entropy of its attention."),
    Figure("gumbel", gumbel, "τ with softmax and with Gumbel-softmax, means over trainings that "
           "have both. Above the line, τ is higher with Gumbel-softmax.", "Scatter plot: tau with "
           "Gumbel-softmax against tau with softmax, one point per setting; diagonal."),
]  # fmt: skip
