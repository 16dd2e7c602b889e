"""Adversaries of the study of word-level objectives in numbers: Figure 1, frames in, frames out."""

from __future__ import annotations

from itertools import chain

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.stats.inference import Effect, effect, effects, interval_texts
from attnlib.stats.jackknife import pseudovalues


def frontier_table(distances: pd.DataFrame) -> pd.DataFrame:
    """Figure 1 in numbers: JSD and TVD of the adversaries of every base and λ, with intervals."""
    keys = ["dataset", "variant", "lam"]
    if distances.empty:
        return pd.DataFrame()
    found = distances.assign(same=distances["prediction_base"] == distances["prediction_adversary"])
    table = found.groupby(keys, sort=False)["same"].mean().rename("same decision").reset_index()
    for name, most in (("tvd", 1.0), ("jsd", stats.LN2)):
        part = effects(distances.assign(value=distances[name]), keys, bounds=(0.0, most))
        names = {"value": name, "low": f"{name}_low", "high": f"{name}_high"}
        counts = ["n", "trainings", "texts"] if name == "jsd" else []
        table = table.merge(part.rename(columns=names)[[*keys, *names.values(), *counts]], on=keys)
    return table.rename(columns={"lam": "λ"})


def frontier_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`frontier_table` as it is shown: every λ in full, however small, and intervals next to their means."""
    shown = table.assign(**{"λ": [f"{lam:g}" for lam in table["λ"]]})
    for name in ("jsd", "tvd"):
        ends = {name: "value", f"{name}_low": "low", f"{name}_high": "high"}
        shown[name.upper()] = interval_texts(table.rename(columns=ends), 3)
    return shown[["dataset", "variant", "λ", "JSD", "TVD", "same decision", "n", "trainings", "texts"]]


def frontier_gap(distances: pd.DataFrame, a: str, b: str, *, levels: int = 50) -> Effect:
    """TVD that adversaries of `a` have beyond those of `b` at equal JSD, averaged over the JSD that both reach.

    A curve joins the mean (JSD, TVD) of the adversaries of one training in order of JSD; both sides share the seed.
    NaN where no two curves share a JSD.
    """
    both = distances[distances["variant"].isin([a, b])].dropna(subset="jsd")
    text = ["dataset", "seed", "instance"]
    points = both.pivot_table(index=text, columns=["variant", "lam"], values=["jsd", "tvd"])
    sides = [[c for c in points if c[:2] == (name, side)] for side in (a, b) for name in ("jsd", "tvd")]
    columns, cuts = list(chain(*sides)), np.cumsum([len(side) for side in sides])[:-1]
    points.columns = points.columns.to_flat_index()

    def gap(means: np.ndarray) -> float:
        far_a, cost_a, far_b, cost_b = (side[~np.isnan(side)] for side in np.split(means, cuts))
        return _apart(far_a, cost_a, far_b, cost_b, levels)

    def statistic(part: pd.DataFrame) -> float:
        return gap(part[columns].to_numpy(float).mean(0))

    def without_each(part: pd.DataFrame) -> np.ndarray:
        values = part[columns].to_numpy(float)
        return np.array([gap(rest) for rest in (values.sum(0) - values) / (len(values) - 1)])

    values = pseudovalues(points.reset_index(), statistic, ["dataset", "seed"], without_each=without_each)
    return effect(values, ["dataset"], bounds=(-1.0, 1.0))


def _apart(far_a, cost_a, far_b, cost_b, levels: int) -> float:
    if not (len(far_a) and len(far_b)):
        return float("nan")
    low, high = max(far_a.min(), far_b.min()), min(far_a.max(), far_b.max())
    if not low < high:
        return float("nan")
    at = np.linspace(low, high, levels)
    curves = [
        np.interp(at, far[order], cost[order])
        for far, cost in ((far_a, cost_a), (far_b, cost_b))
        for order in [np.argsort(far, kind="stable")]
    ]
    return float((curves[0] - curves[1]).mean())
