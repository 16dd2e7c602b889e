r"""Does attention rank words as their importance does, and over how many words is each spread?

For one text, :math:`\tau_b(\alpha, g)` is Kendall's tau-b, which corrects for ties: a sparse projection gives many
weights of exactly zero. Where a side is constant, or the text has one token, there is no order to agree on: the
value is NaN and `status` says why, so that nothing is dropped silently (Meister et al. 2021, section 4; Jain &
Wallace 2019).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.importance.scores import importance
from attnlib.utils.errors import ConfigError, one_of

if TYPE_CHECKING:
    from attnlib.training.fitted import Fitted

RESOLUTION = 1e-6
"""Changes of a probability are rounded to this: single precision cannot tell smaller ones, or smaller differences
between two, from rounding, and these depend on which texts share a batch."""
ORDERED, ONE_TOKEN = "ordered", "one token"
CONSTANT_ATTENTION, CONSTANT_IMPORTANCE = "constant attention", "constant importance"
STATUSES = (ORDERED, ONE_TOKEN, CONSTANT_ATTENTION, CONSTANT_IMPORTANCE)


def _gradient(fitted: Fitted, examples: Sequence, level: str) -> list[np.ndarray]:
    return importance(fitted, examples, "gradient_norm", level=level)


def _leave_one_out(fitted: Fitted, examples: Sequence, level: str) -> list[np.ndarray]:
    """Absolute changes of p(ŷ), rounded. At the hidden level sparse projections are applied again."""
    options = {"operator": "delete"} if level == "input" else {}
    changes = importance(fitted, examples, "omission", level=level, **options)
    return [resolved(change) for change in changes]


def resolved(changes: np.ndarray) -> np.ndarray:
    """Sizes of changes of a probability, as multiples of RESOLUTION."""
    return np.rint(np.abs(np.asarray(changes, float)) / RESOLUTION) * RESOLUTION


KINDS = {
    "gradient_input": (_gradient, "input"),
    "leave_one_out_input": (_leave_one_out, "input"),
    "gradient_hidden": (_gradient, "hidden"),
    "leave_one_out_hidden": (_leave_one_out, "hidden"),
}
"""Importances of eq. 4 and 6 of Meister et al. 2021, of inputs and of hidden states."""


def attention_agreement(
    fitted: Fitted, examples: Iterable, kinds: Sequence[str] = tuple(KINDS)
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two frames: agreement, one row per text and kind; spread, one row per text.

    agreement  instance (the text's id), length, importance, value (tau-b), status (one of STATUSES),
               tied (share of pairs of words with equal attention), entropy (of the importance over its maximum; NaN
               where the importance is all zero, or the text has one token)
    spread     instance, length, support (words with weight above zero), entropy (of attention over its maximum)
    """
    for kind in kinds:
        one_of("kind of importance", kind, KINDS)
    if fitted.model_config.hierarchical:
        raise ConfigError("Agreement compares words with words; a hierarchical model attends to sentences.")
    examples = fitted.examples(examples)
    names = [example.id or str(i) for i, example in enumerate(examples)]
    weights = importance(fitted, examples, "alpha")
    rows = []
    for kind in kinds:
        score, level = KINDS[kind]
        for name, alpha, values in zip(names, weights, score(fitted, examples, level), strict=True):
            row = {"instance": name, "length": len(alpha), "importance": kind}
            rows.append(row | agreement(alpha, values) | {"entropy": dispersion(values)})
    spread = pd.DataFrame(
        {
            "instance": names,
            "length": [len(alpha) for alpha in weights],
            "support": [int((alpha > 0).sum()) for alpha in weights],
            "entropy": [dispersion(alpha) for alpha in weights],
        }
    )
    return pd.DataFrame(rows), spread


def agreement(alpha: np.ndarray, values: np.ndarray) -> dict[str, object]:
    """Tau-b of two rankings of one text, the reason where it has none, and the share of tied attention pairs."""
    n = len(alpha)
    tied = np.unique(alpha, return_counts=True)[1]
    found = {"value": stats.kendall_tau(alpha, values), "status": ORDERED}
    if n < 2:
        found["status"] = ONE_TOKEN
    elif len(tied) == 1:
        found["status"] = CONSTANT_ATTENTION
    elif (values == values[0]).all():
        found["status"] = CONSTANT_IMPORTANCE
    return found | {"tied": float((tied * (tied - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")}


def dispersion(values: np.ndarray) -> float:
    r"""Normalised entropy :math:`\tilde H = H(g) / \ln n` of non-negative values, normalised to sum to one.

    NaN for one value alone, and where all are zero: there is no distribution then.
    """
    total = float(np.sum(values))
    if len(values) < 2 or not total > 0:
        return float("nan")
    return float(stats.normalized_entropy(np.asarray(values, float) / total))
