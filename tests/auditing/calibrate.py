"""Calibration: verdicts on models whose truth is known (`make calibrate`).

Every planted model is measured once on a population of texts, and trained a dozen times where a row is about
trainings. A repetition draws n texts, with replacement, and three trainings, and judges them as an audit would; the
truth of a row is its value on the whole population. A verdict is *wrong* where a row passes or fails whose true
value is not past that border. Rules and planted models were designed on seeds below `SEED`; texts, trainings and
draws of the table begin there, so that nothing in it was seen before. The table is kept in the
package, where `07_audit` reads it.
"""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import torch

from attnlib.auditing.battery import Measured, estimate, measure
from attnlib.auditing.judging import hides, judged
from attnlib.auditing.probe import Erased, Probe
from attnlib.auditing.rules import CALIBRATION, FAIL, OPEN, PASS, Row, overall
from attnlib.auditing.trainings import needed, stable
from attnlib.measures.perturbation import uniform
from attnlib.rankings.scores import importance
from attnlib.training.fitted import Fitted
from attnlib.utils.progress import progress
from tests.auditing import planted

DOSES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
SIZES = (100, 300, 1000)
TRAININGS, POOL = 3, 12
"""Trainings of a repetition, and those they are drawn from."""
SEED = 1000
"""The first seed of the table; those below served to design rules and planted models."""


@dataclass
class Population:
    """A planted model measured on all texts: `measured`, and what the rows that need trainings need."""

    kind: str
    measured: Measured
    truth: np.ndarray
    own: list[np.ndarray]
    uniform: list[np.ndarray]
    rankings: list[list[np.ndarray]]

    def rows(self, some: np.ndarray | None = None, trained: Sequence[int] | None = None) -> list[Row]:
        """All eight rows for a sample of the texts and of the trainings; None: for all."""
        some = np.arange(len(self.truth)) if some is None else some
        trained = range(len(self.own)) if trained is None else trained
        first = needed(
            self.truth[some], [self.own[k][some] for k in trained], [self.uniform[k][some] for k in trained]
        )
        last = stable([[self.rankings[k][i] for i in some] for k in trained])
        return [first, *judged(taken(self.measured, some))[1:-1], last]


def taken(found: Measured, rows: np.ndarray) -> Measured:
    """The same for some of the texts; rows may repeat."""
    numbers = {name: getattr(found, name)[rows] for name in ("right", "largest", "moved", "distance")}
    erased = {
        way: Erased({n: d[rows] for n, d in e.drops.items()}, e.masked[rows], [e.alone[i] for i in rows])
        for way, e in found.erased.items()
    }
    return replace(found, **numbers, erased=erased, ranking=[found.ranking[i] for i in rows])


def population(kind: str, n: int, *, dose: float = 0.0, seed: int = SEED, pool: int = POOL) -> Population:
    """A planted model, its text population measured; the `pool` of its trainings differ by their own accidents."""
    corpus = planted.corpus(n, seed=seed)
    models = [planted.model(kind, corpus, seed=seed + k, dose=dose) for k in range(pool)]
    probe = Probe(models[0], corpus.test, seed=seed)
    answers = [model.logits(corpus.test).argmax(1) for model in models]
    twins = [_uniform(model, corpus, k) for k, model in enumerate(models)]
    rankings = [importance(model, corpus.test, "alpha") for model in models]
    return Population(kind, measure(probe), probe.labels, answers, twins, rankings)


def _uniform(model: Fitted, corpus, seed: int) -> np.ndarray:
    """Decisions of a decoder fitted to uniformly attended states: the twin trained with uniform attention."""
    from sklearn.linear_model import LogisticRegression

    pooled = {}
    for split in ("train", "test"):
        examples = getattr(corpus, split)
        states = np.empty((len(examples), planted.WIDTH))
        with torch.no_grad():
            for batch, trace in model.traces(examples):
                mean = (uniform(trace.mask).to(trace.hidden).unsqueeze(1) @ trace.hidden).squeeze(1)
                states[batch.rows.numpy()] = mean.double().numpy()
        pooled[split] = states
    labels = [e.label for e in corpus.train]
    return LogisticRegression(C=1e4, random_state=seed).fit(pooled["train"], labels).predict(pooled["test"])


def verdicts(found: Population, sizes: Sequence[int], seeds: int) -> pd.DataFrame:
    """One row per size, repetition and objection: the status, the truth, whether the interval covers it.

    `covers` is NaN where all texts agree: the exact bounds of a share cover more often than their level, by
    construction.
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
                rows.append(
                    {
                        "model": found.kind, "n": n, "seed": seed, "objection": row.objection.id,
                        "status": row.status, "true_value": value, "truth": _truth(true, value),
                        "covers": covers, "answer": answer, "named": named,
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def _truth(row: Row, value: float) -> str:
    if row.status == FAIL:
        return FAIL
    if row.objection.past(value, row.objection.passes):
        return PASS
    return OPEN if row.objection.past(value, row.objection.fails) else FAIL


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """The confusion table: shares of each status by model, size and objection, of wrong verdicts and coverage."""
    frame = frame.assign(wrong=(frame["status"] != OPEN) & (frame["status"] != frame["truth"]))
    by = ["model", "n", "objection"]
    table = frame.groupby(by, sort=False).agg(
        truth=("truth", "first"),
        true_value=("true_value", "first"),
        **{name: ("status", lambda s, name=name: (s == name).mean()) for name in (PASS, FAIL, OPEN)},
        wrong=("wrong", "mean"),
        covers=("covers", "mean"),
        must_not=("answer", lambda s: (s == "must not be read").mean()),
        may=("answer", lambda s: (s == "may be read").mean()),
        named=("named", "mean"),
        seeds=("seed", lambda s: f"{s.min()}-{s.max()}"),
    )
    return table.reset_index().round(3)


def doses(n: int) -> pd.DataFrame:
    """S of the honest model's attention by how much of it was replaced by uniform attention."""
    rows = []
    for dose in progress(DOSES, "doses", unit="dose"):
        corpus = planted.corpus(n, seed=SEED)
        probe = Probe(planted.model("honest", corpus, seed=SEED, dose=dose), corpus.test)
        found = estimate(probe.erased(probe.inputs[:1], ["alpha"])[probe.inputs[0]].share("alpha"))
        rows.append({"model": f"dose {dose:g}", "n": n, "objection": "words", "true_value": found.estimate,
                     "low": found.low, "high": found.high})  # fmt: skip
    return pd.DataFrame(rows).round(3)


def calibrate(
    kinds: Sequence[str] = planted.KINDS, *, texts: int = 120, sizes=SIZES, seeds: int = 50
) -> pd.DataFrame:
    """The confusion table of all planted models."""
    frames = []
    for kind in progress(kinds, "planted models", unit="model"):
        found = population(kind, texts)
        frames.append(verdicts(found, sizes, seeds))
    return summary(pd.concat(frames, ignore_index=True))


def main() -> None:
    parser = argparse.ArgumentParser(description="Calibrate the audit on models whose truth is known.")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--texts", type=int, default=120, help="texts of the population of each model")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    table = calibrate(texts=options.texts, seeds=options.seeds)
    table = pd.concat([table, doses(options.texts)], ignore_index=True)
    table.to_csv(CALIBRATION, index=False)
    judged = table[table["wrong"].notna()]
    print(
        judged.groupby(["model", "n"], sort=False)[["wrong", "covers", "undetermined"]]
        .agg(["mean", "max"])
        .round(3)
    )
    print(table[table["model"].str.startswith("dose")].dropna(axis=1))


if __name__ == "__main__":
    main()
