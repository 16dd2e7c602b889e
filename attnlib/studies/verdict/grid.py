"""What the verdict computes, and the tidy frames that come of it.

Every model of the design faces every test (`measures.battery`). Of the models of known honesty, those that nothing
guides judge true and false rankings, the others face the battery. Seeds are those of 01_tasc, so that trainings of
the same models are the same runs in the store.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product
from typing import Any

import pandas as pd

from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.studies import results as results_of
from attnlib.studies.study import parted, replicate
from attnlib.studies.verdict.measures import TESTS, battery, diagnose
from attnlib.studies.verdict.params import Params

PARTS = ["attention", "projection", "scaling", "regulariser"]
CELL = ["dataset", "encoder", *PARTS]
MODEL = [*CELL, "seed"]
TRAINER = "attnlib.measures.diagnosticity:guided"


def fit(params: Params, corpus: str, row: dict[str, str], seed: int) -> FitSpec:
    """One model of the design."""
    spec = {"data": params.data(corpus), "model": params.model(**row), "train": params.training(corpus)}
    return replicate(seed, corpus, row["encoder"], row["attention"], label=row, **spec)


def grid(params: Params) -> list[MeasureSpec]:
    """Every run: all tests on every model of the design, and the tests of the tests."""
    options = {"texts": params.texts, "counts": list(params.counts)}
    options |= {"adversary_texts": params.adversary_texts, "adversary_steps": params.adversary_steps}
    runs = []
    for corpus in params.corpora:
        for seed, row in product(params.seeds, params.rows):
            model = fit(params, corpus, row, seed)
            runs.append(MeasureSpec.of(battery, model, label={"part": "design"}, **options))
        for seed, (encoder, guide) in product(params.guide_seeds, params.guides):
            own = {} if guide == "none" else {"guide": guide, "weight": 1.0}
            spec = {**params.guided(corpus, encoder), "trainer": TRAINER, "params": own, "label": {"guide": guide}}
            model = replicate(seed, "guided", corpus, encoder, **spec)
            if guide == "none":
                runs.append(MeasureSpec.of(diagnose, model, texts=params.texts, label={"part": "rankings"}))
            else:
                runs.append(MeasureSpec.of(battery, model, known=True, label={"part": "honesty"}, **options))
    return runs


class Results(results_of.Results):
    """Tidy frames of the study.

    scores    one row per model of the design, test, reading and text: `value` as the papers define it
    labels    one row per model of the design and test text
    rankings  one row per unguided model, test, false ranking and text: 1 where the test prefers the true one
    honesty   `scores` of the guided models, of texts whose decision follows the decisive words
    """

    @cached_property
    def by_model(self) -> pd.DataFrame:
        """Mean scores read by α, more is better: one row per model that learned something, one column per test."""
        part = self.learned.scores.query("importance == 'alpha'")
        table = part.pivot_table(index=MODEL, columns="test", values="value", aggfunc="mean")
        turned = {name: test.better * table[name] for name, test in TESTS.items() if name in table}
        return pd.DataFrame(turned).reset_index()


def results(params: Params, **options: Any) -> Results:
    """Compute what the store does not hold, and gather."""
    found = run_grid(grid(params), title="verdict", **options)
    scores, labels = found.frame("scores"), found.frame("labels")
    frames = {
        "scores": parted(scores, "design"),
        "labels": parted(labels, "design"),
        "rankings": found.frame("diagnose", optional=True),
        "honesty": _obeyed(parted(scores, "honesty"), parted(labels, "honesty").query("truth == prediction")),
    }
    return Results(params, found, frames, CELL, judged=("scores", "labels"))


def _obeyed(scores: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Scores of the texts on which both models of a pair decide by the known words."""
    keys = ["dataset", "encoder", "seed", "instance"]
    both = labels.groupby(keys).size()
    both = both[both == both.max()].index if len(both) else both.index
    kept = pd.MultiIndex.from_frame(scores[keys]).isin(both)
    return scores[kept | (scores["test"] == "information")].reset_index(drop=True)
