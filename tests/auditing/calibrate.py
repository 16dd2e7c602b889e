"""Calibration: verdicts on models whose truth is known (`make calibrate`).

Every planted model is measured once on a population of texts, and trained a dozen times. A repetition draws texts,
with replacement, and three trainings, and judges them as an audit would; the truth of a row is its value on the
population. A verdict is *wrong* where a row passes or fails whose true value is not past that border. Rules and
models were designed on seeds below `SEED`, with which the table begins. It is kept in the package.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch
from sklearn.linear_model import LogisticRegression

from attnlib.auditing.probe import Erased, Probe
from attnlib.auditing.rows import Measured, hides, judged, measure
from attnlib.auditing.rules import CALIBRATION, FAIL, MAY, MUST_NOT, OPEN, PASS, Row, estimate, overall
from attnlib.auditing.trainings import needed, stable
from attnlib.data.types import Corpus
from attnlib.measures.perturbation import uniform
from attnlib.rankings.scores import importance
from attnlib.training.fitted import Fitted
from attnlib.utils.progress import progress
from tests.auditing import planted

DOSES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
SIZES = (100, 300, 1000)
TRAININGS, POOL = 3, 12
"""Trainings of a repetition, and those they are drawn from."""
SEED, SEEDS, TEXTS = 1000, 50, 120
"""The first seed of the table (those below served to design rules and models), its repetitions and texts."""


@dataclass
class Population:
    """A planted model measured on all texts, with the decisions and rankings of its trainings."""

    kind: str
    measured: Measured
    truth: np.ndarray
    own: list[np.ndarray]
    uniform: list[np.ndarray]
    rankings: list[list[np.ndarray]]

    def rows(self, texts: Sequence[int] | None = None, trained: Sequence[int] | None = None) -> list[Row]:
        """All eight rows for a sample of the texts and of the trainings; None: for all."""
        texts = np.arange(len(self.truth)) if texts is None else texts
        trained = range(len(self.own)) if trained is None else trained
        own, uniform = ([of[k][texts] for k in trained] for of in (self.own, self.uniform))
        last = stable([[self.rankings[k][i] for i in texts] for k in trained])
        return [needed(self.truth[texts], own, uniform), *judged(taken(self.measured, texts))[1:-1], last]


def taken(found: Measured, rows: np.ndarray) -> Measured:
    """The same for some of the texts; rows may repeat."""
    numbers = {name: getattr(found, name)[rows] for name in ("right", "largest", "moved", "distance")}
    erased = {
        way: Erased({n: d[rows] for n, d in e.drops.items()}, e.masked[rows], [e.alone[i] for i in rows])
        for way, e in found.erased.items()
    }
    return replace(found, **numbers, erased=erased, ranking=[found.ranking[i] for i in rows])


def population(kind: str, n: int, *, pool: int = POOL) -> Population:
    """A planted model, its text population measured; the `pool` of its trainings differ by their own accidents."""
    corpus = planted.corpus(n, seed=SEED)
    models = [planted.model(kind, corpus, seed=SEED + k) for k in range(pool)]
    probe = Probe(models[0], corpus.test, seed=SEED)
    answers = [model.logits(corpus.test).argmax(1) for model in models]
    twins = [_uniform(model, corpus, k) for k, model in enumerate(models)]
    rankings = [importance(model, corpus.test, "alpha") for model in models]
    return Population(kind, measure(probe), probe.labels, answers, twins, rankings)


def _uniform(model: Fitted, corpus: Corpus, seed: int) -> np.ndarray:
    """Decisions of a decoder fitted to uniformly attended states: the twin trained with uniform attention."""
    pooled = []
    for examples in (corpus.train, corpus.test):
        states = np.empty((len(examples), planted.WIDTH))
        for batch, trace in model.traces(examples):
            mean = (uniform(trace.mask).to(trace.hidden).unsqueeze(1) @ trace.hidden).squeeze(1)
            states[batch.rows.numpy()] = mean.detach().double().numpy()
        pooled.append(states)
    decoder = LogisticRegression(C=1e4, random_state=seed)
    return decoder.fit(pooled[0], [e.label for e in corpus.train]).predict(pooled[1])


def verdicts(found: Population, sizes: Sequence[int], seeds: int) -> pd.DataFrame:
    """One row per size, repetition and objection: the status, the truth, whether the interval covers it.

    `covers` is NaN where all texts agree, since the exact bounds of a share cover more often than their level.
    """
    truth = {row.objection.id: row for row in found.rows()}
    rows = []
    for n in sizes:
        for seed in range(SEED, SEED + seeds):
            rng = np.random.default_rng([seed, n])
            some = rng.integers(0, len(found.truth), n)
            judgements = found.rows(some, rng.permutation(len(found.own))[:TRAININGS])
            answer, _ = overall(judgements, True)
            named = hides(taken(found.measured, some)) is not None
            for row in judgements:
                true = truth[row.objection.id]
                value, low, high = true.effect.estimate, row.effect.low, row.effect.high
                # where weights decide nothing, both report what is attainable: the value of the fail
                covers = float(low - 1e-9 <= value <= high + 1e-9) if row.effect.se > 0 else math.nan
                told = {
                    "model": found.kind,
                    "n": n,
                    "seed": seed,
                    "objection": row.objection.id,
                    "status": row.status,
                }
                told |= {"true_value": value, "truth": _truth(true, value), "covers": covers}
                rows.append(told | {"answer": answer, "named": named})
    return pd.DataFrame(rows)


def _truth(row: Row, value: float) -> str:
    if row.status != FAIL and row.objection.past(value, row.objection.passes):
        return PASS
    return OPEN if row.status != FAIL and row.objection.past(value, row.objection.fails) else FAIL


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """The confusion table: shares of each status by model, size and objection, of wrong verdicts and coverage."""
    frame = frame.assign(
        wrong=(frame["status"] != OPEN) & (frame["status"] != frame["truth"]),
        must_not=frame["answer"] == MUST_NOT,
        may=frame["answer"] == MAY,
    )
    table = frame.groupby(["model", "n", "objection"], sort=False).agg(
        truth=("truth", "first"),
        true_value=("true_value", "first"),
        **{name: ("status", lambda s, name=name: (s == name).mean()) for name in (PASS, FAIL, OPEN)},
        **{name: (name, "mean") for name in ("wrong", "covers", "must_not", "may", "named")},
        seeds=("seed", lambda s: f"{s.min()}-{s.max()}"),
    )
    return table.reset_index().round(3)


def doses(n: int) -> pd.DataFrame:
    """S of the honest model's attention by how much of it was replaced by uniform attention."""
    rows, corpus = [], planted.corpus(n, seed=SEED)
    for dose in DOSES:
        probe = Probe(planted.model("honest", corpus, seed=SEED, dose=dose), corpus.test)
        found = estimate(probe.erased(probe.inputs[:1], ["alpha"])[probe.inputs[0]].share("alpha"))
        rows.append({"model": f"dose {dose:g}", "n": n, "objection": "words", "true_value": found.estimate,
                     "low": found.low, "high": found.high})  # fmt: skip
    return pd.DataFrame(rows).round(3)


def main() -> None:
    """Write the confusion table of all planted models, and that of the doses."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    kinds = progress(planted.KINDS, "planted models", unit="model")
    table = summary(pd.concat([verdicts(population(kind, TEXTS), SIZES, SEEDS) for kind in kinds]))
    pd.concat([table, doses(TEXTS)], ignore_index=True).to_csv(CALIBRATION, index=False)
    shown = table.groupby(["model", "n"], sort=False)[["wrong", "covers", "undetermined"]]
    print(shown.agg(["mean", "max"]).round(3))


if __name__ == "__main__":
    main()
