"""Figures of the TaSc study."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from attnlib.stats.inference import effects
from attnlib.studies.datasets import short
from attnlib.studies.quantity import Figure
from attnlib.studies.tasc.grid import CELL, FRACTION, RANKINGS, TOP1, Results, balanced, boxed, first_cell, fit
from attnlib.studies.tasc.numbers import NO_BASELINES, RANGE, of, table5
from attnlib.studies.tasc.params import NAMES
from attnlib.viz import charts, plots
from attnlib.viz.charts import CYCLE, Chart, chart, label, legend_below, panels, styled

UNITS = {FRACTION: "fraction of tokens removed", TOP1: "decisions flipped (%)"}
TITLES = {FRACTION: "Fraction of tokens to a flip", TOP1: "Flips by the top token alone"}
SIDES = {"without": "No-TaSc", "with": "Lin-TaSc"}


@styled
def grouped(flips: pd.DataFrame, metric: str) -> Chart:
    """Figures 1 and 2: means by encoder (row 1) and by corpus (row 2), one panel per ranking, a marker per variant.

    A mean is over the cells of corpus, encoder and attention, which count alike however many texts they have.
    """
    part = of(metric, RANKINGS, flips)
    rows = ["encoder"] + (["dataset"] if len(part["dataset"].unique()) > 1 else [])
    size = (9.6, 0.6 + 2.9 * len(rows))
    figure, axes = chart(len(rows), 3, size=size, sharey="row", sharex=False, squeeze=False)
    for line, by in zip(axes, rows, strict=True):
        # a row by corpus averages over encoders, so it needs those that every corpus and variant has
        whole = part if by == "encoder" else balanced(part)
        summary = effects(whole, [by, "variant", "importance"], CELL, bounds=RANGE[metric])
        for axis, ranking in zip(line, RANKINGS, strict=True):
            _markers(axis, summary[summary["importance"] == ranking], by)
            title = f"{TITLES[metric]}: {NAMES[ranking]}" if axis is line[0] else NAMES[ranking]
            label(axis, title, "", UNITS[metric], outer=True)
    charts.from_zero(axes.flat)
    legend_below(figure)
    return figure


def _markers(axis: Any, summary: pd.DataFrame, by: str) -> None:
    groups, variants = list(dict.fromkeys(summary[by])), list(dict.fromkeys(summary["variant"]))
    for k, variant in enumerate(variants):
        part = summary[summary["variant"] == variant]
        at = np.array([groups.index(g) for g in part[by]]) + (k - (len(variants) - 1) / 2) * 0.17
        charts.whiskers(axis, at, part, k, ms=5, capsize=2, label=NAMES.get(variant, variant))
    counts = summary.groupby(by)["n"].max()
    axis.set_xticks(range(len(groups)), [f"{NAMES.get(g, g)}\nn = {counts[g]:,}" for g in groups], fontsize=8)
    axis.set_xlim(-0.6, len(groups) - 0.4)


@styled
def boxes(flips: pd.DataFrame, cells: Sequence[tuple[str, str, str]]) -> Chart | None:
    """Figure 3: the fraction over texts without TaSc and with Lin-TaSc, one panel per cell that was measured."""
    part = of(FRACTION, RANKINGS, flips)
    groups = dict(iter(part[part["variant"].isin(["none", "lin"])].groupby(CELL, sort=False)))
    drawn = [cell for cell in cells if cell in groups]
    if not drawn:
        return None
    figure, axes = panels(drawn, 2.3, 3.4)
    for key, axis in axes.items():
        cell = groups[key]
        for k, variant in enumerate(("none", "lin")):
            own = cell[cell["variant"] == variant]
            values = [own.loc[own["importance"] == ranking, "value"] for ranking in RANKINGS]
            at = np.arange(3) + (k - 0.5) * 0.36
            charts.boxes(axis, values, at, 0.3, [CYCLE[k]] * len(RANKINGS), label=NAMES[variant])
        axis.set_xticks(range(3), [NAMES[r] for r in RANKINGS])
        title = f"{short(key[0])}\n{NAMES.get(key[1], key[1])}, {NAMES[key[2]]}"
        label(axis, title, "", UNITS[FRACTION], len(cell) // 6, outer=True)
    legend_below(figure)
    return figure


def baselines(results: Results) -> dict[str, Chart]:
    """Table 5 as a picture of each corpus: one line per cell, one marker per method, the paper's values hollow."""
    table = table5(results)
    method = table["importance"].where(table["variant"] == "No-TaSc", "α∇α, Lin-TaSc")
    table = table.assign(cell=table["encoder"] + ", " + table["attention"], method=method)
    title = "WO, x∇x and IG without TaSc, α∇α with Lin-TaSc"
    options = {"hue": "method", "reference": "paper", "x": UNITS[FRACTION]}
    return {
        short(name): plots.intervals(part, "cell", title=f"{short(name)}: {title}", **options)
        for name, part in table.groupby("dataset", sort=False)
    }


