"""Figures of the first notebook: frames in, charts out."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from attnlib.data.selection import preferred
from attnlib.data.types import Example
from attnlib.studies.beside import named
from attnlib.studies.quantity import Figure, Quantity
from attnlib.studies.quickstart import numbers
from attnlib.studies.results import Results
from attnlib.training.fitted import Fitted
from attnlib.viz import plots
from attnlib.viz.heatmap import clearest


def compared(results: Results, quantity: Quantity, title: str, x: str) -> plots.Chart:
    """The rankings next to each other, at both levels."""
    found = named(quantity.table(results, numbers.BY, ["seed"]), numbers.NAMES)
    found = found.assign(level=found["level"] + " level")
    return plots.intervals(found, "importance", hue="level", title=title, x=x, percent=True)


def examples(run: Any) -> tuple[Fitted, list[Example]]:
    """The first model, and short texts from its most confident correct prediction to its most confident error.

    Texts with slurs or words of sex or violence are passed over.
    """
    fitted, n = run.results.grid.fitted(run.study.grid(run.params)[0].fits[0]), run.params.shown
    (corpus,) = run.corpora.values()
    presentable = sorted(preferred(corpus.test), key=len)
    longer = [example for example in presentable if len(example) >= 8] or presentable
    readable = longer[: max(n, len(longer) // 4)]
    order = clearest([fitted], readable)
    places = np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)
    return fitted, [readable[place] for place in order[places]]


FIGURES = [
    Figure("flips", partial(compared, quantity=numbers.flips, title="Decisions changed by one word", x="share of "
           "texts"), "The first word of a ranking is erased, or a random other one. Whiskers: 95% intervals over "
           "texts, for these models; n: texts × models.", "Dots with intervals"),
    Figure("rankings", partial(compared, quantity=numbers.fractions, title="Words erased until the decision "
           "changes", x="fraction of words"), "Lower is better: the ranking finds the decisive words sooner. "
           "Compare attention with random and with leave-one-out, at each level.", "Dots with intervals"),
]  # fmt: skip
