"""Figures of the verdict: frames in, charts out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle

from attnlib.studies.verdict.grid import MODEL
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.tables import CHANCE, NAMES
from attnlib.viz import plots

BLUE, ORANGE = plots.COLOURS["blue"], plots.COLOURS["vermillion"]


@plots.styled
def agreement(table: pd.DataFrame) -> plots.Chart:
    """τ of every pair of tests: blue where they order models alike, orange where they contradict each other."""
    tests = [test for test in TESTS if test in {*table["a"], *table["b"]}]
    figure, axis = plots.chart(size=(8.6, 6.4))
    for row in table.itertuples():
        i, j = tests.index(row.a), tests.index(row.b)
        colour, strength = (BLUE if row.value >= 0 else ORANGE), 0.08 + 0.7 * min(1.0, abs(row.value))
        axis.add_patch(Rectangle((i - 0.5, j - 0.5), 1, 1, facecolor=colour, alpha=strength, edgecolor="none"))
        clear = row.low > 0 or row.high < 0
        axis.text(i, j, f"{row.value:z.1f}".replace("-", "−"), ha="center", va="center", fontsize=8,
                  fontweight="bold" if clear else "normal")  # fmt: skip
    names = [NAMES[test] for test in tests]
    axis.set_xticks(range(len(tests) - 1), names[:-1], rotation=40, ha="right", fontsize=8)
    axis.set_yticks(range(1, len(tests)), names[1:], fontsize=8)
    axis.set_xlim(-0.5, len(tests) - 1.5)
    axis.set_ylim(len(tests) - 0.5, 0.5)
    axis.grid(visible=False)
    plots.label(axis, "Do two tests order models alike?", "", "", f"{int(table['trainings'].max()):,} models")
    return figure


@plots.styled
def diagnosticity(table: pd.DataFrame) -> plots.Chart:
    """How often each test prefers the truth: to false rankings (left), to deceptive models (right)."""
    parts = {
        "true and false rankings": table[table["against"] != "honesty"],
        "honest and deceptive models": table[table["against"] == "honesty"],
    }
    parts = {name: part for name, part in parts.items() if len(part)}
    figure, axes = plots.chart(1, len(parts), size=(4.8 * len(parts), 5.2), sharey=True, sharex=True, squeeze=False)
    tests = [test for test in TESTS if test in set(table["test"])]
    for axis, (title, part) in zip(axes[0], parts.items(), strict=True):
        kinds = list(dict.fromkeys(part["against"]))
        for k, kind in enumerate(kinds):
            own = part[part["against"] == kind]
            shift = (k - (len(kinds) - 1) / 2) * 0.22
            at = np.array([tests.index(test) for test in own["test"]]) + shift
            colour = 3 if kind == "honesty" else k
            plots.whiskers(axis, at, own, colour, across=True, ms=5, capsize=2, label=NAMES[kind])
        axis.axvline(CHANCE, color="#666666", linestyle=":", linewidth=1.2)
        axis.set_yticks(range(len(tests)), [NAMES[test] for test in tests], fontsize=8.5)
        axis.set_ylim(len(tests) - 0.5, -0.5)
        axis.set_xlim(-0.03, 1.03)
        plots.label(axis, title.capitalize(), "share of texts where the truth wins", "")
    plots.legend_below(figure)
    return figure


@plots.styled
def parts(table: pd.DataFrame) -> plots.Chart:
    """What each part changes by each test, one panel per part."""
    tests = list(dict.fromkeys(table["test"]))
    figure, axes = plots.panels(list(dict.fromkeys(table["part"])), 2.1, 4.8, room=2.0, sharex=True)
    for k, (part, axis) in enumerate(axes.items()):
        own = table[table["part"] == part]
        plots.whiskers(axis, [tests.index(test) for test in own["test"]], own, k, across=True, ms=5, capsize=2)
        axis.axvline(0, color="#666666", linewidth=0.8)
        axis.set_yticks(range(len(tests)), tests, fontsize=8.5)
        axis.set_ylim(len(tests) - 0.5, -0.5)
        axis.set_title(part, loc="left")
    figure.supxlabel("change, in standard deviations over models (right: better)", fontsize=10)
    return figure


def tasc(table: pd.DataFrame) -> plots.Chart:
    """What Lin-TaSc changes in the fraction to a flip, by reading and encoder."""
    return plots.intervals(
        table, "encoder", hue="reading", title="Lin-TaSc: change of the fraction of tokens to a flip",
        x="fraction with TaSc minus without (left: fewer tokens)",
    )  # fmt: skip


@plots.styled
def pareto(table: pd.DataFrame, test: str) -> plots.Chart:
    """F1 against faithfulness, one panel per corpus; filled markers are on the front of their encoder."""
    figure, axes = plots.panels(list(dict.fromkeys(table["dataset"])), 4.2, 4.0)
    for dataset, axis in axes.items():
        for k, (encoder, part) in enumerate(table[table["dataset"] == dataset].groupby("encoder")):
            look = {"marker": plots.MARKERS[k], "color": plots.CYCLE[k], "linestyle": "none", "ms": 7}
            front = part[part["front"]].sort_values("f1")
            rest = part[~part["front"]]
            axis.plot(rest["f1"], rest["value"], mfc="none", **look)
            axis.plot(front["f1"], front["value"], label=f"{encoder}, on the front", **look)
            axis.plot(front["f1"], front["value"], color=plots.CYCLE[k], linewidth=1)
        plots.label(axis, dataset, "macro-F1", f"{NAMES[test]} (up: better)", outer=True)
        axis.margins(0.08)
    plots.legend_below(figure)
    return figure


@plots.styled
def two_tests(models: pd.DataFrame, a: str, b: str, shown: pd.Series) -> plots.Chart:
    """All models by two tests, one panel per corpus; the model that is shown below has a ring."""
    figure, axes = plots.panels(list(dict.fromkeys(models["dataset"])), 3.8, 3.6)
    for dataset, axis in axes.items():
        for k, (encoder, part) in enumerate(models[models["dataset"] == dataset].groupby("encoder")):
            axis.plot(part[a], part[b], plots.MARKERS[k], color=plots.CYCLE[k], ms=6, label=encoder)
        if dataset == shown["dataset"]:
            own = models[np.logical_and.reduce([models[key] == shown[key] for key in MODEL])]
            axis.plot(own[a], own[b], "o", mfc="none", mec="#666666", ms=14, label="the model below")
        plots.label(axis, dataset, f"{NAMES[a]} (right: better)", f"{NAMES[b]} (up: better)", outer=True)
        axis.margins(0.12)
    plots.legend_below(figure)
    return figure
