"""Figures of the erasure study: one panel per model, data sets as rows, encoders as columns.

Points are drawn as pixels inside the vector graphic: thousands of them would make a report heavy.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from attnlib.studies.datasets import short
from attnlib.studies.erasure.grid import BEYOND, common_set, compared, fit, several
from attnlib.studies.erasure.measures import RANKINGS
from attnlib.studies.erasure.numbers import NAMES, model_name
from attnlib.studies.erasure.params import BOTH, ENCODERS
from attnlib.studies.quantity import Figure
from attnlib.viz.plots import CYCLE, DENSITY, Chart, boxes, chart, label, legend_below, panels, styled

COLOURS = dict(zip(RANKINGS, ("#8c8c8c", CYCLE[1], CYCLE[0], CYCLE[2]), strict=True))
BINS = 50
DPI = 150
"""Of what is drawn as pixels."""


@styled
def delta_scatter(single: pd.DataFrame) -> Chart:
    """Figures 3 and 7: Δα against ΔJS, as the density of texts and trainings."""
    kept = compared(single, importance="alpha")
    figure, drawn = _panels(kept, height=2.5, sharex=True, sharey=True)
    low, high = min(0.0, kept["delta_js"].min()), max(0.01, kept["delta_js"].max())
    edges = (np.linspace(low, high, BINS + 1), np.linspace(0.0, 1.0, BINS + 1))
    margin = 0.04 * (high - low)
    for axis, title, part in drawn:
        counts = np.histogram2d(part["delta_js"], part["delta_alpha"], bins=edges)[0]
        axis.imshow(
            np.ma.masked_equal(counts, 0), extent=(0, 1, low, high), origin="lower", aspect="auto",
            interpolation="none", cmap=DENSITY, norm=LogNorm(1, max(2, counts.max())),
        )  # fmt: skip
        axis.axhline(0.0, color="#666666", linewidth=0.8, linestyle=":")
        axis.set(xlim=(-0.02, 1.02), ylim=(low - margin, high + margin))
        _name(axis, title, "Δα", "ΔJS (nats)", len(part))
    return figure


@styled
def negative_histogram(single: pd.DataFrame, bins: int = 20) -> Chart:
    """Figures 4 and 8: counts of texts whose ΔJS is below zero, by Δα; the titles give their share."""
    kept = compared(single, importance="alpha")
    edges = np.linspace(0.0, 1.0, bins + 1)
    figure, drawn = _panels(kept, height=2.1, sharex=True)
    for axis, title, part in drawn:
        below = part[part["delta_js"] < 0]
        counts = np.histogram(below["delta_alpha"], bins=edges)[0]
        axis.bar(edges[:-1], counts, 1 / bins, align="edge", color=CYCLE[1], edgecolor="white", linewidth=0.4)
        axis.yaxis.get_major_locator().set_params(integer=True)
        axis.set_ylim(0, 1.05 * max(1, counts.max()))
        _name(axis, title, "Δα", "texts with ΔJS < 0", f"{len(below):,} of {len(part):,}")
    return figure


@styled
def flip_bars(single: pd.DataFrame) -> Chart:
    """Figures 9, 12 and 13 as bars: percent of texts that only the top item, or only r, flips, by ranking."""
    kept = compared(single)
    figure, drawn = _panels(kept, height=2.2, sharex=True, sharey=True)
    rankings = [name for name in RANKINGS if name in kept["importance"].unique()]
    for axis, title, part in drawn:
        top, other = part["flip_top"].astype(bool), part["flip_other"].astype(bool)
        kinds = {"only the top item": top & ~other, "both": top & other, "only the random item": ~top & other}
        for k, (kind, cells) in enumerate(kinds.items()):
            heights = [100 * cells[part["importance"] == name].mean() for name in rankings]
            at = np.arange(len(rankings)) + (k - 1) * 0.27
            axis.bar(at, heights, 0.25, color=CYCLE[(0, 5, 1)[k]], label=kind)
        axis.set_xticks(range(len(rankings)), [NAMES[name] for name in rankings])
        axis.grid(axis="x", visible=False)
        _name(axis, title, "", "% of texts", len(part) // max(1, len(rankings)))
    legend_below(figure)
    return figure


@styled
def fraction_boxes(fractions: pd.DataFrame, value: str = "fraction", y: str = "share of items removed") -> Chart:
    """Figures 5, 6, 10 and 11: the value at the first flip under each ranking; whiskers: 1.5 quartile ranges."""
    kept = several(fractions)
    figure, drawn = _panels(kept, height=2.3, sharex=True, sharey=True)
    for axis, title, part in drawn:
        n = _boxes(axis, part, value)
        _name(axis, title, "", y, n)
    return figure


@styled
def beyond_boxes(fractions: pd.DataFrame, group: str) -> Chart:
    """The same boxes for one family of models of the other papers, side by side, on the texts all rankings flip."""
    kept = common_set(fractions[fractions["variant"].isin(BEYOND[group])])
    figure, row = panels(BEYOND[group], 1.9, 2.9, room=1.0)
    figure.set_dpi(DPI)
    for name, axis in row.items():
        part = kept[kept["variant"] == name]
        n = _boxes(axis, part, "fraction")
        _name(axis, name, "", "share of words removed", n)
    return figure


def _boxes(axis: Axes, part: pd.DataFrame, value: str) -> str:
    """One box per ranking; returns how many values there are, as a range where they differ."""
    values = [part.loc[part["importance"] == name, value].dropna().to_numpy(float) for name in RANKINGS]
    mean = {"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": "black"}
    places = range(1, len(RANKINGS) + 1)
    found = boxes(axis, values, places, 0.6, list(COLOURS.values()), showmeans=True, meanprops=mean)
    for points in found["fliers"]:
        points.set_rasterized(True)
    axis.set_xticks(places, [NAMES[name] for name in RANKINGS], rotation=30, ha="right")
    axis.set_xlim(0.5, len(RANKINGS) + 0.5)
    axis.set_ylim(-0.03, 1.03)
    axis.grid(axis="x", visible=False)
    counts = sorted({len(v) for v in values})
    return f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,}–{counts[-1]:,}"


def _panels(
    frame: pd.DataFrame, *, height: float, **options: Any
) -> tuple[Chart, Iterator[tuple[Axes, str, pd.DataFrame]]]:
    """A figure with a row of panels for every data set and architecture, a column per encoder; empty ones hidden.

    Without any text to draw, the figure says so.
    """
    if frame.empty:
        figure, axis = chart(size=(6.0, 1.2))
        axis.text(0.5, 0.5, "No text has more than one item to remove.", ha="center", va="center")
        axis.set_axis_off()
        return figure, iter(())
    datasets, parts = frame["dataset"].unique(), dict(iter(frame.groupby(["dataset", "encoder"])))
    rows = [(d, a) for d, a in product(datasets, BOTH) if any((d, f"{a}_{c}") in parts for c in ENCODERS)]
    columns = [c for c in ENCODERS if any((d, f"{a}_{c}") in parts for d, a in rows)]
    size = (1.0 + 2.9 * len(columns), 0.5 + height * len(rows))
    figure, axes = chart(len(rows), len(columns), size=size, squeeze=False, **options)
    figure.set_dpi(DPI)

    def each() -> Iterator[tuple[Axes, str, pd.DataFrame]]:
        for axis, ((dataset, architecture), context) in zip(axes.flat, product(rows, columns), strict=True):
            encoder = f"{architecture}_{context}"
            if (dataset, encoder) in parts:
                yield axis, f"{short(dataset)}, {model_name(encoder)}", parts[dataset, encoder]
            else:
                axis.set_visible(False)

    return figure, each()


def _name(axis: Axes, title: str, x: str, y: str, n: int | str) -> None:
    """Names the axes of the outer panels alone; small titles, since panels are side by side."""
    label(axis, "", x, y, outer=True)
    told = f"{n:,}" if isinstance(n, int) else n
    axis.set_title(f"{title}\nn = {told}", loc="left", fontsize=9)


def explore(run: Any) -> Any:
    """A hierarchical and a flat model on the same texts."""
    from attnlib.viz.explorer import explore

    params, dataset = run.params, run.params.corpora[0]
    kinds = {"hierarchical": "han", "flat": "flan"}
    shown = {
        name: run.fitted(fit(params, dataset, kind, params.encoders[0], params.seeds[0]))
        for name, kind in kinds.items()
        if kind in params.trained[dataset]
    }
    return explore(shown, run.corpora[short(dataset)].test[:5], by=("alpha", "omission"))


def _beyond(group: str, caption: str, otherwise: str = "") -> Figure:
    return Figure(
        f"beyond_{group}",
        lambda results: beyond_boxes(results.beyond_fractions, group) if len(results.beyond_fractions) else None,
        f"{caption} n: texts × trainings.",
        "Box plots: share of words removed before the first flip under four rankings, one panel per model.",
        otherwise,
    )


FIGURES = [
    Figure("delta_js", lambda results: delta_scatter(results.single), "Difference in attention "
           "against difference in effect, after the paper's Figures 3 and 7. n: texts × trainings. "
           "Colour shows how many: pale blue few, purple most.", "Scatter plots, one per model: "
           "difference in attention weight against difference in JS divergence."),
    Figure("negative", lambda results: negative_histogram(results.single), "Texts in which the "
           "random item had the larger effect, by Δα, after the paper's Figures 4 and 8.",
           "Histograms, one per model: counts of texts with negative difference in effect, by "
           "difference in attention."),
    Figure("flip_bars", lambda results: flip_bars(results.single), "Decisions flipped by a "
           "ranking's first item, by a random other one, or by both, after the paper's Figures 9, "
           "12, 13.", "Bars, one group per ranking and one panel per model: percent of texts "
           "flipped by the top or the random item."),
    Figure("fractions", lambda results: fraction_boxes(results.fractions), "Share of items removed "
           "at the first flip, after the paper's Figures 5, 6 and 10. Line: median; diamond: mean. "
           "n: texts × trainings that flip, which differ between rankings.", "Box plots, one panel "
           "per model: share of items removed before the first flip under four rankings."),
    Figure("mass", lambda results: fraction_boxes(results.fractions, "mass_removed", "attention "
           "mass removed"), "Attention mass removed at the first flip, after the paper's Figure "
           "11. Line: median; diamond: mean. n as above.", "Box plots, one panel per model: "
           "attention mass removed at the first flip under four rankings."),
    _beyond("projection", "Projections: softmax, sparsemax, sparsegen, entmax, Gumbel.",
            "The models beyond the paper were left out of this run; `beyond` names a data set for "
            "them."),
    _beyond("scaling", "Softmax attention without scaling, and with Lin-, Feat- and Conv-TaSc."),
    _beyond("regulariser", "A base model, tied states, and masked language modelling."),
]  # fmt: skip
