"""Figures of the TaSc study: frames in, charts out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.stats.inference import effects
from attnlib.studies.tasc.grid import CELL, FRACTION, RANKINGS, TOP1, balanced
from attnlib.studies.tasc.tables import NAMES, RANGE
from attnlib.viz import plots
from attnlib.viz.limits import from_zero

if TYPE_CHECKING:
    from collections.abc import Sequence

UNITS = {FRACTION: "fraction of tokens removed", TOP1: "decisions flipped (%)"}
TITLES = {FRACTION: "Fraction of tokens to a flip", TOP1: "Flips by the top token alone"}


@plots.styled
def grouped(flips: pd.DataFrame, metric: str) -> plots.Chart:
    """The paper's Figures 1 and 2: means by encoder (row 1) and by corpus (row 2), one panel per ranking.

    One marker per variant. A mean is over the cells of corpus, encoder and attention, which count alike however
    many texts they have.
    """
    part = flips[(flips["metric"] == metric) & flips["importance"].isin(RANKINGS)]
    rows = ["encoder"] + (["dataset"] if len(part["dataset"].unique()) > 1 else [])
    figure, axes = plots.chart(
        len(rows), 3, size=(9.6, 0.6 + 2.9 * len(rows)), sharey="row", sharex=False, squeeze=False
    )
    for line, by in zip(axes, rows, strict=True):
        # a row by corpus averages over encoders, so it needs those that every corpus and variant has
        whole = part if by == "encoder" else balanced(part)
        summary = effects(whole, [by, "variant", "importance"], CELL, bounds=RANGE[metric])
        for axis, ranking in zip(line, RANKINGS, strict=True):
            _markers(axis, summary[summary["importance"] == ranking], by)
            title = f"{TITLES[metric]}: {NAMES[ranking]}" if axis is line[0] else NAMES[ranking]
            plots.label(axis, title, "", UNITS[metric], outer=True)
    from_zero(axes.flat)
    plots.legend_below(figure)
    return figure


def _markers(axis, summary: pd.DataFrame, by: str) -> None:
    groups, variants = list(dict.fromkeys(summary[by])), list(dict.fromkeys(summary["variant"]))
    for k, variant in enumerate(variants):
        part = summary[summary["variant"] == variant]
        at = np.array([groups.index(g) for g in part[by]]) + (k - (len(variants) - 1) / 2) * 0.17
        plots.whiskers(axis, at, part, k, ms=5, capsize=2, label=NAMES.get(variant, variant))
    counts = summary.groupby(by)["n"].max()
    axis.set_xticks(range(len(groups)), [f"{NAMES.get(g, g)}\nn = {counts[g]:,}" for g in groups], fontsize=8)
    axis.set_xlim(-0.6, len(groups) - 0.4)


@plots.styled
def boxes(flips: pd.DataFrame, cells: Sequence[tuple[str, str, str]]) -> plots.Chart:
    """The paper's Figure 3: the fraction over texts without TaSc and with Lin-TaSc, one panel per cell.

    cells  data set, encoder and attention of each panel; those that were not measured are left out
    """
    part = flips[(flips["metric"] == FRACTION) & flips["importance"].isin(RANKINGS)]
    groups = dict(iter(part[part["variant"].isin(["none", "lin"])].groupby(CELL, sort=False)))
    figure, panels = plots.panels([cell for cell in cells if cell in groups], 2.3, 3.4)
    for key, axis in panels.items():
        cell = groups[key]
        for k, variant in enumerate(("none", "lin")):
            own = cell[cell["variant"] == variant]
            values = [own.loc[own["importance"] == ranking, "value"] for ranking in RANKINGS]
            colours = [plots.CYCLE[k]] * len(RANKINGS)
            plots.boxes(axis, values, np.arange(3) + (k - 0.5) * 0.36, 0.3, colours, label=NAMES[variant])
        axis.set_xticks(range(3), [NAMES[r] for r in RANKINGS])
        title = f"{key[0]}\n{NAMES.get(key[1], key[1])}, {NAMES[key[2]]}"
        plots.label(axis, title, "", UNITS[FRACTION], len(cell) // 6, outer=True)
    plots.legend_below(figure)
    return figure


def baselines(table: pd.DataFrame, dataset: str) -> plots.Chart:
    """The paper's Table 5 as a picture: one line per cell, one marker per method, the paper's values hollow."""
    part = table[table["dataset"] == dataset]
    part = part.assign(
        cell=part["encoder"] + ", " + part["attention"],
        method=part["importance"].where(part["variant"] == "No-TaSc", "α∇α, Lin-TaSc"),
    )
    return plots.intervals(
        part,
        "cell",
        hue="method",
        reference="paper",
        title=f"{dataset}: WO, x∇x and IG without TaSc, α∇α with Lin-TaSc",
        x=UNITS[FRACTION],
    )


@plots.styled
def picture(table: pd.DataFrame) -> plots.Chart:
    """Attention, scale, product and effect of `measures.reading`: without TaSc the left bar, with it the right.

    Of a long text the first `plots.TOKENS` are drawn.
    """
    drawn = "" if len(table) <= plots.TOKENS else f" (first {plots.TOKENS} of {len(table):,} tokens)"
    table = table.head(plots.TOKENS)
    panels = (
        (f"attention α{drawn}", "attention", ("without", "with")),
        ("scale s", "scale", ("with",)),
        ("product α s", "product", ("without", "with")),
        (f"adds to “{table['predicted'].iloc[0]}”", "adds", ("without", "with")),
    )
    figure, axes = plots.chart(4, 1, size=(max(6.5, 1.5 + 0.5 * len(table)), 6.4), sharex=True)
    colours = {"without": plots.CYCLE[0], "with": plots.CYCLE[1]}
    names = {"without": "No-TaSc", "with": "Lin-TaSc"}
    for axis, (title, column, sides) in zip(axes, panels, strict=True):
        width = 0.8 / len(sides) if len(sides) > 1 else 0.4
        for k, side in enumerate(sides):
            at = np.arange(len(table)) + (k - (len(sides) - 1) / 2) * width
            axis.bar(at, table[f"{column}, {side}"], width, color=colours[side], label=names[side])
        axis.axhline(0, color="#666666", linewidth=0.8)
        axis.grid(axis="x", visible=False)
        axis.set_title(title, loc="left")
    plots.token_ticks(axes[-1], table["token"])
    plots.legend_right(axes[0])
    return figure
