"""Figures of the study of word-level objectives: frames in, charts out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import pandas as pd

from attnlib import plots
from attnlib.errors import DataError
from attnlib.heatmap import Reading, read
from attnlib.plots import CYCLE, MARKERS, STYLE, Chart
from attnlib.studies.tying_mlm import VARIANTS
from attnlib.studies.tying_mlm_tables import DROPS, METRICS, NAMES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from attnlib.data.types import Example
    from attnlib.fitted import Fitted

COLOUR = {name: CYCLE[k] for k, name in enumerate(VARIANTS)}
MARKER = {name: MARKERS[k] for k, name in enumerate(VARIANTS)}
"""One colour and one marker a variant, in every figure."""


def drops(table: pd.DataFrame) -> Chart:
    """Change of F1 under uniform and permuted attention, by attention and variant, with the paper's values."""
    part = table[table["metric"].isin(DROPS)]
    several = len(set(part["dataset"])) > 1
    line = part["attention"] + ", " + part["metric"].map({m: m.removeprefix("delta_f1_") for m in DROPS})
    part = part.assign(line=part["dataset"] + ", " + line if several else line)
    return plots.intervals(
        part, "line", hue="variant", reference="paper", title="F1 lost when attention is replaced", x="points of F1"
    )


def information(table: pd.DataFrame) -> Chart:
    """Mutual information by variant and sample of words."""
    part = table.assign(sample=table["metric"].map(NAMES))
    return plots.intervals(
        part, "variant", hue="sample", n="occurrences", title="What hidden states know of their words",
        x="mutual information (nats)",
    )  # fmt: skip


def probabilities(table: pd.DataFrame) -> Chart:
    """Mean per-token probability by variant and attention, with the paper's."""
    return plots.intervals(
        table, "variant", hue="attention", reference="paper", title="Probability of the prediction, token by token",
        x="mean over tokens and correctly classified texts",
    )  # fmt: skip


def frontier(table: pd.DataFrame) -> Chart:
    """Figure 1: mean JSD against mean TVD, one curve a base, one point an adversary."""
    datasets = list(dict.fromkeys(table["dataset"]))
    figure, axes = plots.chart(1, len(datasets), size=(max(5.6, 4.4 * len(datasets)), 3.8), squeeze=False)
    with mpl.rc_context(STYLE):
        for axis, dataset in zip(axes[0], datasets, strict=True):
            part = table[table["dataset"] == dataset]
            for variant, curve in part.groupby("variant", sort=False):
                curve = curve.sort_values("jsd")
                reach = [np.abs(curve[[f"{k}_low", f"{k}_high"]].to_numpy().T - curve[k].to_numpy())
                         for k in ("jsd", "tvd")]  # fmt: skip
                axis.errorbar(
                    curve["jsd"], curve["tvd"], xerr=reach[0], yerr=reach[1], fmt=f"-{MARKER[variant]}",
                    color=COLOUR[variant], capsize=2, label=f"adversaries of {variant}",
                )  # fmt: skip
                for at, cost, lam in zip(curve["jsd"], curve["tvd"], curve["λ"], strict=True):
                    axis.annotate(f"{lam:g}", (at, cost), xytext=(4, 4), textcoords="offset points", fontsize=8)
            plots.label(
                axis, dataset, "JSD of attentions (nats)", "TVD of outputs", f"{int(part['n'].max()):,} texts"
            )
            axis.legend()
    return figure


def by_strength(table: pd.DataFrame) -> Chart:
    """Ablation of δ and η: F1, and its changes, against the weight of the loss."""
    panels = [(d, v) for d, v in table[["dataset", "variant"]].drop_duplicates().itertuples(index=False)]
    figure, axes = plots.chart(1, len(panels), size=(3.7 * len(panels), 3.4), squeeze=False, sharey=True)
    with mpl.rc_context(STYLE):
        for axis, (dataset, variant) in zip(axes[0], panels, strict=True):
            part = table[(table["dataset"] == dataset) & (table["variant"] == variant)]
            for k, (metric, name) in enumerate(METRICS.items()):
                _line(axis, part[part["metric"] == metric], "strength", CYCLE[k], MARKERS[k], name)
            axis.set_xscale("log")
            ticks = sorted(part["strength"].unique())
            axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            axis.minorticks_off()
            symbol = "δ" if variant == "tying" else "η"
            n = int(part.loc[part["metric"] == "f1_trained", "n"].max())
            plots.label(axis, f"{variant}, {dataset}", f"{symbol}, weight of its loss", "percent, points", n)
        axes[0][-1].legend()
    return figure


