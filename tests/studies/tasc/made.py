"""Hand-made frames of the TaSc study, and the parameters of its profiles."""

from __future__ import annotations

import itertools
from typing import Any

import nbformat
import numpy as np
import pandas as pd
import yaml

from attnlib.studies.tasc.grid import BASELINES, CELL, FRACTION, RANKINGS, TOP1, Results
from attnlib.utils import paths

TEXTS = 40


def values(profile: str) -> dict[str, Any]:
    """The parameters of a profile: the notebook's own, and what the profile changes."""
    cells = nbformat.read(paths.notebooks() / "01_tasc.ipynb", as_version=4).cells
    (source,) = (cell.source for cell in cells if "parameters" in cell.metadata.get("tags", ()))
    space: dict[str, Any] = {}
    exec(source, space)
    found = {name: space[name] for name in space["__annotations__"]}
    file = paths.params() / "01_tasc" / f"{profile}.yaml"
    return found | (yaml.safe_load(file.read_text(encoding="utf-8")) if profile != "smoke" else {})


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


def results(flips: pd.DataFrame, told: pd.DataFrame | None = None, **parts: Any) -> Results:
    """Results with these frames; without labels all models learned something."""
    empty = dict.fromkeys(("parameters", "words", "picture", "pooling", "pooling_labels", "grid"))
    models = flips[[*CELL, "variant", "seed"]].drop_duplicates()
    found = Results(**{**empty, "flips": flips, "labels": models.iloc[:0] if told is None else told, **parts})
    if told is None:
        found.idle = models.iloc[:0]
    return found


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
    """A world in which TaSc makes everything worse."""
    return (0.4 if variant == "none" else 0.8) - (0.1 if importance == "alpha" else 0.0)
