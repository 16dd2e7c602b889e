"""Figures of the verdict: frames in, charts out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from attnlib.studies.quantity import Figure
from attnlib.studies.verdict import numbers
from attnlib.studies.verdict.grid import Results
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.numbers import CHANCE, NAMES
from attnlib.viz import plots

BLUE, ORANGE = plots.COLOURS["blue"], plots.COLOURS["vermillion"]


@plots.styled
def agreement(results: Results) -> plots.Chart:
    """τ of every pair of tests: blue where they order models alike, orange elsewhere."""
    table = numbers.agreement(results)
    tests = [test for test in TESTS if test in {*table["a"], *table["b"]}]
    figure, axis = plots.chart(size=(8.6, 6.4))
    for row in table.itertuples():
        i, j = tests.index(row.a), tests.index(row.b)
        colour, strength = (BLUE if row.value >= 0 else ORANGE), 0.08 + 0.7 * min(1.0, abs(row.value))
        axis.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, facecolor=colour, alpha=strength, edgecolor="none"))
        clear = "bold" if row.low > 0 or row.high < 0 else "normal"
        told = f"{row.value:z.1f}".replace("-", "−")
        axis.text(i, j, told, ha="center", va="center", fontsize=8, fontweight=clear)
    names = [NAMES[test] for test in tests]
    axis.set_xticks(range(len(tests) - 1), names[:-1], rotation=40, ha="right", fontsize=8)
    axis.set_yticks(range(1, len(tests)), names[1:], fontsize=8)
    axis.set_xlim(-0.5, len(tests) - 1.5)
    axis.set_ylim(len(tests) - 0.5, 0.5)
    axis.grid(visible=False)
    plots.label(axis, "Do two tests order models alike?", "", "", f"{int(table['trainings'].max()):,} models")
    return figure


def _dots(axis: Any, own: pd.DataFrame, tests: list[str], k: int, shift: float = 0, label: str = "") -> None:
    """One line per test, with whiskers."""
    at = np.array([tests.index(test) for test in own["test"]]) + shift
    plots.whiskers(axis, at, own, k, across=True, ms=5, capsize=2, label=label or None)
    axis.set_yticks(range(len(tests)), tests, fontsize=8.5)
    axis.set_ylim(len(tests) - 0.5, -0.5)


@plots.styled
def diagnosticity(results: Results) -> plots.Chart:
    """How often each test prefers the truth to false rankings and to deceptive models."""
    found = numbers.diagnosticity(results).items()
    table = pd.DataFrame([{"test": NAMES[test], "against": against} | one.row() for (test, against), one in found])
    models = table["against"] == "honesty"
    parts = {"True and false rankings": table[~models], "Honest and deceptive models": table[models]}
    figure, axes = plots.chart(1, 2, size=(9.6, 5.2), sharey=True, sharex=True)
    tests = [test.name for test in TESTS.values() if test.name in set(table["test"])]
    for axis, (title, part) in zip(axes, parts.items(), strict=True):
        kinds = list(dict.fromkeys(part["against"]))
        for k, kind in enumerate(kinds):
            colour, shift = 3 if kind == "honesty" else k, (k - (len(kinds) - 1) / 2) * 0.22
            _dots(axis, part[part["against"] == kind], tests, colour, shift, NAMES[kind])
        axis.axvline(CHANCE, color="#666666", linestyle=":", linewidth=1.2)
        axis.set_xlim(-0.03, 1.03)
        plots.label(axis, title, "share of texts where the truth wins", "")
    plots.legend_below(figure)
    return figure


@plots.styled
def parts(results: Results) -> plots.Chart:
    """What each part changes by each test, one panel per part."""
    table = numbers.part_changes(results)
    tests = list(dict.fromkeys(table["test"]))
    figure, axes = plots.panels(list(dict.fromkeys(table["part"])), 2.1, 4.8, room=2.0, sharex=True)
    for k, (part, axis) in enumerate(axes.items()):
        _dots(axis, table[table["part"] == part], tests, k)
        axis.axvline(0, color="#666666", linewidth=0.8)
        axis.set_title(part, loc="left")
    figure.supxlabel("change, in standard deviations over models (right: better)", fontsize=10)
    return figure


FIGURES = [
    Figure("agreement", agreement, "Kendall's τ of two tests over models, mean over corpora. Bold: the 95% "
           "interval excludes zero.", "Matrix"),
    Figure("parts", parts, "Mean over the models with a part minus mean over those without it, with 95% intervals "
           "over trainings and texts.", "Dots with intervals, one colour per part"),
    Figure("diagnosticity", diagnosticity, "How often a test prefers the truth, with 95% intervals over trainings "
           "and texts. Dotted: chance.", "Dots with intervals"),
]  # fmt: skip
