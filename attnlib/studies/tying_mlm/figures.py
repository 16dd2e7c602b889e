"""Figures of the study of word-level objectives: frames in, charts out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from attnlib.data.selection import sampled
from attnlib.studies.quantity import Figure
from attnlib.studies.tying_mlm.grid import fit
from attnlib.studies.tying_mlm.numbers import distances, jsd
from attnlib.studies.tying_mlm.params import VARIANTS
from attnlib.viz import plots
from attnlib.viz.heatmap import read
from attnlib.viz.plots import CYCLE, MARKERS, Chart

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.studies.results import Results
    from attnlib.training.fitted import Fitted


@plots.styled
def frontier(results: Results) -> Chart:
    """Figure 1: mean JSD against mean TVD, one curve per base, one point per λ."""
    by = ["dataset", "variant", "lam"]
    table = jsd.table(results, by).merge(distances.table(results, by), on=by, suffixes=("_x", ""))
    table = table.sort_values("value_x")
    figure, panels = plots.panels(table["dataset"].unique(), 4.4, 3.8)
    for dataset, axis in panels.items():
        part = table[table["dataset"] == dataset]
        for variant, curve in part.groupby("variant"):
            reach = np.abs(curve[["low_x", "high_x"]].to_numpy().T - curve["value_x"].to_numpy())
            k = VARIANTS.index(variant)
            plots.whiskers(axis, curve["value_x"], curve, k, xerr=reach, linestyle="-", label=variant)
        n = f"{int(part['texts'].max()):,} texts"
        plots.label(axis, dataset, "JSD of attentions (nats)", "TVD of outputs", n, outer=True)
        axis.legend(title="adversaries of")
    return figure


@plots.styled
def sentence(models: Mapping[str, Fitted], example: Example) -> Chart:
    """Figures 2 to 7: p_t of the class that base predicts, and (dotted) each model's answer."""
    first = read(models["base"], example, ("probability",))[0]
    target = first.classes[first.predicted]
    tokens = first.tokens[: plots.TOKENS]
    figure, axis = plots.chart(size=(min(14.0, max(6.5, 1.8 + 0.42 * len(tokens))), 3.6))
    for name, model in models.items():
        reading, k = read(model, example, ("probability",), target=target)[0], VARIANTS.index(name)
        answer, look = reading.probabilities[reading.target], {"color": CYCLE[k], "marker": MARKERS[k]}
        axis.plot(reading.rows["probability"][: plots.TOKENS], **look, label=f"{name}, answer {answer:.2f}")
        axis.axhline(answer, color=CYCLE[k], linestyle=":", linewidth=1.2)
    plots.token_ticks(axis, tokens)
    axis.set_ylim(-0.02, 1.02)
    told = f"predicted {target}, true class {first.classes[example.label]}"
    plots.label(axis, told, "", f"p({target})", f"{len(first.tokens):,} tokens")
    plots.legend_right(axis)
    return figure


def sentences(results: Results) -> dict[str, Chart]:
    """Three dev texts that fit a line, by chance, as the models of the first training read them."""
    params, corpus = results.params, results.params.corpora[0]
    names = [v for v in ("base", "tying", "mlm") if v in params.variants]
    models = {v: results.grid.fitted(fit(params, corpus, v, "additive", params.seeds[0])) for v in names}
    dev = results.grid.corpora[params.data(corpus)].dev
    chosen = sampled([example for example in dev if 8 <= len(example) <= 24] or list(dev), 3)
    return {str(k): sentence(models, example) for k, example in enumerate(chosen, start=1)}


FIGURES = [
    Figure("frontier", frontier, "Change of outputs against distance of attentions, after the paper's Figure 1. "
           "Each point is the mean over adversaries of one λ, with 95% intervals.", "Curves",
           otherwise="There is no adversary: none was asked for, or every one failed."),
    Figure("sentence", sentences, "What each word of a dev sentence says alone, after the paper's Figures 2 to 7. "
           "Dotted: the answer of the whole.", "Lines over words"),
]  # fmt: skip
