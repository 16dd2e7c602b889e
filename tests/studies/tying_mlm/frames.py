"""Frames of the study of word-level objectives, made by hand: what tables, figures and claims rest on."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd

from attnlib.studies.results import Results
from attnlib.studies.tying_mlm.grid import MODEL, gathered
from attnlib.studies.tying_mlm.params import Params

LABELS = {"encoder": "lstm", "projection": "softmax"}
CELL = {"dataset": "sst", "attention": "additive", "layers": 1, "strength": 0.0, "chosen": True, "init": "–"}
STEADY = {"trained": 0.9, "uniform": 0.88, "permuted": 0.86}
FRAGILE = {"trained": 0.9, "uniform": 0.7, "permuted": 0.6}
CONSTANT = {"trained": 0.9, "uniform": 0.8975, "permuted": 0.8975}


def swaps_of(rights: dict[str, dict[str, float]], seeds=(0, 1, 2), n: int = 400, **cell) -> pd.DataFrame:
    """Predictions of made-up models, right on the stated share of texts under each attention; two permutations."""
    truth = np.arange(n) % 2
    frames = []
    for variant, shares in rights.items():
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(n)
            for swap, share in shares.items():
                rows = {"instance": np.arange(n), "label": truth, "swap": swap}
                rows["prediction"] = np.where(order < share * n, truth, 1 - truth)
                for draw in range(2 if swap == "permuted" else 1):
                    frames.append(pd.DataFrame({"variant": variant, "seed": seed, "draw": draw, **rows}))
    return pd.concat(frames, ignore_index=True).assign(change=0.0, **LABELS, **(CELL | cell))


def kept_of(swaps: pd.DataFrame) -> pd.DataFrame:
    """One epoch for each model of the swaps, with a macro-F1 of 0.7 on dev."""
    models = swaps[[*MODEL, "chosen"]].drop_duplicates(ignore_index=True)
    return models.assign(dev_f1_macro=0.7)


def texts_of(probabilities: dict[str, float], seeds=(0, 1, 2), n: int = 60, **cell) -> pd.DataFrame:
    """Texts of the stated per-token probability and entropy, up to noise; five of six are classified correctly."""
    rng = np.random.default_rng(sum(map(ord, str(cell))))  # cells do not share their noise
    noise = {v: rng.normal(0, 0.01, (len(seeds), n)).clip(-0.04, 0.04) for v in probabilities}
    label = np.arange(n) % 2
    frames = [
        pd.DataFrame(
            {
                "variant": variant, "seed": seed, "instance": np.arange(n), "label": label,
                "prediction": np.where(np.arange(n) < 5 * n // 6, label, 1 - label),
                "token_probability": p + noise[variant][k], "entropy": p + noise[variant][k],
            }
        )
        for variant, p in probabilities.items()
        for k, seed in enumerate(seeds)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True).assign(**LABELS, **(CELL | cell))


def information_of(values: dict[str, float], seeds=(0, 1, 2), **cell) -> pd.DataFrame:
    rows = [
        {
            "variant": v, "seed": s, "metric": m, "value": x + 0.01 * s + 0.02 * s * (v != "base"), "floor": 0.2,
            "ceiling": 4.0, "n": 900, "words": 50, "k": 40,
        }
        for v, x in values.items() for s in seeds for m in ("mi_most_frequent", "mi_random_sample")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**LABELS, **(CELL | cell))


def distances_of(
    curves: dict[str, list[tuple[float, float]]], seeds=(0, 1, 2), n: int = 50, **cell
) -> pd.DataFrame:
    """Adversaries at the stated (JSD, TVD), one per λ = 0, 1, … and training, up to noise."""
    rng = np.random.default_rng(0)
    shared = rng.normal(0, 0.005, n) + rng.normal(0, 0.003, (len(seeds), 1))
    noise = {v: shared + rng.normal(0, 0.002, shared.shape) for v in curves}
    frames = [
        pd.DataFrame(
            {
                "variant": v, "seed": seed, "lam": float(k), "instance": range(n), "jsd": far + noise[v][r],
                "tvd": (cost + noise[v][r]).clip(0), "label": np.arange(n) % 2, "prediction_base": np.arange(n) % 2,
                "prediction_adversary": 0,
            }
        )
        for v, points in curves.items() for k, (far, cost) in enumerate(points) for r, seed in enumerate(seeds)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True).assign(**LABELS, **(CELL | cell))


HIGH, LOW = [(0.1, 0.05), (0.4, 0.3)], [(0.1, 0.02), (0.4, 0.1)]
"""Curves of an adversary that pays much and of one that pays little."""


def results(**frames: pd.DataFrame) -> Results:
    """A run in which every claim of the paper holds; single frames may be given."""
    made = {
        "swaps": pd.concat(
            [
                swaps_of({"base": STEADY, "concat": STEADY, "residual": STEADY, "tying": FRAGILE, "mlm": FRAGILE}),
                swaps_of({"base": CONSTANT}, layers=3),
                swaps_of({"base": FRAGILE}, attention="dot", init="normal"),
                swaps_of({"base": CONSTANT}, attention="dot", init="kaiming"),
            ],
            ignore_index=True,
        ),
        "texts": pd.concat(
            [
                texts_of({"base": 0.7, "tying": 0.55, "mlm": 0.6}),
                texts_of({"base": 0.6}, attention="dot", init="normal"),
                texts_of({"base": 0.95}, attention="dot", init="kaiming"),
            ],
            ignore_index=True,
        ),
        "information": information_of({"base": 1.0, "residual": 2.5, "tying": 3.0, "mlm": 2.0}),
        "distances": distances_of({"base": LOW, "tying": HIGH, "mlm": HIGH}),
    }
    made |= frames
    made.setdefault("kept", kept_of(made["swaps"]))
    return gathered(Params(), SimpleNamespace(failures=[]), made)


def changed(found: Results, **frames: pd.DataFrame) -> Results:
    """The same run with other frames; what follows from them is computed again."""
    names = ("swaps", "texts", "kept", "information", "distances")
    return gathered(found.params, found.grid, {name: found.frames[name] for name in names} | frames)
