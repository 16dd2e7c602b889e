"""Figures of the study of word-level objectives: frames in, charts out."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.studies.tying_mlm.params import VARIANTS
from attnlib.studies.tying_mlm.tables import NAMES, SCORES, SWAPPED
from attnlib.utils.errors import DataError
from attnlib.viz import plots
from attnlib.viz.heatmap import Reading, read
from attnlib.viz.plots import CYCLE, MARKERS, Chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from attnlib.data.types import Example
    from attnlib.training.fitted import Fitted

LOOK = {name: {"color": CYCLE[k], "marker": MARKERS[k]} for k, name in enumerate(VARIANTS)}
"""One colour and one marker per variant, in every figure."""
DROPS = tuple(f"delta_macro_{swap}" for swap in SWAPPED)


def drops(table: pd.DataFrame, score: str) -> Chart:
    """Change of a score under uniform and permuted attention, by attention and variant, with the paper's values."""
    swap = table["metric"].map({f"delta_{score}_{name}": name for name in SWAPPED})
    part = _lines(table.assign(line=table["attention"] + ", " + swap)[swap.notna()])
    return plots.intervals(
        part, "line", hue="variant", reference="paper" if "paper" in part else None, n="texts",
        title=f"Change of {SCORES[score]} when attention is replaced", x=f"points of {SCORES[score]}",
    )  # fmt: skip


def information(table: pd.DataFrame) -> Chart:
    """Mutual information by variant and sample of words."""
    part = _lines(table.assign(sample=table["metric"].map(NAMES), line=table["variant"]))
    return plots.intervals(
        part, "line", hue="sample", n="occurrences", title="How much hidden states tell about their words",
        x="mutual information (nats)",
    )  # fmt: skip


def probabilities(table: pd.DataFrame) -> Chart:
    """Mean per-token probability by variant and attention, with the paper's."""
    return plots.intervals(
        _lines(table.assign(line=table["variant"])), "line", hue="attention", reference="paper",
        title="Probability of the prediction, token by token",
        x="mean over tokens and correctly classified texts",
    )  # fmt: skip