def by_layers(table: pd.DataFrame) -> Chart:
    """Change of F1 under both replacements against the number of layers, one line a variant."""
    datasets = list(dict.fromkeys(table["dataset"]))
    figure, axes = plots.chart(len(datasets), 2, size=(7.4, 3.2 * len(datasets)), squeeze=False, sharey="row")
    deep = table.groupby("variant")["layers"].transform("nunique") > 1
    with mpl.rc_context(STYLE):
        for row, dataset in zip(axes, datasets, strict=True):
            for axis, metric in zip(row, DROPS, strict=True):
                part = table[deep & (table["dataset"] == dataset) & (table["metric"] == metric)]
                for variant, line in part.groupby("variant", sort=False):
                    _line(axis, line, "layers", COLOUR[variant], MARKER[variant], variant)
                axis.xaxis.get_major_locator().set_params(integer=True)
                swap = metric.removeprefix("delta_f1_")
                plots.label(axis, f"{dataset}, {swap}", "layers", "points of F1", int(part["n"].max()))
            row[-1].legend()
    return figure


def entropies(frame: pd.DataFrame) -> Chart:
    """Normalised entropy of dot attention, one outline an initialisation."""
    kept = frame.dropna(subset=["value"])
    lowest = np.floor(20 * kept["value"].min()) / 20
    return plots.histogram(
        kept, "value", "init", limits=(float(min(lowest, 0.9)), 1.0), bins=40,
        title="How even dot attention is", x="entropy of the weights / ln T (1 is uniform)",
    )  # fmt: skip


def sentences(models: Mapping[str, Fitted], example: Example) -> tuple[Chart, dict[str, Reading]]:
    """Figures 2 to 7: p_t of the class that base predicts, token by token, and (dotted) each model's answer."""
    if "base" not in models:
        raise DataError(f"The class to look at is the one that base predicts; got models {sorted(models)}.")
    first = read(models["base"], example, ("probability",))[0]
    target = first.classes[first.predicted]
    readings = {name: read(m, example, ("alpha", "probability"), target=target)[0] for name, m in models.items()}
    tokens = first.tokens
    figure, axis = plots.chart(size=(min(14.0, max(6.5, 1.8 + 0.42 * len(tokens))), 3.6))
    with mpl.rc_context(STYLE):
        for name, reading in readings.items():
            answer = reading.probabilities[reading.target]
            axis.plot(
                range(len(tokens)), reading.rows["probability"], marker=MARKER[name], color=COLOUR[name],
                label=f"{name}, answer {answer:.2f}",
            )  # fmt: skip
            axis.axhline(answer, color=COLOUR[name], linestyle=":", linewidth=1.2)
        axis.axhline(0.5, color="#666666", linewidth=0.8)
        axis.set_xticks(range(len(tokens)), [t.replace("$", r"\$") for t in tokens], rotation=60, ha="right")
        axis.set_ylim(-0.02, 1.02)
        true = first.classes[example.label]
        plots.label(axis, f"predicted {target}, true class {true}", "", f"p({target})", f"{len(tokens)} tokens")
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return figure, readings


def readable(examples: Sequence[Example], n: int, *, shortest: int = 8, longest: int = 24) -> list[Example]:
    """`n` dev texts of a length that fits a line, by chance and not by what models make of them."""
    from attnlib.data.sampling import sampled

    return sampled([e for e in examples if shortest <= len(e) <= longest] or list(examples), n) if n else []


def _line(axis, part: pd.DataFrame, x: str, colour: str, marker: str, name: str) -> None:
    part = part.sort_values(x)
    reach = np.abs(part[["low", "high"]].to_numpy(float).T - part["value"].to_numpy(float))
    axis.errorbar(part[x], part["value"], yerr=reach, fmt=f"-{marker}", color=colour, capsize=3, label=name)
