"""Tables of the first notebook: frames in, frames out."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import shorten
from typing import TYPE_CHECKING

import pandas as pd

from attnlib.erasure.flips import erasure_curves
from attnlib.reports import plan
from attnlib.stats.inference import effects
from attnlib.studies.quickstart.measures import LEVELS, RANKINGS
from attnlib.viz.heatmap import read

if TYPE_CHECKING:
    from attnlib.data.types import Corpus, Example
    from attnlib.training.fitted import Fitted

SERIES = {
    "00_quickstart": "this notebook: one model, its attention, one token erased",
    "01_tasc": "task-specific scaling: does it make attention more faithful?",
    "02_tying_mlm": "regularised encoders: does attention matter more if states stay close to their words?",
    "03_sparsity": "sparse attention: is a sparser explanation a better one?",
    "04_mutual_information": "mutual information: do highly attended states say more about the answer?",
    "05_erasure": "erasure at scale: how much must be removed before a decision flips?",
    "06_verdict": "the verdict: do the papers' tests agree on the same models, and which one to believe?",
}
"""What each notebook of the series asks."""


def splits(corpus: Corpus) -> pd.DataFrame:
    """The corpus at a glance: one row per split, shares of classes, known words."""
    found = corpus.stats().drop(columns="dataset")
    return found.rename(columns=lambda name: name.replace("share_", "share of ").replace("_", " "))


def accuracy(labels: pd.DataFrame) -> pd.DataFrame:
    """Accuracy of every model, with its interval over texts."""
    found = effects(labels, ["seed"], training=None, bounds=(0, 1))
    return found[["seed", "value", "low", "high", "n"]].rename(columns={"value": "accuracy"})


def erase_top(fitted: Fitted, examples: Sequence[Example]) -> pd.DataFrame:
    """One row per text: its most attended token, and p of the class first predicted with and without that token."""
    readings = read(fitted, examples, "alpha")
    curves = {level: erasure_curves(fitted, examples, "alpha", level=level) for level in LEVELS}
    without = {level: curve[curve["removed"] == 1].set_index("text") for level, curve in curves.items()}
    rows = []
    for i, reading in enumerate(readings):
        top = int(reading.rows["alpha"].argmax())
        row = {
            "text": shorten(reading.example.text, 44, placeholder=" …"),
            "predicted": reading.classes[reading.predicted],
            "most attended": reading.tokens[top],
            "weight": reading.rows["alpha"][top],
            "p, whole": reading.probabilities[reading.predicted],
        }
        row |= {f"p, {level}": frame["probability"][i] for level, frame in without.items()}
        changed = [level for level, frame in without.items() if frame["flipped"][i]]
        rows.append(row | {"decision changed at": " and ".join(changed) or "neither level"})
    return pd.DataFrame(rows)


def flip_shares(flips: pd.DataFrame) -> pd.DataFrame:
    """Share of decisions changed by one token, for every level and token."""
    return _means(flips).rename(columns={"importance": "erased token"})


def mean_fractions(fractions: pd.DataFrame) -> pd.DataFrame:
    """Mean fraction to flip of every level and ranking; a decision that never flips counts as 1."""
    found = _means(fractions)
    return found.assign(ranking=found["importance"].map(RANKINGS)).drop(columns="importance")


def series_map() -> pd.DataFrame:
    """The notebooks of the series, and what each asks."""
    return pd.DataFrame(
        [{"notebook": name, "asks": SERIES.get(name) or plan.read(name).title} for name in plan.names()]
    )


def _means(frame: pd.DataFrame) -> pd.DataFrame:
    """Means over the models at hand, with intervals over texts."""
    found = effects(frame, ["level", "importance"], ["seed"], training=None, bounds=(0, 1))
    return found[["level", "importance", "value", "low", "high", "n", "texts"]]
