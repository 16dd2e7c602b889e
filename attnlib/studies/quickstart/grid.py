"""The models of the first notebook, a training for each seed, and what is measured on them."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data.types import Corpus
from attnlib.erasure.flips import fraction_to_flip
from attnlib.measures.perturbation import decisions
from attnlib.rankings.scores import importance
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.quickstart.params import Params
from attnlib.studies.results import Results
from attnlib.training.fitted import Fitted

LEVELS = ("attention", "input")


def erasures(fitted: Fitted, corpus: Corpus, *, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Decisions on the test texts (`labels`), and how many tokens must go until they change (`erased`).

    `value` is the share of tokens erased when the decision first changes, 1 where it never does; `removed` counts
    them. `other` erases any token before the most attended one (Serrano & Smith 2019, section 4.2).
    """
    others = []
    for row, alpha in enumerate(importance(fitted, corpus.test, "alpha")):
        others.append(np.random.default_rng([seed, row]).random(len(alpha)))
        others[-1][int(np.argmax(alpha))] = -1.0
    orders = {name: name for name in ("alpha", "alpha_grad", "omission", "random")} | {"other": others}
    frames = []
    for level, (name, order) in product(LEVELS, orders.items()):
        found = fraction_to_flip(fitted, corpus.test, order, level=level, seed=seed)
        found = found.assign(level=level, importance=name, value=found["fraction"].fillna(1.0))
        frames.append(found[["level", "importance", "id", "length", "removed", "status", "value"]])
    erased = pd.concat(frames, ignore_index=True).rename(columns={"id": "instance"})
    return {"labels": decisions(fitted, corpus.test), "erased": erased}


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: train, then erase words from the test texts."""
    spec = {"data": params.data(params.corpora[0]), "model": params.config(ModelConfig)}
    seeds = range(params.seed, params.seed + params.repeats)
    fits = [FitSpec(**spec, train=params.config(TrainConfig), seed=seed) for seed in seeds]
    return [MeasureSpec.of(erasures, fit, seed=params.seed) for fit in fits]


def results(params: Params, **options: Any) -> Results:
    """Compute what the store does not hold, and gather."""
    found = run_grid(grid(params), title="quickstart", **options)
    frames = {name: found.frame(name) for name in ("labels", "erased")}
    return Results(params, found, frames, ("dataset",), judged=tuple(frames))
