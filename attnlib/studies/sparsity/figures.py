"""Figures of the study of sparse attention, one for each corpus: they differ too much to pool them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from attnlib.store.specs import FitSpec
from attnlib.studies.beside import named
from attnlib.studies.quantity import Figure, NotTested, Quantity
from attnlib.studies.results import Results
from attnlib.studies.sparsity import numbers
from attnlib.studies.sparsity.grid import PAIR, models
from attnlib.studies.sparsity.numbers import KINDS, NAMES
from attnlib.studies.sparsity.params import Params
from attnlib.viz import plots


def by_corpus(draw: Callable[..., plots.Chart], *given: Any) -> Callable[[Results], dict[str, plots.Chart]]:
    """Results -> a figure for each corpus, by a name for its file: letters, digits and hyphens."""

    def drawn(results: Results) -> dict[str, plots.Chart]:
        made: dict[str, plots.Chart] = {}
        for k, name in enumerate(results.labels["dataset"].unique()):
            own = {of: frame[frame["dataset"] == name] for of, frame in results.frames.items() if len(frame)}
            plain = re.sub(r"[^A-Za-z0-9]+", "-", str(name)).strip("-") or "corpus"
            with suppress(NotTested):  # no model of this corpus learned anything
                made[f"{plain}-{k}" if plain in made else plain] = draw(*given, name, results.replace(**own))
        return made

    return drawn


def boxes(quantity: Quantity, x: Sequence[str], hue: str, y: str, title: str, corpus: str, results: Results):
    """Figure 2: distribution over texts and trainings, by the columns `x` and by `hue`."""
    part = named(quantity.values(results), NAMES)
    part = part.assign(x=part[list(x)].agg("\n".join, axis=1).str.replace(" ", "\n"))
    return plots.box_by(part, "x", "value", hue, title=f"{corpus}: {title}", x_label="", y_label=y)


@plots.styled
def along(series: Mapping[str, Quantity], title: str, y: str, corpus: str, results: Results) -> plots.Chart:
    """Figure 3: means along λ, one panel per encoder, of the seeds that trained the whole path."""
    tables = {k: q.where(numbers.on_path).table(results, ["encoder", "lam"]) for k, q in series.items()}
    encoders = next(iter(tables.values()))["encoder"].unique()
    figure, panels = plots.panels(encoders, 3.8, 3.6, room=2.2)
    places = sorted(results.params.lambdas)
    for encoder, axis in panels.items():
        for k, (name, table) in enumerate(tables.items()):
            line = table[table["encoder"] == encoder].sort_values("lam")
            plots.whiskers(axis, line["lam"].map(places.index), line, k, linestyle="-", label=name)
        axis.set_xticks(range(len(places)), [f"{place:g}".replace("-", "−") for place in places])
        x = "λ of sparsegen (larger: sparser)"
        plots.label(axis, NAMES[encoder], x, y, int(line["n"].max()), outer=True)
    plots.legend_right(axis)
    plots.heading(figure, f"{corpus}: {title}")
    return figure


def explored(params: Params) -> tuple[dict[str, FitSpec], dict[str, Any]]:
    """A softmax and a sparsemax model of the same seed."""
    fits = {fit.model.projection: fit for fit in reversed(models(params, params.corpora[0]))}
    return {name: fits[name] for name in PAIR}, {"by": ("alpha", "gradient_norm", "omission")}


MEANS = "Means with 95% intervals over texts and trainings; steps of λ are drawn equally wide."
FIGURES = [
    Figure("support", by_corpus(along, {"words with weight": numbers.share, "entropy of attention":
           numbers.entropy}, "realised sparsity", "share of words, entropy / its maximum"), f"Words with weight "
           f"and entropy of attention against λ. {MEANS}", "Line charts, one per encoder"),
    *(Figure(f"entropy-{words}", by_corpus(boxes, numbers.importance[kind], ["model"], "encoder",
             "entropy / its maximum", f"spread of {words} importance over the words of a text"),
             f"Entropy of the {words} importance of words, after the paper's Figure 2. One value per text and "
             "training. 1: spread evenly over a text; 0: all on one word.", "Box plots")
      for kind, words in KINDS.items()),
    Figure("agreement-lambda", by_corpus(along, {words: numbers.follows[kind] for kind, words in KINDS.items()},
           "agreement with the importance of words", "Kendall τ-b with attention"), "Agreement of attention with "
           f"importance against λ, after the paper's Figure 3. {MEANS}", "Line charts, one per encoder"),
]  # fmt: skip