@styled
def picture(table: pd.DataFrame) -> Chart:
    """Attention, scale, product and effect of `measures.reading`: without TaSc the left bar, with it the right.

    Of a long text the first `charts.TOKENS` are drawn.
    """
    drawn = "" if len(table) <= charts.TOKENS else f" (first {charts.TOKENS} of {len(table):,} tokens)"
    table = table.head(charts.TOKENS)
    rows = (
        (f"attention α{drawn}", "attention", ("without", "with")),
        ("scale s", "scale", ("with",)),
        ("product α s", "product", ("without", "with")),
        (f"adds to “{table['predicted'].iloc[0]}”", "adds", ("without", "with")),
    )
    figure, axes = chart(4, 1, size=(max(6.5, 1.5 + 0.5 * len(table)), 6.4), sharex=True)
    for axis, (title, column, sides) in zip(axes, rows, strict=True):
        width = 0.8 / len(sides) if len(sides) > 1 else 0.4
        for k, side in enumerate(sides):
            at = np.arange(len(table)) + (k - (len(sides) - 1) / 2) * width
            colour = CYCLE[list(SIDES).index(side)]
            axis.bar(at, table[f"{column}, {side}"], width, color=colour, label=SIDES[side])
        axis.axhline(0, color="#666666", linewidth=0.8)
        axis.grid(axis="x", visible=False)
        axis.set_title(title, loc="left")
    charts.token_ticks(axes[-1], table["token"])
    charts.legend_right(axes[0])
    return figure


def read(results: Results) -> str:
    """What the picture shows: the word that attention weighs most, and the word that adds most."""
    table, said = results.picture.set_index("token"), []
    for side, name in SIDES.items():
        attended, added = table[f"attention, {side}"], table[f"adds, {side}"]
        most = f"“{added.idxmax()}” adds most ({added.max():+.2g})" if added.max() > 0 else "no word adds anything"
        most += f" to “{table['predicted'].iloc[0]}”"
        said.append(f"{name}: attention is largest on “{attended.idxmax()}” ({attended.max():.2f}), and {most}.")
    return " ".join(said)


def explore(run: Any) -> Any:
    """The two models of the picture on a few test texts."""
    from attnlib.viz.explorer import explore

    params, cell = run.params, first_cell(run.params)
    names = {"none": "without TaSc", "lin": "Lin-TaSc"}
    pair = {words: run.fitted(fit(params, *cell, v, params.seeds[0])) for v, words in names.items()}
    return explore(pair, run.corpora[short(cell[0])].test[:6], level="input")


FIGURES = [
    Figure("picture", lambda results: picture(results.picture) if len(results.picture) else None,
           "One text without TaSc (blue) and with Lin-TaSc (orange): attention, scale, product, "
           "and what it adds to the logit.", "Bars by word in four rows: attention weight, scale, "
           "their product, contribution to the predicted class.", says=read),
    Figure("top_token", lambda results: grouped(results.tested, TOP1), "After the paper's Figure "
           "1: decisions flipped by the top token, by encoder (and by corpus where there are "
           "several). Whiskers: 95% intervals over texts and trainings. Higher is better.",
           "Markers with intervals, one panel per ranking: share of decisions flipped by the top "
           "token for each variant.", "No model learned anything, so there is nothing to draw."),
    Figure("fraction", lambda results: grouped(results.tested, FRACTION), "After the paper's "
           "Figure 2: the fraction by encoder (and by corpus where there are several). Lower is "
           "better.", "Markers with intervals, one panel per ranking: mean fraction of tokens to a "
           "flip for each variant."),
    Figure("boxes", lambda results: boxes(results.tested, boxed(results)), "After the paper's "
           "Figure 3: fraction of tokens over the texts and trainings of a cell (never = 1). Box: "
           "quartiles; line: median.", "Box plots of the fraction of tokens to a flip for three "
           "rankings, without TaSc and with Lin-TaSc."),
    Figure("baselines", baselines, "After the paper's Table 5, as a picture. Filled: ours with 95% "
           "intervals; hollow: the paper's value for the same corpus, or for the closest that it "
           "has.", "Dots with intervals by cell: fraction to a flip by WO, x∇x and IG without "
           "TaSc, by α∇α with Lin-TaSc.", NO_BASELINES),
]  # fmt: skip
