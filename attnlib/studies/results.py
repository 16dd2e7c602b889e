"""What a study found: tidy frames, and which trainings may decide."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from attnlib.stats.jackknife import by_class
from attnlib.store.grid import GridResult
from attnlib.studies.params import StudyParams
from attnlib.utils.errors import unknown

LEARNED = 0.1
RULE = f"macro-F1 less than {LEARNED:g} above guessing and above always predicting the most frequent class"
"""When a model has learned nothing."""
NOTHING = f"No model of this run learned anything: each has a {RULE}."
"""Why a claim is not tested then."""


class Results:
    """Frames by name, also as attributes: `results.labels`, `results.frames["labels"]`.

    grid    what was computed, what came from the store, what failed
    model   columns that tell models apart, without the training
    judged  frames of which only the trainings that learned something may decide; they need `labels`
    """

    def __init__(
        self,
        params: StudyParams,
        grid: GridResult,
        frames: Mapping[str, pd.DataFrame],
        model: Sequence[str] = ("dataset", "encoder"),
        judged: Sequence[str] = (),
    ) -> None:
        self.params, self.grid, self.frames = params, grid, dict(frames)
        self.model, self.judged = tuple(model), tuple(judged)

    def __getattr__(self, name: str) -> pd.DataFrame:
        frames = self.__dict__.get("frames", {})
        if name.startswith("_") or name not in frames:
            raise AttributeError(unknown("frame", name, frames))
        return frames[name]

    def replace(self, **frames: pd.DataFrame) -> Any:
        """The same with other frames."""
        return type(self)(self.params, self.grid, {**self.frames, **frames}, self.model, self.judged)

    @cached_property
    def idle(self) -> pd.DataFrame:
        """The trainings that learned nothing, one row each."""
        return idle(self.labels, [*self.model, "seed"]) if self.judged else pd.DataFrame()

    @cached_property
    def learned(self) -> Any:
        """The results of the trainings that learned something: what claims rest on."""
        if not self.judged or self.idle.empty:
            return self
        return self.replace(**{name: without(self.frames[name], self.idle) for name in self.judged})


def idle(labels: pd.DataFrame, by: Sequence[str], margin: float = LEARNED) -> pd.DataFrame:
    """Models (groups of `by`) that learned nothing, one row each, from the columns `truth` and `prediction`.

    Such a model has a macro-F1 less than `margin` above always predicting the most frequent class and above
    guessing, which has 1 / C with C classes. What changes its decisions says nothing about attention.
    """
    by = list(by)
    if labels.empty:
        return labels[by]
    training, *_, hits, of_truth, of_said = by_class(labels, by)
    both = of_truth + of_said
    macro = (2 * hits / np.maximum(both, 1)).sum(1) / (both > 0).sum(1)
    most, n, known = of_truth.max(1), of_truth.sum(1), (of_truth > 0).sum(1)
    level = np.maximum(2 * most / (most + n), 1.0) / known  # F1 of the most frequent class, the others have none
    models = labels[by].iloc[np.unique(training, return_index=True)[1]]
    return models[macro < level + margin].sort_values(by, ignore_index=True)


def without(frame: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The rows of `frame` that belong to none of `models`, by the columns that both have."""
    keys = [name for name in models if name in frame]
    if frame.empty or models.empty:
        return frame
    left = models[keys].drop_duplicates().assign(_left=True)
    kept = frame[keys].merge(left, on=keys, how="left")["_left"].isna().to_numpy()
    return frame[kept]
