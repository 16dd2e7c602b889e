"""Figures of the study of word-level objectives: frames in, charts out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from itertools import chain, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.studies.quantity import Figure, Quantity
from attnlib.studies.tying_mlm.grid import fit
from attnlib.studies.tying_mlm.numbers import (
    BY_LAMBDA,
    BY_WEIGHT,
    CELL,
    NAMES,
    OTHERS,
    SAMPLES,
    SCORED,
    SCORES,
    STUDY,
    SWAPPED,
    TOKENS,
    deeper,
    distances,
    entropy,
    information,
    jsd,
    long,
    metrics,
    ordered,
    tokens,
    weighed,
)
from attnlib.studies.tying_mlm.params import VARIANTS
from attnlib.utils.errors import DataError
from attnlib.viz import plots
from attnlib.viz.heatmap import Reading, read
from attnlib.viz.plots import CYCLE, MARKERS, Chart

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from attnlib.data.types import Example
    from attnlib.studies.results import Results
    from attnlib.training.fitted import Fitted

LOOK = {name: {"color": CYCLE[k], "marker": MARKERS[k]} for k, name in enumerate(VARIANTS)}
"""One colour and one marker per variant, in every figure."""
DROPS = tuple(f"delta_macro_{swap}" for swap in SWAPPED)


def drops(columns: Mapping[str, Quantity], score: str, results: Results) -> Chart:
    """Change of a score under uniform and permuted attention, by attention and variant, with the paper's values."""
    changes = {metric: quantity for metric, quantity in columns.items() if metric.startswith(f"delta_{score}")}
    table = long(results, changes, CELL)
    swap = table["metric"].str.rpartition("_")[2]
    part = _lines(table.assign(line=table["attention"] + ", " + swap))
    return plots.intervals(
        part, "line", hue="variant", reference="paper" if "paper" in part else None, n="texts",
        title=f"Change of {SCORES[score]} when attention is replaced", x=f"points of {SCORES[score]}",
    )  # fmt: skip


def mutual_information(results: Results) -> Chart:
    """Mutual information by variant and sample of words."""
    table = ordered(information.table(results, [*CELL, "metric"]))
    part = _lines(table.assign(sample=table["metric"].map(SAMPLES), line=table["variant"]))
    return plots.intervals(
        part, "line", hue="sample", n="trainings", title="How much hidden states tell about their words",
        x="mutual information (nats)",
    )  # fmt: skip


def probabilities(results: Results) -> Chart:
    """Mean per-token probability by variant and attention, with the paper's."""
    table = long(results, {TOKENS: tokens.of(printed=(STUDY, 3, TOKENS))}, CELL)
    return plots.intervals(
        _lines(table.assign(line=table["variant"])), "line", hue="attention", reference="paper",
        title="Probability of the prediction, token by token",
        x="mean over tokens and correctly classified texts",
    )  # fmt: skip


@plots.styled
def frontier(results: Results) -> Chart | None:
    """Figure 1: mean JSD against mean TVD, one curve per base, one point per adversary, one panel per corpus.

    λ is written where there is room, in the colour of its curve: at the ends first, then at other points.
    """
    if results.distances.empty:
        return None
    table = _curves_of(results)
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


def _curves_of(results: Results) -> pd.DataFrame:
    """One row per data set, base and λ: `jsd` and `tvd`, each with its interval."""
    sides = [
        q.table(results, BY_LAMBDA).rename(columns={"value": name, "low": f"{name}_low", "high": f"{name}_high"})
        for name, q in (("jsd", jsd), ("tvd", distances))
    ]
    kept = [*BY_LAMBDA, "tvd", "tvd_low", "tvd_high"]
    return sides[0].merge(sides[1][kept], on=BY_LAMBDA).rename(columns={"lam": "λ"})


def by_strength(results: Results) -> Chart | None:
    """Ablation of δ and η: macro-F1, and below it its changes, against the weight of the loss."""
    table = long(results, metrics("macro", rows=weighed), BY_WEIGHT)
    if table.empty:
        return None
    axes = {"tying": "δ, weight of the tying loss", "mlm": "η, weight of the MLM loss"}
    rows = {"macro-F1 (points)": ("macro_trained",), "change (points)": DROPS}
    return _curves(table, "variant", "strength", "metric", rows, axes, "log")


def by_layers(results: Results) -> Chart | None:
    """Change of macro-F1 under both replacements against the number of layers, one line per variant."""
    if not results.params.layers:
        return None
    table = long(results, metrics("macro", rows=deeper), ["dataset", "variant", "layers"])
    deep = table.groupby("variant")["layers"].transform("nunique") > 1
    part = table[deep & table["metric"].isin(DROPS)]
    rows = {"points of macro-F1": VARIANTS}
    return _curves(part, "metric", "layers", "variant", rows, dict.fromkeys(DROPS, "layers"))


