"""The models of the first notebook, and what is measured on them.

The notebook trains by `al.fit`, to show how; `grid` names the same trainings for a dry run. One row per text and
seed everywhere, so that every mean has an interval over both.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib.data.readers.packaged import DownloadError
from attnlib.data.selection import preferred
from attnlib.store.specs import FitSpec
from attnlib.studies.quickstart import measures
from attnlib.studies.quickstart.params import Params
from attnlib.viz.heatmap import clearest

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted


def grid(params: Params) -> list[FitSpec]:
    """Every training of the notebook."""
    data = params.data(params.corpora[0])
    return [FitSpec(data=data, model=params.model, train=params.training, seed=seed) for seed in params.seeds]


@dataclass(frozen=True)
class Results:
    """The frames that rules and tables look at: `measures.predictions`, `single_flips`, `fractions`."""

    labels: pd.DataFrame
    flips: pd.DataFrame
    fractions: pd.DataFrame


def results(models: Sequence[Fitted], corpus: Corpus, *, seed: int = 0) -> Results:
    """Everything measured on the test texts."""
    return Results(
        labels=measures.predictions(models, corpus.test),
        flips=measures.single_flips(models, corpus.test, seed=seed),
        fractions=measures.fractions(models, corpus.test, seed=seed),
    )


@contextmanager
def offline_hint() -> Iterator[None]:
    """Around what may download: a failed download also says how to run without one."""
    try:
        yield
    except DownloadError as error:
        raise DownloadError(
            f"{error}\nWithout a network, run this notebook on generated texts: corpus planted, vectors none "
            "(`attnlib run 00_quickstart -p corpus planted -p vectors none`, or change the parameters cell)."
        ) from None


def choose(
    fitted: Fitted, examples: Sequence[Example], n: int, *, shortest: int = 8, longest: int = 24
) -> list[Example]:
    """`n` texts to look at, evenly spaced from the most confident correct prediction to the most confident error.

    Texts with slurs or words of sex or violence are passed over (`attnlib.data.selection`). Of a corpus of long
    texts, the shortest tenth is chosen from.
    """
    shown = preferred(examples)
    readable = [e for e in shown if shortest <= len(e) <= longest]
    if len(readable) < n:
        readable = sorted(shown, key=len)[: max(n, len(shown) // 10)]
    order = clearest([fitted], readable)
    places = np.linspace(0, len(order) - 1, min(n, len(order))).round().astype(int)
    return [readable[order[place]] for place in places]
