"""Figures of the erasure study, one panel per model; what is drawn of many texts is pixels."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from attnlib.store.specs import FitSpec
from attnlib.studies.erasure.grid import MODEL, RANKINGS, TOPS, compared, fit, several
from attnlib.studies.erasure.numbers import ALONE, NAMES, on
from attnlib.studies.erasure.params import ARCHITECTURES, Params
from attnlib.studies.quantity import Figure
from attnlib.studies.results import Results
from attnlib.viz import charts
from attnlib.viz.charts import CYCLE, DENSITY, GREY, Chart, label, legend_below, panels, styled

COLOURS = (GREY, CYCLE[1], CYCLE[0], CYCLE[2])
Draw = Callable[[Axes, pd.DataFrame], str]


@styled
def by_model(frame: pd.DataFrame, draw: Draw, x: str, y: str, **options: Any) -> Chart | None:
    """One panel per dataset and model; `draw` returns the n of its title."""
    parts = dict(iter(frame.groupby(MODEL, sort=False)))
    if not parts:
        return None
    figure, axes = panels(parts, 2.9, 2.4, **options)
    figure.set_dpi(150)
    for model, axis in axes.items():
        n = draw(axis, parts[model])
        label(axis, "", x, y, outer=True)
        axis.set_title(f"{on(model)}\nn = {n}", loc="left", fontsize=9)
    if axis.get_legend_handles_labels()[0]:
        legend_below(figure)
    return figure


def delta_js(results: Results) -> Chart | None:
    """Figures 3 and 7: Δα against ΔJS, as the density of texts and trainings."""
    kept = compared(results.single, importance="alpha")
    low, high = min(0.0, kept["delta_js"].min()), max(0.01, kept["delta_js"].max())

    def draw(axis: Axes, part: pd.DataFrame) -> str:
        counts = np.histogram2d(part["delta_js"], part["delta_alpha"], bins=50, range=((low, high), (0, 1)))[0]
        look = {"origin": "lower", "aspect": "auto", "interpolation": "none", "cmap": DENSITY}
        shown, norm = np.ma.masked_equal(counts, 0), LogNorm(1, max(2, counts.max()))
        axis.imshow(shown, extent=(0, 1, low, high), norm=norm, **look)
        axis.axhline(0.0, color="#666666", linewidth=0.8, linestyle=":")
        axis.set(xlim=(-0.02, 1.02), ylim=(1.04 * low - 0.04 * high, 1.04 * high - 0.04 * low))
        return f"{len(part):,}"

    return by_model(kept, draw, "Δα", "ΔJS (nats)", sharex=True)


def negative(results: Results) -> Chart | None:
    """Figures 4 and 8: texts whose ΔJS is below zero, by Δα; the titles give their share."""

    def draw(axis: Axes, part: pd.DataFrame) -> str:
        below = part.loc[part["delta_js"] < 0, "delta_alpha"]
        axis.hist(below, bins=20, range=(0, 1), color=CYCLE[1], edgecolor="white", linewidth=0.4)
        return f"{len(below):,} of {len(part):,}"

    kept = compared(results.single, importance="alpha")
    figure = by_model(kept, draw, "Δα", "texts with ΔJS < 0", sharex=True)
    if figure is not None:
        figure.axes[0].set_ylim(bottom=0)
    return figure


def flip_bars(results: Results) -> Chart | None:
    """Figures 9, 12 and 13 as bars: percent of texts that the top item, r, or both flip."""

    def draw(axis: Axes, part: pd.DataFrame) -> str:
        top, other = part["flip_top"], part["flip_other"]
        kinds = {"only the top item": top & ~other, "both": top & other, "only the random item": ~top & other}
        for k, (kind, cells) in enumerate(kinds.items()):
            heights = 100 * cells.groupby(part["importance"]).mean().reindex(TOPS)
            axis.bar(np.arange(3) + (k - 1) * 0.27, heights, 0.25, color=CYCLE[(0, 5, 1)[k]], label=kind)
        axis.set_xticks(range(3), [NAMES[name] for name in TOPS])
        return f"{part['instance'].nunique() * part['seed'].nunique():,}"

    return by_model(compared(results.single), draw, "", "% of texts", sharex=True)


def first_flips(value: str, y: str, results: Results) -> Chart | None:
    """Figures 5, 6, 10 and 11: the value at the first flip under each ranking."""

    def draw(axis: Axes, part: pd.DataFrame) -> str:
        values = [part.loc[part["importance"] == name, value].dropna().to_numpy(float) for name in RANKINGS]
        mean = {"marker": "D", "markersize": 3.5, "markerfacecolor": "white", "markeredgecolor": "black"}
        found = charts.boxes(axis, values, range(4), 0.6, COLOURS, showmeans=True, meanprops=mean)
        for points in found["fliers"]:
            points.set_rasterized(True)
        axis.set_xticks(range(4), [NAMES[name] for name in RANKINGS], rotation=30, ha="right")
        axis.set(xlim=(-0.5, 3.5), ylim=(-0.03, 1.03))
        return "–".join(f"{n:,}" for n in sorted({min(map(len, values)), max(map(len, values))}))

    return by_model(several(results.fractions), draw, "", y, sharex=True)


def explored(params: Params) -> tuple[dict[str, FitSpec], dict[str, Any]]:
    """A hierarchical and a flat model."""
    dataset, *cell = params.corpora[0], params.encoders[0], params.seeds[0]
    fits = {kind.upper(): fit(params, dataset, kind, *cell) for kind in ARCHITECTURES}
    return fits, {"by": ("alpha", "omission")}


FIGURES = [
    Figure("delta_js", delta_js, "Difference in attention against difference in effect, after the "
           "paper's Figures 3 and 7. n: texts × trainings, pale blue where they are few.", "Scatter plots",
           ALONE),
    Figure("negative", negative, "Texts in which the random item had the larger effect, by Δα, "
           "after the paper's Figures 4 and 8.", "Histograms"),
    Figure("flip_bars", flip_bars, "Decisions flipped by a ranking's first item, by a random other "
           "one, or by both, after the paper's Figures 9, 12 and 13.", "Bars"),
    Figure("fractions", partial(first_flips, "fraction", "share of items removed"), "Share of "
           "items removed at the first flip, after the paper's Figures 5, 6 and 10. Line: median; "
           "diamond: mean; n: texts × trainings that flip.", "Box plots"),
    Figure("mass", partial(first_flips, "mass_removed", "attention mass removed"), "Attention mass "
           "removed at the first flip, after the paper's Figure 11. n as above.", "Box plots"),
]  # fmt: skip
