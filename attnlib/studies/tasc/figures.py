"""Figures of the TaSc study."""

from __future__ import annotations

from functools import partial
from itertools import product

from attnlib.stats.inference import effects
from attnlib.store.specs import FitSpec
from attnlib.studies.beside import named
from attnlib.studies.datasets import short
from attnlib.studies.quantity import Figure
from attnlib.studies.tasc.grid import CELL, FRACTION, RANKINGS, TOP1, Results, balanced, fit, shown
from attnlib.studies.tasc.numbers import RANGE, of, on
from attnlib.studies.tasc.params import NAMES, Params
from attnlib.viz import charts, plots
from attnlib.viz.charts import Chart, chart, label, legend_below, styled

UNITS = {FRACTION: "fraction of tokens removed", TOP1: "decisions flipped (%)"}


@styled
def grouped(metric: str, results: Results) -> Chart:
    """Figures 1 and 2: means by encoder (row 1) and by corpus (row 2), a panel per ranking.

    A mean is over cells of corpus, encoder and attention, which count alike however many texts
    they have; one by corpus is over the encoders that every corpus and variant has.
    """
    part = of(metric, RANKINGS, results.tested)
    rows = ["encoder"] + ["dataset"] * (part["dataset"].nunique() > 1)
    figure, axes = chart(len(rows), 3, size=(9.6, 0.6 + 2.9 * len(rows)), sharey="row", squeeze=False)
    for axis, (by, ranking) in zip(axes.flat, product(rows, RANKINGS), strict=True):
        whole = part if by == "encoder" else balanced(part)
        found = effects(whole[whole["importance"] == ranking], [by, "variant"], CELL, bounds=RANGE[metric])
        groups, variants = found[by].unique().tolist(), found["variant"].unique().tolist()
        for k, variant in enumerate(variants):
            own = found[found["variant"] == variant]
            at = own[by].map(groups.index) + (k - (len(variants) - 1) / 2) * 0.17
            charts.whiskers(axis, at, own, k, ms=5, capsize=2, label=NAMES.get(variant, variant))
        counts = found.groupby(by)["n"].max()
        names = [f"{on((g,))}\nn = {counts[g]:,}" for g in groups]
        axis.set_xticks(range(len(groups)), names, fontsize=8)
        label(axis, NAMES[ranking], "", UNITS[metric], outer=True)
    charts.from_zero(axes.flat)
    legend_below(figure)
    return figure


def boxes(results: Results) -> dict[str, Chart]:
    """Figure 3: the fraction over texts without TaSc and with Lin-TaSc, of each measured cell."""
    params, corpora = results.params, results.grid.corpora
    part = of(FRACTION, RANKINGS, results.tested)
    part = part[part["variant"].isin(["none", "lin"])]
    cells = {cell: named(own, NAMES) for cell, own in part.groupby(CELL)}
    wanted = [(corpora[params.data(corpus)].name, *rest) for corpus, *rest in shown(params, 3)]
    look = {"y_label": UNITS[FRACTION], "x_label": ""}
    return {
        "-".join([short(cell[0]), *cell[1:]]): plots.box_by(
            cells[cell], "importance", "value", "variant", title=f"{short(cell[0])}: {on(cell[1:])}", **look
        )
        for cell in wanted
        if cell in cells
    }


def explored(params: Params) -> tuple[dict[str, FitSpec], dict[str, str]]:
    """A model without TaSc and one with Lin-TaSc."""
    cell, seed = shown(params, 4)[0], params.seeds[0]
    return {NAMES[v]: fit(params, *cell, v, seed) for v in ("none", "lin")}, {"level": "input"}


FIGURES = [
    Figure("top_token", partial(grouped, TOP1), "After the paper's Figure 1: decisions flipped by "
           "the top token, by encoder (and by corpus where there are several). Higher is better.",
           "Markers with intervals", "No model learned anything, so there is nothing to draw."),
    Figure("fraction", partial(grouped, FRACTION), "After the paper's Figure 2: the fraction by "
           "encoder (and by corpus where there are several). Lower is better.", "Markers with intervals"),
    Figure("boxes", boxes, "After the paper's Figure 3: fraction of tokens over the texts and "
           "trainings of a cell (never = 1). Box: quartiles; line: median.", "Box plots"),
]  # fmt: skip
