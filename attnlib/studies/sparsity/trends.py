"""Trends along a path from soft to sparse: rank correlations over models, with intervals and a permutation test."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from math import factorial

import numpy as np
import pandas as pd

from attnlib.measures.agreement import CONSTANT_ATTENTION, ONE_TOKEN
from attnlib.studies.common import RESAMPLES
from attnlib.studies.sparsity.grid import Results, learned

LEVEL = 0.05
"""A trend whose permutation test gives no smaller p decides nothing."""
EXACT = 600_000
"""Up to so many arrangements of a cell's models are all looked at; of more, DRAWS are drawn."""
DRAWS = 9999
TRENDS = {
    "support": ("entropies", "metric", "support_share"),
    "hidden": ("hidden", "metric", "entropy_grad_fi_of_hidden"),
    "entropy": ("entropies", "metric", "entropy_gradient_input"),
    "gradient": ("agreement", "importance", "gradient_input"),
    "leave_one_out": ("agreement", "importance", "leave_one_out_input"),
}
"""What is followed along lambda: name -> frame of the results, and the column and value that pick its rows."""
REASONS = {CONSTANT_ATTENTION: "attention is constant", ONE_TOKEN: "every text has one word"}
"""Why a model may have no agreement with anything, by the status of its texts."""


def rows_of(results: Results, name: str) -> pd.DataFrame:
    """The rows that the trend of that name (a key of TRENDS) rests on."""
    frame, column, value = TRENDS[name]
    rows = getattr(results, frame)
    return on_path(rows[rows[column] == value])


def trends(results: Results) -> dict[str, pd.DataFrame]:
    """Every trend along lambda, one row per corpus and encoder; table, claims and sentences share them.

    Over the models that learned something: the others tell nothing about their place on the path.
    """
    results = learned(results)
    return {name: trend(rows_of(results, name), ["dataset", "encoder"]) for name in TRENDS}


def on_path(frame: pd.DataFrame, x: str = "lam") -> pd.DataFrame:
    """Rows of the models on a path, of the seeds that trained all of it.

    Softmax and sparsemax may have further seeds; a path is compared within a seed. Where no seed has it all, every
    row stays: there is no trend then, and the note of `trend` says where it breaks off.
    """
    path, cell = frame[frame[x].notna()], ["dataset", "encoder"]
    places = path.groupby(cell)[x].transform("nunique")
    whole = path.groupby([*cell, "seed"])[x].transform("nunique") == places
    none = ~whole.groupby([path[c] for c in cell]).transform("any")
    return path[whole | none]


def trend(
    frame: pd.DataFrame, by: Sequence[str], x: str = "lam", *, resamples: int = RESAMPLES, seed: int = 0
) -> pd.DataFrame:
    """Kendall tau-b between `x` and the mean `value` of a seed's models, averaged over seeds; one row per cell.

    The interval resamples seeds and texts and works out all means and correlations each time. Two or three seeds
    say little about chance in training, and every place on the path is a training of its own: so `p`, the
    two-sided permutation test of that mean, with the models of each seed shuffled among the places; `silent` where
    it is not below LEVEL, and where a seed has no tau. `within` is the correlation inside each text, averaged over
    texts: trends of single texts, which a mean can hide. `note` is p in words, or why there is no trend.
    """
    rows, columns = (
        [],
        [*by, "value", "low", "high", "n", "p", "silent", "points", "seeds", "least_p", "within", "note"],
    )
    for key, part in on_path(frame, x).groupby(list(by), sort=False):
        cube = _cube(part, x)
        places, n_seeds, n_texts = cube.shape
        means = _means(cube, np.ones((1, n_texts)))[0]
        value, p = float(np.mean(_ordered(means))), permutation_p(means, seed=seed)
        low, high = _interval(cube, resamples, seed) if not np.isnan(value) else (np.nan, np.nan)
        each = _ordered(cube.transpose(2, 1, 0))
        models = places * n_seeds
        row = dict(zip(by, key, strict=True))
        row |= {"value": value, "low": low, "high": high, "n": n_texts, "p": p, "silent": not p < LEVEL}
        row |= {"points": models, "seeds": n_seeds, "least_p": least_p(places, n_seeds)}
        row["within"] = float(np.nanmean(each)) if (~np.isnan(each)).any() else np.nan
        row["note"] = _broken(part, x, means) if np.isnan(p) else f"{chance(p)} over {models} models"
        rows.append(row)
    return pd.DataFrame(rows, columns=columns)


