"""Figures of the verdict: frames in, charts out."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.patches import Rectangle

from attnlib.stats.inference import interval_text
from attnlib.studies.datasets import short
from attnlib.studies.quantity import Figure
from attnlib.studies.verdict import numbers
from attnlib.studies.verdict.grid import MODEL, PARTS, Results, fit
from attnlib.studies.verdict.measures import TESTS
from attnlib.studies.verdict.numbers import CHANCE, NAMES
from attnlib.viz import plots

BLUE, ORANGE = plots.COLOURS["blue"], plots.COLOURS["vermillion"]


@plots.styled
def agreement(results: Results) -> plots.Chart:
    """τ of every pair of tests: blue where they order models alike, orange where they contradict each other."""
    table = numbers.agreement(results)
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
def diagnosticity(results: Results) -> plots.Chart:
    """How often each test prefers the truth: to false rankings (left), to deceptive models (right)."""
    table = numbers.diagnosticity(results)
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
def parts(results: Results) -> plots.Chart:
    """What each part changes by each test, one panel per part."""
    table = numbers.part_effects(results)
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


def tasc(results: Results) -> plots.Chart:
    """What Lin-TaSc changes in the fraction to a flip, by reading and encoder."""
    return plots.intervals(
        numbers.tasc(results), "encoder", hue="reading", title="Lin-TaSc: change of the fraction to a flip",
        x="fraction with TaSc minus without (left: fewer tokens)",
    )  # fmt: skip


@plots.styled
def pareto(results: Results) -> plots.Chart:
    """F1 against the test to be believed most, one panel per corpus; filled: on the front of the encoder."""
    test = numbers.best_test(results)
    table = numbers.designs(results, test)
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
def two_tests(results: Results) -> plots.Chart:
    """Models by the two tests of rankings that agree least, one panel per corpus; a ring: shown below."""
    models, (pair, shown, _) = results.by_model, numbers.contradiction(results)
    a, b = pair["a"], pair["b"]
    figure, axes = plots.panels(list(dict.fromkeys(models["dataset"])), 3.8, 3.6)
    for dataset, axis in axes.items():
        for k, (encoder, part) in enumerate(models[models["dataset"] == dataset].groupby("encoder")):
            axis.plot(part[a], part[b], plots.MARKERS[k], color=plots.CYCLE[k], ms=6, label=encoder)
        if dataset == shown["dataset"]:
            own = models[(models[MODEL] == shown[MODEL]).all(axis=1)]
            axis.plot(own[a], own[b], "o", mfc="none", mec="#666666", ms=14, label="the model below")
        plots.label(axis, dataset, f"{NAMES[a]} (right: better)", f"{NAMES[b]} (up: better)", outer=True)
        axis.margins(0.12)
    plots.legend_below(figure)
    return figure


def read(results: Results) -> str:
    """What the two tests say of the ringed model, and of one of its texts."""
    pair, model, text = numbers.contradiction(results)
    a, b = pair["a"], pair["b"]
    return (
        f"By {NAMES[a]} and {NAMES[b]} τ is {interval_text(*pair[['value', 'low', 'high']])}. The ringed model "
        f"({', '.join(str(model[part]) for part in ('encoder', *PARTS))}; {model['dataset']}) is number {model[a]} "
        f"of {model['of']} by {NAMES[a]} and number {model[b]} by {NAMES[b]}. On the text below, {NAMES[a]} is "
        f"{text[a]:.2f} and {NAMES[b]} {text[b]:.2f} (signed: more is better)."
    )


def explore(run: Any) -> Any:
    """The text on which the two tests differ most: attention, and what leaving out each token changes."""
    from attnlib.viz.heatmap import heatmap

    _, model, text = numbers.contradiction(run.results)
    name = next(c for c in run.params.corpora if run.corpora[short(c)].name == model["dataset"])
    row = {part: model[part] for part in ("encoder", *PARTS)}
    fitted = run.fitted(fit(run.params, name, row, int(model["seed"])))
    example = next(e for e in run.corpora[short(name)].test if e.id == text.name)
    return heatmap(fitted, example, ["alpha", "omission"])


FIGURES = [
    Figure("agreement", agreement, "Kendall's τ of two tests over "
           "models, mean over corpora. Bold: the 95% interval excludes zero.",
           "Matrix of rank correlations between tests."),
    Figure("two_tests", two_tests, "Models by the two tests that agree least among those that judge a ranking.",
           "Scatter of models by two tests, one panel per corpus.", "Too few models learned anything.", says=read),
    Figure("parts", parts, "Mean over the models with a part minus "
           "mean over those without it, with 95% intervals over trainings and texts.",
           "Dots with intervals: change by each test, one colour per part."),
    Figure("tasc", tasc, "What Lin-TaSc changes in the fraction of tokens "
           "to a flip at the input, ranked by α and by α∇α.", "Dots with intervals by encoder and reading."),
    Figure("diagnosticity", diagnosticity, "How often a test "
           "prefers the truth, with 95% intervals over trainings and texts. Dotted: chance.",
           "Dots with intervals by test: share of texts where the true explanation wins."),
    Figure("pareto", pareto, "Macro-F1 and the test that is to be believed most, all designs. Filled: on the front "
           "of their encoder.", "Scatter of designs by F1 and faithfulness, one panel per corpus."),
]  # fmt: skip
