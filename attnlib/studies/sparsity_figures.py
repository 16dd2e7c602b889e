"""Figures of the study of sparse attention: frames of one corpus in, charts out.

Corpora differ in their texts and in how their models behave, so none of these charts pools them: loop over
`sparsity_tables.by_corpus(frame)`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
import pandas as pd

from attnlib import plots
from attnlib.errors import DataError
from attnlib.studies.common import summarise
from attnlib.studies.sparsity import ENCODERS
from attnlib.studies.sparsity_tables import NAMES, PAIR, accuracy_change, labelled, with_distance

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PATHS = {
    "lam": "λ of sparsegen (larger: sparser)",
    "alpha": "α of entmax (larger: sparser)",
}
"""The two ways from soft to sparse, as axis labels."""
WORDS = {"gradient_input": "gradient", "leave_one_out_input": "leave-one-out"}


def corpus_of(frame: pd.DataFrame) -> str:
    """The one corpus of a frame."""
    names = list(frame["dataset"].unique())
    if len(names) != 1:
        raise DataError(f"A figure shows one corpus; the frame has {names}. Draw one for each of by_corpus(frame).")
    return str(names[0])


def agreement_boxes(agreement: pd.DataFrame, kind: str) -> plots.Chart:
    """Figures 1 and 4: distribution over texts of the agreement with importance of inputs and hidden states."""
    wanted = [f"{kind}_input", f"{kind}_hidden"]
    part = agreement[agreement["projection"].isin(PAIR) & agreement["importance"].isin(wanted)]
    part = part.assign(
        model=part["encoder"].map(ENCODERS).str.partition(",")[0] + "\n" + part["projection"],
        of=part["importance"].map({wanted[0]: "inputs", wanted[1]: "hidden states"}),
    )
    words = {"gradient": "gradient", "leave_one_out": "leave-one-out"}[kind]
    return plots.box_by(
        part,
        "model",
        "value",
        "of",
        title=f"{corpus_of(part)}: agreement of attention with {words} importance",
        x_label="",
        y_label="Kendall τ-b, one value a text and seed",
    )


def entropy_boxes(entropies: pd.DataFrame, metric: str) -> plots.Chart:
    """Figure 2: distribution over texts of the entropy of input importance, for every projection.

    Boxes stand in the order of the share of words with weight, as measured over all encoders: the softest first.
    """
    share = labelled(entropies[entropies["metric"] == "support_share"]).groupby("model", sort=False)["value"].mean()
    part = labelled(entropies[entropies["metric"] == metric])
    part = part.sort_values("model", key=lambda names: -names.map(share), kind="stable")
    part = part.assign(model=part["model"].str.replace(" ", "\n"), encoder=part["encoder"].map(ENCODERS))
    words = {"entropy_gradient_input": "gradient", "entropy_leave_one_out_input": "leave-one-out"}[metric]
    return plots.box_by(
        part,
        "model",
        "value",
        "encoder",
        title=f"{corpus_of(part)}: spread of {words} importance over the words of a text",
        x_label="projection",
        y_label="entropy / its maximum",
    )


def along(
    frame: pd.DataFrame, kind: str, series: Sequence[str], x: str, *, title: str, y: str, names: dict | None = None
) -> plots.Chart:
    """Means with intervals along a path from soft to sparse, one panel an encoder, one line a value of `kind`.

    Below zero lambda runs on a logarithmic scale, as in the paper's Figure 3. Dashed: the softmax model.
    """
    names, corpus = names or WORDS, corpus_of(frame)
    part = frame[frame[kind].isin(series)]
    summary = summarise(part[part[x].notna()], ["encoder", x, kind])
    soft = part[part["projection"] == "softmax"].groupby(["encoder", kind])["value"].mean()
    encoders = list(dict.fromkeys(part["encoder"]))
    figure, axes = plots.chart(1, len(encoders), size=(3.8 * len(encoders) + 2.2, 3.6), sharey=True, squeeze=False)
    with mpl.rc_context(plots.STYLE):
        for axis, encoder in zip(axes[0], encoders, strict=True):
            own = summary[summary["encoder"] == encoder]
            for k, name in enumerate(series):
                line = own[own[kind] == name].sort_values(x)
                reach = np.abs(line[["low", "high"]].to_numpy(float).T - line["value"].to_numpy(float))
                style = {"color": plots.CYCLE[k], "marker": plots.MARKERS[k], "capsize": 3}
                axis.errorbar(line[x], line["value"], yerr=reach, label=names.get(name, name), **style)
                if x == "lam" and (encoder, name) in soft:
                    axis.axhline(soft[encoder, name], color=plots.CYCLE[k], linestyle="--", linewidth=1, alpha=0.8)
            if x == "lam":
                axis.set_xscale("symlog", linthresh=1.0, linscale=1.2)
                places = sorted(own[x].unique())
                axis.set_xlim(min(*places, -1.0) * 1.5, 1.1)
                shown = _spaced(axis, places)
                axis.set_xticks(places, [f"{place:g}" if place in shown else "" for place in places])
                axis.minorticks_off()
            side = y if encoder == encoders[0] else ""
            plots.label(axis, ENCODERS[encoder], PATHS[x], side, int(own["n"].max()))
        axes[0][-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.suptitle(f"{corpus}: {title}", x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


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


def adversaries(duels: pd.DataFrame) -> plots.Chart:
    """How far attention was moved against what that cost, one marker an adversary, one line a base."""
    title = f"{corpus_of(duels)}: what other attention costs"
    table = with_distance(accuracy_change(duels), duels)
    encoders = list(dict.fromkeys(table["encoder"]))
    figure, axes = plots.chart(1, len(encoders), size=(3.8 * len(encoders) + 1.9, 3.6), sharey=True, squeeze=False)
    with mpl.rc_context(plots.STYLE):
        for axis, encoder in zip(axes[0], encoders, strict=True):
            own = table[table["encoder"] == encoder]
            for k, ((variant, projection), line) in enumerate(own.groupby(["variant", "projection"], sort=False)):
                line = line.sort_values("push")
                reach = np.abs(line[["low", "high"]].to_numpy(float).T - line["estimate"].to_numpy(float))
                style = {"color": plots.CYCLE[k], "marker": plots.MARKERS[k], "capsize": 3}
                axis.errorbar(
                    line["jsd"], line["estimate"], yerr=reach, label=f"{NAMES[variant]}, {projection}", **style
                )
            axis.axhline(0, color="#666666", linestyle=":", linewidth=1)
            axis.axvline(np.log(2), color="#666666", linewidth=0.8)
            axis.set_xlim(-0.02, 0.74)
            axis.yaxis.set_major_formatter(mpl.ticker.PercentFormatter(1.0))
            side = "change of accuracy" if encoder == encoders[0] else ""
            plots.label(axis, ENCODERS[encoder], "JSD of attentions (nats; line: ln 2)", side, int(own["n"].max()))
        axes[0][-1].legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        figure.suptitle(title, x=0.01, ha="left", fontsize=11, fontweight="bold")
    return figure


def facets(frame: pd.DataFrame) -> plots.Chart:
    """Appendix A: entropy of influence on components against that on the norm, a point a hidden state, a panel an
    encoder."""
    return plots.scatter_density(
        frame.assign(encoder=frame["encoder"].map(ENCODERS)),
        "of_norm",
        "of_facets",
        hue="encoder",
        unit="hidden states",
        title=f"{corpus_of(frame)}: two ways to measure influence",
        x_label="entropy, influence on ‖h‖",
        y_label="entropy, influence on components of h",
        diagonal=True,
    )
