"""Frames of the study of word-level objectives, made by hand: what tables and claims rest on."""

from __future__ import annotations

import numpy as np
import pandas as pd

LABELS = {"encoder": "lstm", "projection": "softmax"}


def swaps_of(rights: dict[str, dict[str, float]], seeds=(0, 1), n: int = 400, **cell) -> pd.DataFrame:
    """Predictions of made-up models, right on the stated share of texts under each attention."""
    truth = np.arange(n) % 2
    frames = []
    for variant, shares in rights.items():
        for seed in seeds:
            order = np.random.default_rng(seed).permutation(n)
            for swap, share in shares.items():
                said = np.where(order < share * n, truth, 1 - truth)
                for draw in range(2 if swap == "permuted" else 1):
                    rows = {
                        "instance": np.arange(n),
                        "truth": truth,
                        "prediction": said,
                        "swap": swap,
                        "draw": draw,
                    }
                    frames.append(pd.DataFrame({"variant": variant, "seed": seed, **rows}))
    frame = pd.concat(frames, ignore_index=True).assign(change=0.0)
    defaults = {
        "dataset": "sst",
        "attention": "additive",
        "layers": 1,
        "strength": 0.0,
        "chosen": True,
        "init": "–",
    }
    return frame.assign(**LABELS, **(defaults | cell))


STEADY = {"trained": 0.9, "uniform": 0.88, "permuted": 0.86}
FRAGILE = {"trained": 0.9, "uniform": 0.7, "permuted": 0.6}


def texts_of(probabilities: dict[str, float], seeds=(0, 1), n: int = 60, **cell) -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.01, n)
    frames = [
        pd.DataFrame(
            {
                "variant": variant, "seed": seed, "instance": np.arange(n), "label": np.arange(n) % 2,
                "prediction": np.where(np.arange(n) < 50, np.arange(n) % 2, 1 - np.arange(n) % 2),
                "token_probability": p + noise, "entropy": p + noise, "confidence": 0.9,
            }
        )
        for variant, p in probabilities.items()
        for seed in seeds
    ]  # fmt: skip
    defaults = {
        "dataset": "sst",
        "attention": "additive",
        "layers": 1,
        "strength": 0.0,
        "chosen": True,
        "init": "–",
    }
    return pd.concat(frames, ignore_index=True).assign(**LABELS, **(defaults | cell))


def information_of(values: dict[str, float], seeds=(0, 1, 2)) -> pd.DataFrame:
    rows = [
        {
            "dataset": "sst", "attention": "additive", "variant": v, "seed": s, "metric": m, "value": x + 0.01 * s,
            "low": x - 0.1, "high": x + 0.1, "floor": 0.2, "ceiling": 4.0, "n": 900, "words": 50, "k": 40,
            "layers": 1, "chosen": True, "init": "–",
        }
        for v, x in values.items() for s in seeds for m in ("mi_most_frequent", "mi_random_sample")
    ]  # fmt: skip
    return pd.DataFrame(rows).assign(**LABELS)


def distances_of(curves: dict[str, list[tuple[float, float]]], n: int = 50) -> pd.DataFrame:
    noise = np.random.default_rng(0).normal(0, 0.005, n)
    frames = [
        pd.DataFrame(
            {
                "dataset": "sst", "variant": v, "lam": float(k), "instance": range(n), "jsd": far + noise,
                "tvd": cost + noise, "prediction_base": 0, "prediction_adversary": 0,
            }
        )
        for v, points in curves.items() for k, (far, cost) in enumerate(points)
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)