def _interval(cube: np.ndarray, resamples: int, seed: int) -> tuple[float, float]:
    """Percentiles of the mean tau-b over seeds, seeds and texts resampled; NaN where no draw has one."""
    _, n_seeds, n_texts = cube.shape
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n_texts, np.full(n_texts, 1 / n_texts), size=resamples)
    drawn = rng.integers(0, n_seeds, (resamples, n_seeds))
    taus = np.take_along_axis(_ordered(_means(cube, weights)), drawn, 1)
    draws = taus.mean(1)[~np.isnan(taus).any(1)]
    low, high = np.quantile(draws, [0.025, 0.975]) if len(draws) else (np.nan, np.nan)
    return float(low), float(high)


def _broken(part: pd.DataFrame, x: str, means: np.ndarray) -> str:
    """Why a path has no trend: where a seed's model has no value, and the reason, if the texts know it."""
    places = np.array(sorted(part[x].unique()))
    missing = places[np.isnan(means).any(0)]
    if not len(missing):
        return f"no trend: a seed's models are all alike ({len(places)} places)"
    name = {"lam": "λ"}.get(x, "α")
    lost = part[part[x].isin(missing) & part["value"].isna()]
    reasons = set(lost["status"]) if "status" in lost else set()
    why = REASONS.get(reasons.pop(), "there is no value") if len(reasons) == 1 else "there is no value"
    return f"no trend: {why} at {name} = {', '.join(f'{place:g}' for place in missing)}"


def permutation_p(means: np.ndarray, *, seed: int = 0) -> float:
    """Share of arrangements of each seed's models (seeds, places) whose mean tau-b is as far from 0 as theirs.

    Exact where there are few arrangements; else from DRAWS drawn ones, the observed one counted too. NaN where a
    seed has no tau-b.
    """
    found = float(np.mean(_ordered(means)))
    if np.isnan(found):
        return float("nan")
    seeds, places = means.shape
    if places < 9 and factorial(places) ** seeds <= EXACT:
        orders = np.array(list(permutations(range(places))))
        sums = np.zeros(1)
        for own in means:
            sums = (sums[:, None] + _ordered(own[orders])).ravel()
        return float(np.mean(_as_far(sums / seeds, found)))
    rng = np.random.default_rng(seed)
    drawn = rng.permuted(np.broadcast_to(means, (DRAWS, seeds, places)), axis=-1)
    return float((1 + _as_far(_ordered(drawn).mean(1), found).sum()) / (DRAWS + 1))


def chance(p: float) -> str:
    """A p in words: `p < 0.001` where three decimals would say nothing."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def least_p(places: int, seeds: int) -> float:
    """The smallest p that so many models can give: that of the path run through in order by every seed."""
    return 2 / factorial(places) ** seeds


def _as_far(taus: np.ndarray, found: float) -> np.ndarray:
    return np.abs(taus) >= abs(found) - 1e-9


def _cube(part: pd.DataFrame, x: str) -> np.ndarray:
    """Values (places in ascending order, seeds, texts), NaN where there is none."""
    text = [c for c in ("dataset", "instance") if c in part]  # corpora may give their texts the same names
    part = part.assign(text=part.groupby(text, sort=False).ngroup())
    wide = part.pivot_table(index=[x, "seed"], columns="text", values="value", dropna=False, aggfunc="mean")
    places, seeds = sorted(part[x].unique()), sorted(part["seed"].unique())
    wide = wide.reindex(pd.MultiIndex.from_product([places, seeds]))
    return wide.to_numpy(float).reshape(len(places), len(seeds), -1)


def _means(cube: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weighted means over texts, (draws, seeds, places); texts without a value are left out."""
    real = ~np.isnan(cube)
    total = np.tensordot(weights, real.astype(float), (1, 2))
    means = np.tensordot(weights, np.where(real, cube, 0.0), (1, 2)) / np.where(total > 0, total, np.nan)
    return means.transpose(0, 2, 1)


def _ordered(values: np.ndarray) -> np.ndarray:
    """Tau-b of the last axis with its places, strictly ascending; NaN where one is missing or all are equal."""
    first, second = np.triu_indices(values.shape[-1], 1)
    sign = np.sign(values[..., second] - values[..., first])
    untied = (sign != 0).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        tau = sign.sum(-1) / np.sqrt(len(first) * untied)
    return np.where(np.isnan(values).any(-1) | (untied == 0), np.nan, tau)
