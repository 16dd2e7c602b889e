"""The models of the first notebook: one corpus, one design, a training for each seed."""

from __future__ import annotations

from typing import Any

from attnlib.config import ModelConfig, TrainConfig
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies.quickstart.measures import erasures
from attnlib.studies.quickstart.params import Params
from attnlib.studies.results import Results


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
