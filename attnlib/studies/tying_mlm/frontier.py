"""What adversaries pay: distance of outputs against distance of attentions (Figure 1 of the paper)."""

from __future__ import annotations

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import RESAMPLES, bounds, interval_text, weights
from attnlib.utils.errors import DataError


def frontier_table(distances: pd.DataFrame) -> pd.DataFrame:
    """Figure 1 in numbers: mean JSD and TVD of every adversary, with intervals over texts."""
    rows = []
    if distances.empty:
        return pd.DataFrame()
    for (dataset, variant, lam), part in distances.groupby(["dataset", "variant", "lam"], sort=False):
        row = {"dataset": dataset, "variant": variant, "λ": lam}
        for name in ("jsd", "tvd"):
            found = stats.bootstrap(part[name].to_numpy(float), resamples=RESAMPLES)
            row |= {name: found.estimate, f"{name}_low": found.low, f"{name}_high": found.high}
        same = (part["prediction_base"] == part["prediction_adversary"]).mean()
        rows.append(row | {"same decision": same, "n": len(part)})
    return pd.DataFrame(rows)


def frontier_wide(table: pd.DataFrame) -> pd.DataFrame:
    """`frontier_table` as it is shown: every λ in full, however small, and intervals next to their means."""
    shown = table.assign(**{"λ": [f"{lam:g}" for lam in table["λ"]]})
    for name in ("jsd", "tvd"):
        ends = table.rename(columns={name: "value", f"{name}_low": "low", f"{name}_high": "high"})
        shown[name.upper()] = interval_text(ends, 3)
    return shown[["dataset", "variant", "λ", "JSD", "TVD", "same decision", "n"]]


def frontier_gap(distances: pd.DataFrame, a: str, b: str, *, levels: int = 50, resamples: int = RESAMPLES):
    """TVD that adversaries of `a` pay beyond those of `b` at equal JSD, averaged over the JSD both reach.

    Each curve joins its adversaries' mean (JSD, TVD) in order of JSD. The interval resamples texts, the same for
    both curves. NaN where the curves share no JSD.
    """
    gaps, n = [], 0
    for _, part in distances.groupby("dataset", sort=False):
        sides = [_curve(part[part["variant"] == name]) for name in (a, b)]
        texts = sides[0][0].shape[1]
        n += texts
        shares = weights(texts, 1, resamples)[0].T / texts
        means = [[np.nan_to_num(values) @ shares for values in side] for side in sides]
        gaps.append(
            [_apart(*(side[k][:, r] for side in means for k in (0, 1)), levels) for r in range(resamples + 1)]
        )
    found = np.mean(gaps, 0)
    if np.isnan(found[0]) or np.isnan(found).mean() > 0.05:
        return stats.Difference(float("nan"), float("nan"), float("nan"), n, 0, float("nan"))
    return stats.Difference(float(found[0]), n=n, missing=int(np.isnan(found).sum()), **bounds(found[1:]))


def _curve(part: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """(L, N) JSD and TVD: one row per adversary, one column per text."""
    wide = [part.pivot_table(index="lam", columns="instance", values=name) for name in ("jsd", "tvd")]
    if wide[0].empty:
        raise DataError("An adversary's base is missing from the frame of distances.")
    return wide[0].to_numpy(), wide[1].to_numpy()


def _apart(far_a, cost_a, far_b, cost_b, levels: int) -> float:
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
