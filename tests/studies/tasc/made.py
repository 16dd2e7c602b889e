"""Hand-made frames of the TaSc study, and the parameters of its profiles."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd

from attnlib.studies.study import planned
from attnlib.studies.tasc.grid import BASELINES, FRACTION, MODEL, RANKINGS, TOP1, Results
from attnlib.studies.tasc.params import Params

TEXTS = 40


def profile(name: str) -> Params:
    """The parameters of a profile of the notebook."""
    (plan,) = planned(["01_tasc"], name, [])
    return Params.of(plan.values)


def frame(
    level,
    *,
    encoders=("lstm", "mlp"),
    seeds=(0, 1, 2),
    variants=("none", "lin"),
    dataset="sst",
    texts=TEXTS,
    noise=lambda variant: 0.01,
    top=None,
) -> pd.DataFrame:
    """Flips whose fraction is `level(encoder, attention, variant, importance)` plus noise of text and training.

    top  the share of texts that the top token flips, by the same names; None: those with a fraction below 0.3
    """
    rng = np.random.default_rng(len(encoders) * texts)
    names = [encoders, ("additive", "dot"), variants, (*RANKINGS, *BASELINES), seeds]
    models = pd.DataFrame(
        itertools.product(*names), columns=["encoder", "attention", "variant", "importance", "seed"]
    )
    means = np.array([level(*row) for row in models.iloc[:, :4].itertuples(index=False)])
    scale = np.array([noise(variant) for variant in models["variant"]])
    drawn = rng.normal(size=(len(models), texts)) + 0.2 * rng.normal(size=(len(models), 1))
    rows = models.loc[models.index.repeat(texts)].reset_index(drop=True)
    rows = rows.assign(dataset=dataset, length=20, status="flipped")
    rows["instance"] = [f"t{i}" for i in range(texts)] * len(models)
    value = (means[:, None] + scale[:, None] * drawn).ravel()
    flipped = value < 0.3
    if top is not None:
        shares = np.array([top(*row) for row in models.iloc[:, :4].itertuples(index=False)])
        flipped = rng.random(len(value)) < shares.repeat(texts)
    first = rows.assign(metric=TOP1, value=100.0 * flipped)
    return pd.concat([rows.assign(metric=FRACTION, value=value), first], ignore_index=True)


def labels(
    lin: float, *, none: float = 0.8, encoders=("lstm", "mlp"), seeds=(0, 1, 2), texts=400, dataset="sst"
) -> pd.DataFrame:
    """Predictions of which the share `none` is correct without TaSc, and `lin` with it."""
    rng = np.random.default_rng(0)
    parts = []
    for e, a, v, s in itertools.product(encoders, ("additive", "dot"), ("none", "lin"), seeds):
        truth = np.arange(texts) % 2
        correct = rng.random(texts) < (lin if v == "lin" else none)
        said = np.where(correct, truth, 1 - truth)
        cell = {"dataset": dataset, "encoder": e, "attention": a, "variant": v, "seed": s}
        names = np.array(["no", "yes"])
        rows = {"instance": [f"t{i}" for i in range(texts)], "truth": names[truth], "prediction": names[said]}
        parts.append(pd.DataFrame({**cell, **rows}))
    return pd.concat(parts, ignore_index=True)


def results(flips: pd.DataFrame, told: pd.DataFrame | None = None, **frames: Any) -> Results:
    """Results with these frames; without labels all models learned something."""
    models = flips[[*MODEL, "seed"]].drop_duplicates().assign(instance="", truth="", prediction="")
    frames = {"pooling_labels": models.iloc[:0], "pooling_flips": flips.iloc[:0]} | frames
    grid = SimpleNamespace(failures=pd.DataFrame())
    frames |= {"flips": flips, "labels": models.iloc[:0] if told is None else told}
    return Results(Params(), grid, frames, MODEL)


def paper_like(encoder, attention, variant, importance):
    """A world in which every claim of the paper holds."""
    start = {"lstm": 0.5, "mlp": 0.4, "bert": 0.7}[encoder]
    if variant == "none":
        return start + {"alpha": 0.1, "grad_alpha": 0.05, "alpha_grad": 0.0}.get(importance, 0.02)
    gain = {"alpha": 0.35, "grad_alpha": 0.32, "alpha_grad": 0.25}.get(importance, 0.38)
    return gain + (0.05 if attention == "additive" and importance == "alpha_grad" else 0.0)


def top_share(encoder, attention, variant, importance):
    """The share of decisions that the top token flips in that world."""
    start = {"alpha": 0.10, "grad_alpha": 0.10, "alpha_grad": 0.30}.get(importance, 0.2)
    tanh = 0.15 if attention == "additive" else 0.0
    if variant == "none":
        return start + tanh
    return {"alpha": 0.0, "grad_alpha": 0.45, "alpha_grad": 0.8}.get(importance, 0.5)


def upside_down(encoder, attention, variant, importance):
    """A world in which every claim is wrong: TaSc makes everything worse, and BERT needs the least."""
    start = {"lstm": 0.3, "mlp": 0.45, "bert": 0.2}[encoder] - (0.1 if importance == "alpha" else 0.0)
    return start + {"none": 0.0, "feat": 0.1, "lin": 0.3}[variant]


def upside_down_top(encoder, attention, variant, importance):
    """The share of decisions that the top token flips in that world: TaSc helps α alone."""
    if variant == "none":
        return {"alpha": 0.4, "grad_alpha": 0.6}.get(importance, 0.25) + (0.15 if attention == "dot" else 0.0)
    return {"alpha": 0.8, "grad_alpha": 0.3}.get(importance, 0.2 if attention == "additive" else 0.05)
