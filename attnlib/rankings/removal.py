"""How a prediction changes without one of its words."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.engine import attention
from attnlib.engine.explainable import ATTENTION
from attnlib.engine.select import input_eraser
from attnlib.models.trace import Trace
from attnlib.rankings.base import Case, method, normalised
from attnlib.utils.errors import ConfigError

ROUNDINGS = 8
"""Units in the last place of a logit that two ways of computing it may differ by."""


@method(needs="variants", models="both", target="probability")
def omission(case: Case, operator: str | None = None) -> Tensor:
    """word omission: p(ŷ | x) - p(ŷ | x without x_i), signed (Chrysostomou & Aletras 2021)

    operator: how a word is removed at the input level, `pad` by default; see `attnlib.engine.operators`.
    """
    return _drop(case, operator, "pad")


@method(needs="variants", models="both", target="probability")
def leave_one_out(case: Case, operator: str | None = None) -> Tensor:
    r"""|ŷ - ŷ without x_i|, sums to one (Meister et al. 2021; Jain & Wallace 2019)

    :math:`D_{\hat y}(x_i) = |\hat y - \hat y_{-i}| / \sum_k |\hat y - \hat y_{-k}|`. Deleted, as J&W do.
    """
    return normalised(_drop(case, operator, "delete").abs(), case.units)


def _drop(case: Case, operator: str | None, default: str) -> Tensor:
    """(B, T): the explained number of the text minus that of the text without each unit; zero where rounding."""
    whole = case.explained(case.trace.logits.double()).unsqueeze(1)
    if case.level == "hidden":
        if operator is not None:
            raise ConfigError(
                f"operator={operator!r} says how words leave the input; at level 'hidden' the text stays, and "
                "states lose their weight. Leave operator out, or use level='input'."
            )
        operator = ATTENTION
    if operator == ATTENTION and isinstance(case.trace, Trace):
        logits = attention.single_logits(case.trace, reproject=_again(case.trace))
    else:
        logits = input_eraser(case.fitted, case.batch, case.trace, operator or default).singles()
    drop = whole - case.explained(logits)
    return drop.masked_fill(drop.abs() <= _rounding(case, whole), 0.0)


def _again(trace: Trace) -> bool:
    """Whether to project what remains: a sparse projection moves its threshold when a position goes.

    Renormalising does the same for a softmax, and is all there is for weights with noise that was drawn once.
    """
    known = trace.project(trace.scores, trace.mask)
    return not trace.exponential and torch.allclose(known, trace.alpha, atol=1e-5)


def _rounding(case: Case, whole: Tensor) -> Tensor:
    """(B, 1): changes up to this are rounding of the model's logits, or of their softmax in float64."""
    logits = case.trace.logits
    size = logits.abs().amax(1, keepdim=True).double().clamp_min(1.0)
    noise = ROUNDINGS * torch.finfo(logits.dtype).eps * size
    if case.target == "probability":
        # dp / dz is p (1 - p): a confident model resolves far smaller changes than its logits have digits.
        noise = noise * whole * (1 - whole) + 4 * torch.finfo(torch.float64).eps
    return noise