@plots.styled
def frontier(table: pd.DataFrame) -> Chart:
    """Figure 1: mean JSD against mean TVD, one curve per base, one point per adversary, one panel per corpus.

    λ is written where there is room, in the colour of its curve: at the ends first, then at other points.
    """
    datasets = list(dict.fromkeys(table["dataset"]))
    columns = min(2, len(datasets))
    rows = -(-len(datasets) // columns)
    figure, axes = plots.chart(rows, columns, size=(max(5.6, 4.4 * columns), 3.8 * rows), squeeze=False)
    for axis in axes.flat[len(datasets) :]:
        axis.remove()
    for axis, dataset in zip(axes.flat, datasets, strict=False):
        part = table[table["dataset"] == dataset]
        for variant, curve in part.groupby("variant", sort=False):
            curve = curve.sort_values("jsd")
            reach = [np.abs(curve[[f"{k}_low", f"{k}_high"]].to_numpy().T - curve[k].to_numpy())
                     for k in ("jsd", "tvd")]  # fmt: skip
            ends = {"xerr": reach[0], "yerr": reach[1], "capsize": 2}
            axis.errorbar(curve["jsd"], curve["tvd"], **ends, **LOOK[variant], label=f"adversaries of {variant}")
        plots.label(
            axis, dataset, "JSD of attentions (nats)", "TVD of outputs", f"{int(part['texts'].max()):,} texts"
        )
        axis.legend()
        _label_weights(axis, part)
    return figure


def by_strength(table: pd.DataFrame) -> Chart:
    """Ablation of δ and η: macro-F1, and its changes, against the weight of the loss."""
    axes = {"tying": "δ, weight of the tying loss", "mlm": "η, weight of the MLM loss"}
    return _curves(
        table,
        "variant",
        "strength",
        "metric",
        ("macro_trained", *DROPS),
        axes,
        "macro-F1, change (points)",
        "log",
    )


def by_layers(table: pd.DataFrame) -> Chart:
    """Change of macro-F1 under both replacements against the number of layers, one line per variant."""
    deep = table.groupby("variant")["layers"].transform("nunique") > 1
    part = table[deep & table["metric"].isin(DROPS)]
    return _curves(
        part, "metric", "layers", "variant", VARIANTS, dict.fromkeys(DROPS, "layers"), "points of macro-F1"
    )


@plots.styled
def _curves(
    table: pd.DataFrame, column: str, at: str, hue: str, lines: Sequence[str], x: Mapping[str, str], y: str,
    scale: str = "linear",
) -> Chart:  # fmt: skip
    """One row of panels per data set, one panel per value of `column`: `value` over `at`, one line per `hue`.

    lines  the values of `hue`, each with its colour; x: the label of each panel's horizontal axis
    """
    datasets, columns = (list(dict.fromkeys(table[name])) for name in ("dataset", column))
    size = (3.7 * len(columns), 3.3 * len(datasets))
    figure, axes = plots.chart(len(datasets), len(columns), size=size, squeeze=False, sharey="row")
    for axis, (dataset, name) in zip(axes.flat, product(datasets, columns), strict=True):
        part = table[(table["dataset"] == dataset) & (table[column] == name)].sort_values(at)
        for k, line in ((k, part[part[hue] == key]) for k, key in enumerate(lines)):
            if len(line):
                plots.whiskers(axis, line[at], line, k, linestyle="-", label=NAMES.get(lines[k], lines[k]))
        axis.set_xscale(scale)
        axis.set_xticks(ticks := sorted(part[at].unique()), [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        title = f"{NAMES.get(name, name)}\n{dataset}"
        plots.label(axis, title, x[name], y, f"{int(part['texts'].max()):,} texts", outer=True)
        axis.set_xlabel(x[name])
    plots.legend_below(figure)
    return figure


def entropies(frame: pd.DataFrame) -> Chart:
    """Normalised entropy of dot attention: one outline per start, boxes for several corpora."""
    kept = frame.dropna(subset=["value"])
    if len(set(kept["dataset"])) > 1:
        return plots.box_by(
            kept, "dataset", "value", "init", title="How even dot attention is", x_label="corpus",
            y_label="entropy of the weights / ln T (1 is uniform)",
        )  # fmt: skip
    lowest = np.floor(5 * kept["value"].min()) / 5  # in fifths, so that four steps to 1 have round labels
    return plots.histogram(
        kept, "value", "init", limits=(float(min(lowest, 0.8)), 1.0), bins=40,
        title="How even dot attention is", x="entropy of the weights / ln T (1 is uniform)",
    )  # fmt: skip


@plots.styled
def sentences(models: Mapping[str, Fitted], example: Example) -> tuple[Chart, dict[str, Reading]]:
    """Figures 2 to 7: p_t of the class that base predicts, token by token, and (dotted) each model's answer.

    Of a long text the first `plots.TOKENS` are drawn.
    """
    if "base" not in models:
        raise DataError(f"The class to look at is the one that base predicts; got models {sorted(models)}.")
    first = read(models["base"], example, ("probability",))[0]
    target = first.classes[first.predicted]
    readings = {name: read(m, example, ("alpha", "probability"), target=target)[0] for name, m in models.items()}
    tokens = first.tokens[: plots.TOKENS]
    figure, axis = plots.chart(size=(min(14.0, max(6.5, 1.8 + 0.42 * len(tokens))), 3.6))
    for name, reading in readings.items():
        answer = reading.probabilities[reading.target]
        axis.plot(reading.rows["probability"][: plots.TOKENS], **LOOK[name], label=f"{name}, answer {answer:.2f}")
        axis.axhline(answer, color=LOOK[name]["color"], linestyle=":", linewidth=1.2)
    axis.axhline(0.5, color="#666666", linewidth=0.8)
    plots.token_ticks(axis, tokens)
    axis.set_ylim(-0.02, 1.02)
    true, whole = first.classes[example.label], len(first.tokens)
    counted = f"{whole:,} tokens" + ("" if whole <= plots.TOKENS else f", the first {plots.TOKENS} of them drawn")
    plots.label(axis, f"predicted {target}, true class {true}", "", f"p({target})", counted)
    plots.legend_right(axis)
    return figure, readings


def readable(examples: Sequence[Example], n: int, *, shortest: int = 8, longest: int = 24) -> list[Example]:
    """`n` dev texts of a length that fits a line, by chance and not by what models make of them."""
    from attnlib.data.selection import sampled

    return sampled([e for e in examples if shortest <= len(e) <= longest] or list(examples), n) if n else []


def _lines(table: pd.DataFrame) -> pd.DataFrame:
    """The column `line` led by the data set where there are several, one block per data set."""
    if len(set(table["dataset"])) < 2:
        return table
    order = pd.Series(pd.factorize(table["dataset"])[0], index=table.index).sort_values(kind="stable").index
    return table.assign(line=table["dataset"] + ", " + table["line"]).loc[order]


def _label_weights(axis: Axes, points: pd.DataFrame) -> None:
    """λ beside its point where there is room: first at the ends of every curve, then at the others."""
    order = points.groupby("variant")["λ"].transform(lambda lam: (lam != lam.min()) & (lam != lam.max()))
    rows = points.loc[order.sort_values(kind="stable").index].to_dict("records")
    plots.name_points(
        axis, [(row["jsd"], row["tvd"], f"{row['λ']:g}", LOOK[row["variant"]]["color"]) for row in rows]
    )
