"""What is no mean over texts, brought to the form of one: a delete-one jackknife.

Pseudovalues are one number per text whose mean and spread are those of the statistic, so that `inference.effect`
gives it an interval like any mean.
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
    without_each  the same rows -> T without each text in turn, where that has a closed form

    Returns one row per training and text: `by`, `text`, `value` = N T - (N - 1) T without the text, `point` = T.
    """
    rows = [pd.DataFrame(columns=[*by, text, "value", "point"])] if frame.empty else []
    for key, part in frame.groupby(list(by), sort=False, dropna=False, observed=True):
        part = part.reset_index(drop=True)
        point, n = statistic(part), len(part)
        rest = without_each(part) if without_each else np.array([statistic(part.drop(index=i)) for i in range(n)])
        found = {text: part[text], "value": n * point - (n - 1) * rest, "point": point}
        rows.append(pd.DataFrame(dict(zip(by, key, strict=True)) | found))
    return pd.concat(rows, ignore_index=True)


def by_class(frame: pd.DataFrame, by: Sequence[str]) -> tuple[np.ndarray, ...]:
    """What the F1 of a class, 2 hits / (of_truth + of_said), is made of; the columns are `truth` and `prediction`.

    Of the N rows: training (N,), numbered as they appear; truth and said (N,) as places in classes (C,). Of the R
    trainings: hits, of_truth and of_said (R, C), texts of each class. In this order, classes second.
    """
    training = frame.groupby(list(by), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    names = np.concatenate([frame["truth"].to_numpy(object), frame["prediction"].to_numpy(object)])
    codes, classes = pd.factorize(names)
    truth, said = codes.reshape(2, -1)
    shape = (training.max() + 1, len(classes))

    def counted(training: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.bincount(training * shape[1] + of, minlength=shape[0] * shape[1]).reshape(shape)

    right = truth == said
    hits = counted(training[right], truth[right])
    return training, classes, truth, said, hits, counted(training, truth), counted(training, said)


def f1_values(frame: pd.DataFrame, by: Sequence[str], *, positive: object = None) -> pd.DataFrame:
    """`pseudovalues` of F1: macro, or that of one class (`positive`), from the columns `truth` and `prediction`."""
    by = list(by)
    if frame.empty:  # of what was not measured, without columns perhaps
        return pd.DataFrame(columns=[*by, "instance", "value", "point"])
    training, classes, truth, said, hits, of_truth, of_said = by_class(frame, by)
    both = of_truth + of_said
    wanted = both > 0  # a macro mean is over the classes that a training has
    if positive is not None:
        wanted = np.broadcast_to(classes == positive, both.shape)
    scores, n = np.where(wanted, 2 * hits / np.maximum(both, 1), 0.0), wanted.sum(1)
    right, changed = truth == said, np.zeros(len(frame))  # of the sum over classes, when the text is left out
    for of in (truth, said):
        own = training, of
        less = np.where(wanted[own], 2 * (hits[own] - right) / np.maximum(both[own] - 1 - right, 1), 0.0)
        changed += np.where(right & (of is said), 0.0, less - scores[own])
    point = scores.sum(1) / np.maximum(n, 1)
    size = np.bincount(training)[training]
    rest = (scores.sum(1)[training] + changed) / np.maximum(n, 1)[training]
    told = frame[[*by, "instance"]].assign(value=size * point[training] - (size - 1) * rest, point=point[training])
    return told.iloc[np.argsort(training, kind="stable")].reset_index(drop=True)


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