@plots.styled
def _curves(
    table: pd.DataFrame, column: str, at: str, hue: str, rows: Mapping[str, Sequence[str]], x: Mapping[str, str],
    scale: str = "linear",
) -> Chart:  # fmt: skip
    """Panels per data set and unit, side by side by `column`: `value` over `at`, one line per `hue`.

    rows  unit -> the values of `hue` that have it, which share a vertical axis; x: the label of each panel's
          horizontal axis
    """
    datasets, columns = (list(dict.fromkeys(table[name])) for name in ("dataset", column))
    shape = len(datasets) * len(rows), len(columns)
    size = (3.7 * shape[1], (3.3 if len(rows) == 1 else 2.7) * shape[0])
    figure, axes = plots.chart(*shape, size=size, squeeze=False, sharey="row")
    look = {line: k for k, line in enumerate(chain(*rows.values()))}
    for axis, (dataset, (unit, lines), name) in zip(
        axes.flat, product(datasets, rows.items(), columns), strict=True
    ):
        part = table[(table["dataset"] == dataset) & (table[column] == name)].sort_values(at)
        for line in lines:
            if len(curve := part[part[hue] == line]):
                told = NAMES.get(line, line)
                plots.whiskers(axis, curve[at], curve, look[line], linestyle="-", label=told)
        axis.set_xscale(scale)
        axis.set_xticks(ticks := sorted(part[at].unique()), [f"{tick:g}" for tick in ticks])
        axis.minorticks_off()
        title = f"{NAMES.get(name, name)}\n{dataset}"
        plots.label(axis, title, x[name], unit, f"{int(part['texts'].max()):,} texts", outer=True)
        axis.set_xlabel(x[name])
    plots.legend_below(figure)
    return figure


def entropies(results: Results) -> Chart | None:
    """Normalised entropy of dot attention: boxes by start, side by side for several corpora."""
    if "dot" not in results.params.attentions:
        return None
    return plots.box_by(
        entropy.values(results), "dataset", "value", "init", title="How even dot attention is", x_label="corpus",
        y_label="entropy of the weights / ln T (1 is uniform)",
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


def first_sentences(results: Results) -> dict[str, Chart]:
    """Sentences drawn at random from dev, as the models of the first training read them."""
    params = results.params
    names = [v for v in ("base", "tying", "mlm") if v in params.variants]
    corpus = results.grid.corpora[params.data(params.corpora[0])]
    models = {v: results.grid.fitted(fit(params, params.corpora[0], v, "additive", params.seeds[0])) for v in names}
    chosen = readable(corpus.dev, params.shown)
    return {str(k): sentences(models, example)[0] for k, example in enumerate(chosen, start=1)}


DOTS = "Dots with intervals: change of {} under uniform and permuted attention for five variants."
FIGURES = [
    Figure("drops-macro", partial(drops, OTHERS, "macro"), "Change of macro-F1, by which the "
           "claims are judged. Whiskers: 95% intervals over trainings and texts.",
           DOTS.format("macro-F1")),
    Figure("drops", partial(drops, SCORED, "f1"), "Change of F1 of the positive class, which the "
           "paper prints. Whiskers: 95% intervals over trainings and texts.",
           DOTS.format("F1")),
    Figure("strength", by_strength, "Macro-F1, and below it its changes, by the weight of the "
           "loss. Whiskers, where a weight has several trainings: 95% intervals.", "Lines over the "
           "weights delta of tying and eta of masked language modelling."),
    Figure("layers", by_layers, "Change of macro-F1 by number of layers, of the variants trained "
           "with more than one. Whiskers, where there are several trainings: 95% intervals.",
           "Lines over the number of layers: change of macro-F1 under uniform and permuted "
           "attention."),
    Figure("entropy", entropies, "Entropy of the attention weights of each test text, relative to "
           "its maximum, by the start of the query.", "Boxes: entropy of dot "
           "attention for the normal and the default start.", otherwise="No model of this run has "
           "dot attention."),
    Figure("information", mutual_information, "Mutual information of states and words, for the "
           "most frequent words (MF) and a random sample (RS). Whiskers: 95% intervals over "
           "trainings.", "Dots with intervals: mutual information of words and states by variant, "
           "for two samples of words."),
    Figure("frontier", frontier, "After the paper's Figure 1: each point is the mean over "
           "adversaries of one λ, which is written where there is room. Whiskers, where there are "
           "several trainings: 95% intervals.", "Curves of total variation of outputs against "
           "divergence of attentions, one per base model."),
    Figure("per_token", probabilities, "Lower: fewer words carry the answer. n: correctly "
           "classified texts × trainings.", "Dots with intervals: mean per-token probability by "
           "variant and attention."),
    Figure("sentence", first_sentences, "What each word of a dev sentence says alone; dotted, the "
           "answer of the whole, after the paper's Figures 2 to 7.", "Lines over the words of a "
           "sentence: the probability that each of them alone gives the prediction."),
]  # fmt: skip
