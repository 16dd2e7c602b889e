r"""Does attention rank words as their importance does, and over how many words are both, and states, spread?

For one text, :math:`\tau_b(\alpha, g)` is Kendall's tau-b, which corrects for ties: a sparse projection gives many
weights of exactly zero. Where a side is constant, or the text has one token, there is no order to agree on: the
value is NaN and `status` says why, so that nothing is dropped silently (Meister et al. 2021, section 4; Jain &
Wallace 2019).

Over how many inputs the influence on one hidden state is spread (Meister et al. 2021, eq. 5 and Table 1) is

.. math:: g_{h_p}(x_i) = \frac{\|\partial \|h_p\| / \partial X_i\|}{\sum_k \|\partial \|h_p\| / \partial X_k\|},
          \qquad \tilde H(g_{h_p}) = H(g_{h_p}) / \ln n

One where all inputs move h_p equally, zero where only one does. Appendix A of the paper reports that the influence
on each component of h_p, :math:`\|\partial h_p / \partial X_i\|_F`, gives nearly the same; `facets` measures that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch

from attnlib import stats
from attnlib.engine.jacobian import norm_jacobian
from attnlib.importance.scores import importance
from attnlib.utils.errors import ConfigError, one_of
from attnlib.utils.progress import bar

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


def hidden_dispersion(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """One row per hidden state: instance, length, position, value (normalised entropy of the influence on it),
    own (the share of its own word) and even (the share each word would have if all counted equally).

    All three are NaN for texts of one token and for states that no input moves: there are no shares.
    """
    examples = fitted.examples(examples)
    rows = []
    for k, (example, square) in enumerate(zip(examples, norm_jacobian(fitted, examples), strict=True)):
        for p, influence in enumerate(square):
            shared = len(square) > 1 and influence.any()
            rows.append(
                {
                    "instance": example.id or str(k),
                    "length": len(square),
                    "position": p,
                    "value": dispersion(influence),
                    "own": float(influence[p]) if shared else np.nan,
                    "even": 1 / len(square) if shared else np.nan,
                }
            )
    return pd.DataFrame(rows)


def facets(fitted: Fitted, examples: Iterable) -> pd.DataFrame:
    """The two ways to measure influence on a hidden state, one row per state: instance, length, position, the
    entropies `of_norm` and `of_facets`, their rank correlation `tau` over inputs, the total variation `distance`.
    """
    examples = fitted.examples(examples)
    of_norm = norm_jacobian(fitted, examples)
    rows = []
    with bar("influence on every component of h", total=len(examples), unit="text") as line:
        for k, (example, norms) in enumerate(zip(examples, of_norm, strict=True)):
            for p, (a, b) in enumerate(zip(norms, full_jacobian(fitted, example), strict=True)):
                rows.append(
                    {
                        "instance": example.id or str(k),
                        "length": len(a),
                        "position": p,
                        "of_norm": dispersion(a),
                        "of_facets": dispersion(b),
                        "tau": stats.kendall_tau(a, b),
                        "distance": float(stats.tvd(a, b)),
                    }
                )
            line.update(1)
    return pd.DataFrame(rows)


def full_jacobian(fitted: Fitted, example: object) -> np.ndarray:
    r"""(n, n): :math:`\|\partial h_p / \partial X_i\|_F`, rows p normalised to sum to one.

    The text is repeated once per component of h, so that one backward pass gives all components of one state.
    A state that no input moves keeps its zeros.
    """
    model, vectoriser = fitted.model, fitted.vectoriser
    batch = vectoriser.batch(vectoriser.encode(fitted.examples(example))).to(fitted.device)
    content = batch.content[0]
    with fitted.evaluating(grad=True):
        embedded = model.embed(batch).detach()
        width = model.reader.encode(embedded, batch.mask).shape[-1]
        leaf = embedded.expand(width, -1, -1).clone().requires_grad_()
        hidden = model.reader.encode(leaf, batch.mask.expand(width, -1))
        rows = []
        for p in content.nonzero().squeeze(1).tolist():
            facet = hidden[:, p].diagonal().sum()
            gradient = torch.autograd.grad(facet, leaf, retain_graph=True)[0]
            rows.append(gradient.square().sum((0, 2)).sqrt())
    square = torch.stack(rows)[:, content].double().cpu().numpy()
    total = square.sum(1, keepdims=True)
    return square / np.where(total > 0, total, 1.0)
