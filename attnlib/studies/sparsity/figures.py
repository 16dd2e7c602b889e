"""Figures of the study of sparse attention: frames of one corpus in, charts out.

Corpora differ in their texts and in how their models behave, so none of these charts pools them (`by_corpus`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from attnlib.stats.inference import effects
from attnlib.studies.quantity import SHARE, Figure
from attnlib.studies.sparsity.numbers import (
    FAR,
    KINDS,
    NAMES,
    SPREAD,
    TAU,
    changes,
    labelled,
    on_path,
    pair,
    push_label,
    states,
)
from attnlib.studies.sparsity.params import PAIR, models
from attnlib.utils.errors import DataError
from attnlib.viz import plots

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from attnlib.studies.results import Results

ENCODERS = {"lstm": "BiLSTM, additive", "transformer": "Transformer, dot"}
PATHS = {"lam": "λ of sparsegen (larger: sparser)", "alpha": "α of entmax (larger: sparser)"}
"""The two ways from soft to sparse, as axis labels."""
WORDS = {"gradient_input": "gradient", "leave_one_out_input": "leave-one-out"}


def corpus_of(frame: pd.DataFrame) -> str:
    """The one corpus of a frame."""
    names = list(frame["dataset"].unique())
    if len(names) != 1:
        raise DataError(f"A figure shows one corpus; the frame has {names}. Draw one for each (`by_corpus`).")
    return str(names[0])


def by_corpus(frame: pd.DataFrame, draw: Callable[[pd.DataFrame], plots.Chart]) -> dict[str, plots.Chart]:
    """A figure for each corpus, by a name for its files: letters, digits and hyphens."""
    drawn: dict[str, plots.Chart] = {}
    for name, part in frame.groupby("dataset", sort=False) if len(frame) else ():
        plain = file = re.sub(r"[^A-Za-z0-9]+", "-", str(name)).strip("-") or "corpus"
        while file in drawn:
            file = f"{plain}-{len(drawn)}"
        drawn[file] = draw(part.reset_index(drop=True))
    return drawn


def agreement_boxes(agreement: pd.DataFrame, kind: str) -> plots.Chart:
    """Figures 1 and 4: distribution over texts of the agreement with importance of inputs and hidden states."""
    wanted = [f"{kind}_input", f"{kind}_hidden"]
    part = pair(agreement[agreement["importance"].isin(wanted)])
    part = part.assign(
        model=part["encoder"].map(ENCODERS).str.partition(",")[0] + "\n" + part["projection"],
        **{"importance of": part["importance"].map({wanted[0]: "inputs", wanted[1]: "hidden states"})},
    )
    return plots.box_by(
        part,
        "model",
        "value",
        "importance of",
        title=f"{corpus_of(part)}: agreement of attention with {KINDS[kind]} importance",
        x_label="",
        y_label="Kendall τ-b per text and training",
    )


def entropy_boxes(entropies: pd.DataFrame, metric: str) -> plots.Chart:
    """Figure 2: distribution over texts of the entropy of input importance, for every projection.

    Boxes are in the order of the share of words with weight, as measured over all encoders: the softest first.
    """
    share = labelled(entropies[entropies["metric"] == "support_share"]).groupby("model", sort=False)["value"].mean()
    part = labelled(entropies[entropies["metric"] == metric])
    part = part.sort_values("model", key=lambda names: -names.map(share), kind="stable")
    part = part.assign(model=part["model"].str.replace(" ", "\n"), encoder=part["encoder"].map(ENCODERS))
    words = WORDS[metric.removeprefix("entropy_")]
    return plots.box_by(
        part,
        "model",
        "value",
        "encoder",
        title=f"{corpus_of(part)}: spread of {words} importance over the words of a text",
        x_label="projection",
        y_label="entropy / its maximum",
    )


@plots.styled
def along(
    frame: pd.DataFrame, kind: str, series: Sequence[str], x: str, *, title: str, y: str, names: dict | None = None
) -> plots.Chart:
    """Means with intervals along a path from soft to sparse, one panel per encoder, one line per value of `kind`.

    Of the seeds that trained the whole path. Below -1 lambda runs on a logarithmic scale, much as in the paper's
    Figure 3; from -1 on it is linear. Dashed: the softmax models of these seeds.
    """
    names, corpus = names or WORDS, corpus_of(frame)
    part = frame[frame[kind].isin(series)]
    path = on_path(part, x)
    summary = effects(path, ["encoder", x, kind], bounds=_range(kind))
    soft = part[(part["projection"] == "softmax") & part["seed"].isin(path["seed"].unique())]
    soft = soft.groupby(["encoder", kind])["value"].mean()
    figure, panels = plots.panels(part["encoder"].unique(), 3.8, 3.6, room=2.2)
    for encoder, axis in panels.items():
        own = summary[summary["encoder"] == encoder]
        for k, name in enumerate(series):
            line = own[own[kind] == name].sort_values(x)
            plots.whiskers(axis, line[x], line, k, linestyle="-", label=names.get(name, name))
            if x == "lam" and (encoder, name) in soft:
                axis.axhline(soft[encoder, name], color=plots.CYCLE[k], linestyle="--", linewidth=1, alpha=0.8)
        if x == "lam":
            _lambda_axis(axis, sorted(own[x].unique()))
        plots.label(axis, ENCODERS[encoder], PATHS[x], y, int(own["n"].max()), outer=True)
    return _finished(figure, axis, f"{corpus}: {title}")


@plots.styled
def against_support(
    frame: pd.DataFrame,
    entropies: pd.DataFrame,
    kind: str,
    series: Sequence[str],
    *,
    title: str,
    y: str,
    names: dict | None = None,
) -> plots.Chart:
    """Means against the share of words that really have weight, sparser to the right; one line per path and series.

    Both paths end on one axis here: sparsegen (solid) and entmax from softmax on (dashed) meet in sparsemax.
    """
    names, corpus = names or WORDS, corpus_of(frame)
    share = entropies[entropies["metric"] == "support_share"]
    figure, panels = plots.panels(frame["encoder"].unique(), 3.8, 3.6, room=2.6)
    for encoder, axis in panels.items():
        for k, (x, name) in enumerate((x, name) for x in PATHS for name in series):
            own = frame[(frame["encoder"] == encoder) & (frame[kind] == name)]
            line = effects(on_path(own, x), [x], bounds=_range(kind))
            places = on_path(share[share["encoder"] == encoder], x).groupby(x)["value"].mean()
            line = line.assign(share=line[x].map(places)).sort_values("share")
            label = f"{names.get(name, name)}, {'sparsegen' if x == 'lam' else 'entmax'}"
            plots.whiskers(axis, line["share"], line, k, linestyle="-" if x == "lam" else "--", label=label)
        axis.set_xlim(1.03, -0.03)
        plots.percent(axis.xaxis)
        told = "words with weight (right: sparser)"
        plots.label(axis, ENCODERS[encoder], told, y, int(line["n"].max()), outer=True)
    return _finished(figure, axis, f"{corpus}: {title}")


def _range(kind: str) -> tuple[float, float]:
    """Correlations with an importance, or shares and normalised entropies."""
    return TAU if kind == "importance" else SHARE


def _finished(figure: plots.Chart, last: Axes, title: str) -> plots.Chart:
    """The figure with its legend next to the last panel, and its title."""
    plots.legend_right(last)
    plots.heading(figure, title)
    return figure


def _lambda_axis(axis: Axes, places: Sequence[float]) -> None:
    """Lambda, logarithmic below -1, with the labels that have room."""
    axis.set_xscale("symlog", linthresh=1.0, linscale=1.2)
    axis.set_xlim(min(*places, -1.0) * 1.5, 1.1)
    shown = _spaced(axis, places)
    axis.set_xticks(places, [f"{place:g}".replace("-", "−") if place in shown else "" for place in places])
    axis.minorticks_off()


def _spaced(axis: Axes, places: Sequence[float], gap: float = 0.08) -> list[float]:
    """Places whose labels have room, `gap` of the axis apart: zero first, then the ends, then the others."""
    scale = axis.xaxis.get_transform().transform
    start, stop = scale(np.array(axis.get_xlim(), float))
    shown: list[float] = []
    for place in dict.fromkeys([0.0, max(places), min(places), *places]):
        at = scale(np.array([place, *shown], float)) / (stop - start)
        if place in places and (np.abs(at[1:] - at[0]) >= gap).all():
            shown.append(place)
    return shown


@plots.styled
def adversaries(duels: pd.DataFrame) -> plots.Chart:
    """How far attention moved against what that cost, one line per base, one marker per adversary.

    With its λ where there is room.
    """
    title = f"{corpus_of(duels)}: what other attention costs"
    table = changes(duels)
    named: dict[str, list[tuple[float, float, str, str]]] = {}
    figure, panels = plots.panels(table["encoder"].unique(), 3.8, 3.6, room=1.9)
    for encoder, axis in panels.items():
        own, names = table[table["encoder"] == encoder], []
        for k, ((variant, projection), line) in enumerate(own.groupby(["variant", "projection"], sort=False)):
            line = line.sort_values("push")
            plots.whiskers(axis, line["jsd"], line, k, linestyle="-", label=f"{NAMES[variant]}, {projection}")
            names += [
                (at, height, push_label(push), plots.CYCLE[k])
                for push, at, height in zip(line["push"], line["jsd"], line["value"], strict=True)
                if np.isfinite([at, height]).all()
            ]
        axis.axhline(0, color="#666666", linestyle=":", linewidth=1)
        axis.axvline(FAR, color="#666666", linestyle="--", linewidth=0.8)
        axis.axvline(np.log(2), color="#666666", linewidth=0.8)
        axis.set_xlim(-0.02, 0.74)
        plots.percent(axis.yaxis)
        x = f"JSD of attentions (nats; dashed: {FAR}, line: ln 2)"
        plots.label(axis, ENCODERS[encoder], x, "change of accuracy", int(own["n"].max()), outer=True)
        named[encoder] = names
    _finished(figure, axis, title)
    for encoder, axis in panels.items():
        plots.name_points(axis, named[encoder], size=7)
    return figure


@plots.styled
def facets(frame: pd.DataFrame) -> plots.Chart:
    """Appendix A: entropy of influence on components against that on the norm, one point per hidden state."""
    figure, panels = plots.panels(frame["encoder"].unique(), 4.4, 4.2)
    for k, (encoder, axis) in enumerate(panels.items()):
        own = frame[frame["encoder"] == encoder].dropna(subset=["of_norm", "of_facets"])
        axis.scatter(own["of_norm"], own["of_facets"], s=8, alpha=0.3, color=plots.CYCLE[k], rasterized=True)
        axis.axline((0, 0), slope=1, color="#666666", linestyle=":", linewidth=1)
        x, y = "entropy, influence on ‖h‖", "entropy, influence on components of h"
        plots.label(axis, ENCODERS[encoder], x, y, len(own), outer=True)
    plots.heading(figure, f"{corpus_of(frame)}: two ways to measure influence")
    return figure


def explore(run: Any) -> Any:
    """A softmax and a sparsemax model of the same seed side by side."""
    from attnlib.viz.explorer import explore

    params = run.params
    places = {fit.model.projection: fit for fit, _ in reversed(models(params, params.corpora[0]))}
    pair = {name: run.fitted(places[name]) for name in PAIR}
    texts = next(iter(run.corpora.values())).test
    return explore(pair, texts[:6], by=("alpha", "gradient_norm", "omission"))


def _boxes(kind: str, number: int) -> Figure:
    return Figure(
        f"agreement-{kind.replace('leave_one_out', 'loo')}",
        lambda results: by_corpus(results.agreement, partial(agreement_boxes, kind=kind)),
        f"After the paper's Figure {number}: one value per text and training. Whiskers: 1.5 interquartile ranges.",
        f"Box plots of Kendall tau between attention and {KINDS[kind]} importance, of inputs and of hidden states.",
    )


def _spread(kind: str) -> Figure:
    metric = f"entropy_{kind}_input"
    return Figure(
        metric.replace("_", "-"),
        lambda results: by_corpus(results.entropies, partial(entropy_boxes, metric=metric)),
        f"{KINDS[kind].capitalize()} importance, after the paper's Figure 2, one value per text and training. 1: "
        f"spread "
        "evenly over a text; 0: all on one word.",
        "Box plots of the entropy of input importance for every projection, by encoder.",
    )


def _along(
    name: str, frame: str, kind: str, series: dict, x: str, title: str, y: str, told: str, rows=None
) -> Figure:
    def drawn(results: Results) -> dict[str, plots.Chart] | None:
        path = getattr(results, frame)
        if on_path(path[path[kind].isin(series)], x)[x].nunique() < 2:
            return None

        def draw(part: pd.DataFrame) -> plots.Chart:
            part = rows(part) if rows is not None else part
            return along(part, kind, list(series), x, title=title, y=y, names=series)

        return by_corpus(path, draw)

    way = "lambda" if x == "lam" else "alpha of entmax"
    return Figure(name, drawn, told, f"Line charts, one per encoder: {', '.join(series.values())} against {way}.")


def _support(name: str, frame: str, kind: str, series: dict, title: str, y: str) -> Figure:
    def draw(results: Results, part: pd.DataFrame) -> plots.Chart:
        spread = results.entropies[results.entropies["dataset"] == corpus_of(part)]
        return against_support(part, spread, kind, list(series), title=title, y=y, names=series)

    return Figure(
        name,
        lambda results: by_corpus(getattr(results, frame), partial(draw, results)),
        "Means with 95% intervals over texts and trainings, both paths. Right: sparser.",
        f"Line charts, one per encoder: {', '.join(series.values())} against the share of words with weight.",
    )


MEANS = "Means with 95% intervals over texts and trainings; dashed: softmax. Left of −1 the axis is logarithmic."
SPARSITY = {"support_share": "words with weight", "entropy_attention": "entropy of attention"}
IMPORTANCE = {"entropy_gradient_input": "gradient", "entropy_leave_one_out_input": "leave-one-out"}
FIGURES = [
    _along("support", "entropies", "metric", SPARSITY, "lam", "realised sparsity along sparsegen",
           "share of words, entropy / its maximum", MEANS),
    _along("entmax", "entropies", "metric", {**SPARSITY, "entropy_gradient_input": "entropy of "
           "gradient importance"}, "alpha", "the second path, entmax", "share of words, entropy / "
           "its maximum", "From softmax (1) to sparsemax (2); the third line is the importance of "
           "words, a later section."),
    _along("hidden-lambda", "hidden", "metric", {SPREAD: "influence on a hidden state"}, "lam",
           "spread of the influence on hidden states along sparsegen", "entropy / its maximum",
           f"{MEANS} Over hidden states.", partial(states, "value")),
    Figure("facets", lambda results: by_corpus(results.facets, facets), "Each point is a hidden "
           "state of a softmax model; entropies relative to their maximum.", "Scatter plots, one "
           "per encoder: entropy of influence on components of a hidden state against that on its "
           "norm."),
    _boxes("gradient", 1),
    _boxes("leave_one_out", 4),
    _spread("gradient"),
    _spread("leave_one_out"),
    _along("agreement-lambda", "agreement", "importance", WORDS, "lam", "agreement with the "
           "importance of words along sparsegen", "Kendall τ-b with attention", f"After the "
           f"paper's Figure 3. {MEANS}"),
    _support("agreement-support", "agreement", "importance", WORDS, "agreement with the importance "
             "of words against realised sparsity", "Kendall τ-b with attention"),
    _support("entropy-support", "entropies", "metric", IMPORTANCE, "spread of importance against "
             "realised sparsity", "entropy / its maximum"),
    Figure("adversaries", lambda results: by_corpus(results.adversaries, adversaries),
           "Each point is an adversary, with its λ where there is room; lines join the strengths "
           "of one kind. Right: attention moved farther. Down: accuracy lost. Dashed: how far "
           "attention must move.", "Change of accuracy against Jensen-Shannon divergence of "
           "attention, frozen and unfrozen adversaries."),
]  # fmt: skip
