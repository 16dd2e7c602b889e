"""What is no mean over texts, brought to the form of one: a delete-one jackknife.

F1, a standard deviation or a correlation is one number per training. Its pseudovalues are one number per text whose
mean and spread are those of the statistic, so that `inference.effect` gives it an interval like any mean.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd


def pseudovalues(
    frame: pd.DataFrame,
    statistic: Callable[[pd.DataFrame], float],
    by: Sequence[str],
    text: str = "instance",
    *,
    without_each: Callable[[pd.DataFrame], np.ndarray] | None = None,
) -> pd.DataFrame:
    r"""A statistic that is not a mean over texts, as numbers with the same mean and spread.

    by            columns that tell trainings apart: those of the cell, and the seed
    statistic     the rows of one training -> a number T
    without_each  the same rows -> T without each text in turn, where that has a closed form; else T is computed
                  again without each

    Returns one row per training and text: `by`, `text`, `value` = N T - (N - 1) T without the text, `point` = T.
    """
    rows = []
    for key, part in frame.groupby(list(by), sort=False, dropna=False, observed=True):
        part = part.reset_index(drop=True)
        point, n = statistic(part), len(part)
        if without_each is not None:
            rest = without_each(part)
        else:
            rest = np.array([statistic(part.drop(index=i)) for i in range(n)])
        values = n * point - (n - 1) * rest
        rows.append(
            pd.DataFrame({**dict(zip(by, key, strict=True)), text: part[text], "value": values, "point": point})
        )
    return pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=[*by, text, "value", "point"])


def f1_values(frame: pd.DataFrame, by: Sequence[str], *, positive: object = None) -> pd.DataFrame:
    """`pseudovalues` of F1: macro, or that of one class (`positive`), from the columns `truth` and `prediction`."""

    def counts(part: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        truth, said = part["truth"].to_numpy(object), part["prediction"].to_numpy(object)
        names = sorted({*truth, *said}, key=str) if positive is None else [positive]
        true = truth[:, None] == np.array(names, dtype=object)
        told = said[:, None] == np.array(names, dtype=object)
        return (2.0 * (true & told)), (true.astype(float) + told)

    def f1(hits: np.ndarray, both: np.ndarray) -> np.ndarray:
        return np.where(both > 0, hits / np.where(both > 0, both, 1), 0.0).mean(-1)

    def statistic(part: pd.DataFrame) -> float:
        hits, both = counts(part)
        return float(f1(hits.sum(0), both.sum(0)))

    def without_each(part: pd.DataFrame) -> np.ndarray:
        hits, both = counts(part)
        return f1(hits.sum(0) - hits, both.sum(0) - both)

    return pseudovalues(frame, statistic, by, without_each=without_each)


def spread_values(frame: pd.DataFrame, by: Sequence[str]) -> pd.DataFrame:
    """`pseudovalues` of the standard deviation of `value` over texts."""

    def statistic(part: pd.DataFrame) -> float:
        return float(part["value"].std())

    def without_each(part: pd.DataFrame) -> np.ndarray:
        x = part["value"].to_numpy(float)
        n = len(x)
        squares = ((x - x.mean()) ** 2).sum() - (x - x.mean()) ** 2 * n / (n - 1)
        return np.sqrt(np.clip(squares, 0, None) / (n - 2)) if n > 2 else np.full(n, np.nan)

    return pseudovalues(frame, statistic, by, without_each=without_each)
