r"""Does attention rank words as their importance does, and over how many words are both, and states, spread?

For one text, :math:`\tau_b(\alpha, g)` is Kendall's tau-b, which corrects for ties (Meister et al. 2021, section 4;
Jain & Wallace 2019). Where a side is constant, or the text has one token, there is no order to agree on: the value
is NaN and `status` says why.

Over how many inputs the influence on one hidden state is spread (Meister et al. 2021, eq. 5 and Table 1) is

.. math:: g_{h_p}(x_i) = \frac{\|\partial \|h_p\| / \partial X_i\|}{\sum_k \|\partial \|h_p\| / \partial X_k\|},
          \qquad \tilde H(g_{h_p}) = H(g_{h_p}) / \ln n

One where all inputs move h_p equally, zero where only one does. By appendix A of the paper, the influence on each
component of h_p, :math:`\|\partial h_p / \partial X_i\|_F`, gives nearly the same; `facets` measures that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from attnlib import stats
from attnlib.engine.jacobian import full_jacobian, norm_jacobian
from attnlib.rankings.scores import importance
from attnlib.training.fitted import Fitted
from attnlib.utils.errors import ConfigError, one_of
from attnlib.utils.progress import bar

RESOLUTION = 1e-6
"""Changes of a probability are rounded to this: single precision cannot tell smaller ones from rounding."""
KINDS = {
    "gradient_input": ("gradient_norm", {"level": "input"}),
    "leave_one_out_input": ("omission", {"level": "input", "operator": "delete"}),
    "gradient_hidden": ("gradient_norm", {"level": "hidden"}),
    "leave_one_out_hidden": ("omission", {"level": "hidden"}),
}
"""Importances of eq. 4 and 6 of Meister et al. 2021; changes by omission count by their size."""


def resolved(changes: np.ndarray) -> np.ndarray:
    """Sizes of changes of a probability, as multiples of RESOLUTION."""
    return np.rint(np.abs(np.asarray(changes, float)) / RESOLUTION) * RESOLUTION


def attention_agreement(
    fitted: Fitted, examples: Iterable, kinds: Sequence[str] = tuple(KINDS)
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Two frames: agreement, one row per text and kind; spread, one row per text.

    agreement  instance (the text's id), length, importance, value (tau-b), status (`ordered`, or why not), tied
               (share of pairs of words with equal attention), entropy (`dispersion` of the importance)
    spread     instance, length, support (words with weight above zero), entropy (`dispersion` of attention)
    """
    for kind in kinds:
        one_of("kind of importance", kind, KINDS)
    if fitted.model_config.hierarchical:
        raise ConfigError("Agreement compares words with words; a hierarchical model attends to sentences.")
    examples = fitted.examples(examples)
    weights = importance(fitted, examples, "alpha")
    texts = [{"instance": name, "length": len(a)} for name, a in zip(_names(examples), weights, strict=True)]
    rows = []
    for kind in kinds:
        method, options = KINDS[kind]
        for text, alpha, values in zip(
            texts, weights, importance(fitted, examples, method, **options), strict=True
        ):
            values = resolved(values) if method == "omission" else values
            row = {**text, "importance": kind, **agreement(alpha, values)}
            rows.append(row | {"entropy": dispersion(values)})
    spread = pd.DataFrame(texts).assign(
        support=[int((alpha > 0).sum()) for alpha in weights], entropy=[dispersion(alpha) for alpha in weights]
    )
    return pd.DataFrame(rows), spread


def agreement(alpha: np.ndarray, values: np.ndarray) -> dict[str, object]:
    """Tau-b of two rankings of one text, the reason where it has none, and the share of tied attention pairs."""
    n = len(alpha)
    tied = np.unique(alpha, return_counts=True)[1]
    found = {"value": stats.kendall_tau(alpha, values), "status": "ordered"}
    if n < 2:
        found["status"] = "one token"
    elif len(tied) == 1:
        found["status"] = "constant attention"
    elif (values == values[0]).all():
        found["status"] = "constant importance"
    return found | {"tied": float((tied * (tied - 1)).sum() / (n * (n - 1))) if n > 1 else float("nan")}


def dispersion(values: np.ndarray) -> float:
    r"""Normalised entropy :math:`\tilde H = H(g) / \ln n` of values; NaN for one alone, or all zero."""
    total = float(np.sum(values))
    if len(values) < 2 or not total > 0:
        return float("nan")
    return float(stats.normalized_entropy(np.asarray(values, float) / total))


def hidden_dispersion(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """One row per hidden state: instance, length, position, value (normalised entropy of the influence on it),
    own (the share of its own word) and even (1 / length); NaN where a text has one token or no input moves it."""
    examples = fitted.examples(examples)
    pieces = []
    for text, square in zip(_names(examples), norm_jacobian(fitted, examples), strict=True):
        shared = square.any(1) & (len(square) > 1)
        told = {
            "value": [dispersion(influence) for influence in square],
            "own": np.where(shared, square.diagonal(), np.nan),
            "even": np.where(shared, 1 / len(square), np.nan),
        }
        place = {"instance": text, "length": len(square), "position": np.arange(len(square))}
        pieces.append(pd.DataFrame(place | told))
    return pd.concat(pieces, ignore_index=True)


def facets(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """The two ways to measure influence on a hidden state, one row per state: instance, length, position, the
    entropies `of_norm` and `of_facets`, their rank correlation `tau` over inputs, the total variation `distance`.
    """
    examples = fitted.examples(examples)
    rows = []
    with bar("influence on every component of h", total=len(examples), unit="text") as line:
        for text, example, norms in zip(_names(examples), examples, norm_jacobian(fitted, examples), strict=True):
            for p, (a, b) in enumerate(zip(norms, full_jacobian(fitted, example), strict=True)):
                told = {"of_norm": dispersion(a), "of_facets": dispersion(b), "tau": stats.kendall_tau(a, b)}
                row = {"instance": text, "length": len(a), "position": p}
                rows.append(row | told | {"distance": float(stats.tvd(a, b))})
            line.update(1)
    return pd.DataFrame(rows)


def _names(examples: Sequence) -> list[str]:
    return [example.id or str(i) for i, example in enumerate(examples)]
