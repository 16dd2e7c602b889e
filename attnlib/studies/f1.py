"""Macro-F1 with intervals over seeds and texts, and which models learned nothing by it.

F1 is no mean over texts, so `common.summarise` cannot resample it. Here texts and seeds are drawn once per resample
for all models alike (the same texts meet every model), and each model's F1 is computed from weighted counts.
A frame holds one row per model and text: the columns of its cell, `seed`, `instance`, `truth`, `prediction`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.studies.common import RESAMPLES, bounds, weights
from attnlib.utils.errors import DataError
from attnlib.utils.text import plural

LEARNED = 0.1
OPTIONS = {"lam": "λ", "alpha": "α"}
"""Columns that tell models apart, as readers see them."""
RULE = f"macro-F1 less than {LEARNED:g} above guessing and above always predicting the most frequent class"
"""When a model has learned nothing."""


def f1_summary(frame: pd.DataFrame, by: Sequence[str], *, resamples: int = RESAMPLES) -> pd.DataFrame:
    """One row per cell: the mean over seeds of macro-F1, its 95% interval, n (texts) and seeds."""
    rows = []
    for key, part in frame.groupby(list(by), sort=False):
        draws, estimate, n = resampled_f1(part, resamples=resamples)
        low, high = np.quantile(draws, [0.025, 0.975]) if n > 1 else (np.nan, np.nan)
        row = dict(zip(by, key, strict=True))
        rows.append(row | {"value": estimate, "low": low, "high": high, "n": n, "seeds": part["seed"].nunique()})
    return pd.DataFrame(rows)


def f1_contrast(
    frame: pd.DataFrame,
    column: str,
    a: str,
    b: str,
    by: Sequence[str] = (),
    *,
    cells: Sequence[str] = (),
    resamples: int = RESAMPLES,
) -> pd.DataFrame:
    """Macro-F1 of `a` minus that of `b`, one row per cell of `by`, averaged over the columns `cells`.

    Both sides, and all cells of one data set, are computed on the same resampled texts and seeds. n counts texts
    times models of one side. `p_holm` corrects over the rows.
    """
    rows = []
    for key, part in frame.groupby(list(by), sort=False) if by else [((), frame)]:
        groups = list(part.groupby(list(cells), sort=False)) if cells else [((), part)]
        draws, estimates, n = [], [], 0
        for _, cell in groups:
            sides = [cell[cell[column] == side] for side in (a, b)]
            if any(side.empty for side in sides):
                continue
            found = [resampled_f1(side, resamples=resamples) for side in sides]
            draws.append(found[0][0] - found[1][0])
            estimates.append((found[0][1], found[1][1]))
            n += min(len(side) for side in sides)
        if not draws:
            raise DataError(f"No cell holds both {column} = {a!r} and {column} = {b!r}.")
        means, (first, second) = np.mean(draws, 0), np.mean(estimates, 0)
        row = dict(zip(by, key, strict=True))
        row |= {"contrast": f"{a} - {b}", "a": first, "b": second, "estimate": first - second}
        rows.append(row | bounds(means) | {"n": n})
    table = pd.DataFrame(rows)
    table["p_holm"] = stats.holm(table["p"])
    return table


def idle(labels: pd.DataFrame, by: Sequence[str], margin: float = LEARNED) -> pd.DataFrame:
    """Models (cells of `by`) that learned nothing: macro-F1 less than `margin` above always predicting the most
    frequent class and above guessing, which has a macro-F1 of 1 / C with C classes.

    The decisions of such a model say nothing about a text, so what changes them says nothing about attention.
    """
    rows = []
    for key, part in labels.assign(seed=0).groupby([labels[name] for name in by], sort=False, dropna=False):
        constant = part.assign(prediction=part["truth"].mode()[0])
        level = max(resampled_f1(constant, resamples=1)[1], 1 / part["truth"].nunique())
        if resampled_f1(part, resamples=1)[1] < level + margin:
            rows.append(key)
    return pd.DataFrame(rows, columns=list(by)).astype(labels[list(by)].dtypes)


def without(frame: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The rows of `frame` that belong to none of `models` (as `idle` gives them), by the columns of both."""
    keys = [name for name in models if name in frame]
    if frame.empty or models.empty:
        return frame
    named = models[keys].drop_duplicates().assign(left_out=True)
    return frame[frame[keys].merge(named, on=keys, how="left")["left_out"].isna().to_numpy()]


def about_idle(models: pd.DataFrame, of: int, named: int = 6) -> list[str]:
    """The models that learned nothing, the first of them by name; nothing to say where there are none."""
    if models.empty:
        return []
    varying = [name for name in models if len(models[name].unique()) > 1] or list(models)[-1:]
    each = [
        ", ".join(filter(None, (_option(n, v) for n, v in row.items())))
        for row in models[varying].head(named).to_dict("records")
    ]
    more = f"; and {len(models) - named} more" if len(models) > named else ""
    return [
        f"**{len(models)} of {plural(of, 'model')} learned nothing** ({RULE}); the claims leave them out: "
        f"{'; '.join(each)}{more}."
    ]


def _option(name: str, value: Any) -> str:
    """`seed 1`, `layers 2`, `λ -10`, and names as they are; nothing for an option that the model does not have."""
    if isinstance(value, str):
        return "" if value == "–" else value
    if value != value or (name == "strength" and value == 0):
        return ""
    return f"{OPTIONS.get(name, name)} {value:g}"


def resampled_f1(
    part: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = 0, positive: Any = None
) -> tuple[np.ndarray, float, int]:
    """Resampled macro-F1 (resamples,), its estimate (mean over seeds) and the number of texts of one cell.

    Draws depend on `seed` and the numbers of texts and seeds alone, so that cells with the same ones are paired.
    `positive` names the one class whose F1 is meant, in place of the mean over classes.
    """
    indexed = part.set_index(["instance", "seed"])[["truth", "prediction"]].sort_index()
    if len(indexed) != part["instance"].nunique() * part["seed"].nunique() or indexed.index.has_duplicates:
        raise DataError("Every model of a cell must have predicted the same texts, each once; some did not.")
    n, models = part["instance"].nunique(), part["seed"].nunique()
    truth, said = (indexed[name].to_numpy(object).reshape(n, models) for name in ("truth", "prediction"))
    texts, drawn = weights(n, models, resamples, seed)
    scores = np.zeros((resamples + 1, models))
    classes = sorted(set(truth.ravel()) | set(said.ravel())) if positive is None else [positive]
    for name in classes:
        true, hit = texts @ (truth == name), texts @ ((truth == name) & (said == name))
        both = true + texts @ (said == name)
        scores += np.where(both > 0, 2 * hit / np.where(both > 0, both, 1), 0.0) / len(classes)
    means = (scores * drawn).sum(1) / models
    return means[1:], float(means[0]), n
