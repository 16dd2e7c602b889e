"""Which models learned anything: the decisions of one that did not say nothing about its attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from attnlib.utils.text import plural

LEARNED = 0.1
RULE = f"macro-F1 less than {LEARNED:g} above guessing and above always predicting the most frequent class"
"""When a model has learned nothing."""
NOTHING = f"No model of this run learned anything: each has a {RULE}."
"""Why a claim is not tested then."""
OPTIONS = {"lam": "λ", "alpha": "α"}
"""Columns that tell models apart, as readers see them."""


def idle(labels: pd.DataFrame, by: Sequence[str], margin: float = LEARNED) -> pd.DataFrame:
    """Models (groups of `by`) that learned nothing, one row each, from the columns `truth` and `prediction`.

    Such a model has a macro-F1 less than `margin` above always predicting the most frequent class and above
    guessing, which has 1 / C with C classes. What changes its decisions says nothing about attention.
    """
    by = list(by)
    if labels.empty:
        return labels[by]
    grouped = labels.groupby(by, dropna=False)
    names = pd.concat([labels["truth"].astype(str), labels["prediction"].astype(str)])
    codes, classes = pd.factorize(names)
    model, (truth, said) = grouped.ngroup().to_numpy(), codes.reshape(2, -1)

    def counted(chosen: np.ndarray | slice, of: np.ndarray) -> np.ndarray:
        """(models, classes): how many of the chosen texts are of which class."""
        cells = model[chosen] * len(classes) + of[chosen]
        return np.bincount(cells, minlength=grouped.ngroups * len(classes)).reshape(grouped.ngroups, -1)

    of_truth, hits = counted(slice(None), truth), counted(truth == said, truth)
    both = of_truth + counted(slice(None), said)  # 2 hits / both is the F1 of a class; absent ones do not count
    macro = (2 * hits / np.maximum(both, 1)).sum(1) / (both > 0).sum(1)
    most, n, known = of_truth.max(1), of_truth.sum(1), (of_truth > 0).sum(1)
    level = np.maximum(2 * most / (most + n), 1.0) / known  # F1 of the most frequent class, the others have none
    models = labels[by].assign(_model=model).drop_duplicates("_model").sort_values("_model")
    return models.loc[macro < level + margin, by].reset_index(drop=True)


def without(frame: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """The rows of `frame` that belong to none of `models` (as `idle` gives them), by the columns of both."""
    keys = [name for name in models if name in frame]
    if frame.empty or models.empty:
        return frame
    named = models[keys].drop_duplicates().assign(left_out=True)
    number = frame.groupby(keys, sort=False, dropna=False).ngroup()
    each = frame.loc[~number.duplicated().to_numpy(), keys]  # in the order of their numbers
    kept = each.merge(named, on=keys, how="left")["left_out"].isna().to_numpy()
    return frame[kept[number.to_numpy()]]


def about_idle(models: pd.DataFrame, of: int, named: int = 6) -> list[str]:
    """A sentence on the models that learned nothing, the first of them by name; none where there are none."""
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
