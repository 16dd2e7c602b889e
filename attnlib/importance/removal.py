"""What a text says without one of its words."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.engine import attention
from attnlib.engine.select import input_eraser
from attnlib.importance.base import Job, method, normalised
from attnlib.models.projections import EXPONENTIAL
from attnlib.utils.errors import ConfigError

BOTH = ("input", "hidden")
ROUNDINGS = 8
"""Units in the last place of a logit that two ways of computing it may differ by."""


@method(
    "omission",
    levels=BOTH,
    summary="word omission: p(ŷ | x) - p(ŷ | x without x_i), signed (Chrysostomou & Aletras 2021)",
    needs="variants",
    target="probability",
)
def omission(job: Job, operator: str | None = None) -> Tensor:
    """operator: how a word is removed at the input level, `pad` by default; see `attnlib.engine.operators`."""
    return _drop(job, operator, "pad")


@method(
    "leave_one_out",
    levels=BOTH,
    summary="|ŷ - ŷ without x_i|, sums to one (Meister et al. 2021; Jain & Wallace 2019)",
    needs="variants",
    target="probability",
)
def leave_one_out(job: Job, operator: str | None = None) -> Tensor:
    r""":math:`D_{\hat y}(x_i) = |\hat y - \hat y_{-i}| / \sum_k |\hat y - \hat y_{-k}|`. Deleted, as J&W do."""
    return normalised(_drop(job, operator, "delete").abs(), job.units)


def _drop(job: Job, operator: str | None, default: str) -> Tensor:
    """(B, T): the explained number of the text minus that of the text without each unit; zero where rounding."""
    whole = job.explained(job.trace.logits.double()).unsqueeze(1)
    if job.level == "hidden":
        if operator is not None:
            raise ConfigError(
                f"operator={operator!r} says how words leave the input; at level 'hidden' the text stays, and "
                "states lose their weight. Leave operator out, or use level='input'."
            )
        # A sparse projection moves its threshold when a position goes; renormalising would not.
        logits = attention.single_logits(job.trace, reproject=job.model.config.projection not in EXPONENTIAL)
    else:
        logits = input_eraser(job.fitted, job.batch, job.trace, operator or default).singles()
    drop = whole - job.explained(logits)
    return drop.masked_fill(drop.abs() <= _rounding(job, whole), 0.0)


def _rounding(job: Job, whole: Tensor) -> Tensor:
    """(B, 1): changes up to this are rounding of the model's logits, or of their softmax in float64."""
    logits = job.trace.logits
    size = logits.abs().amax(1, keepdim=True).double().clamp_min(1.0)
    noise = ROUNDINGS * torch.finfo(logits.dtype).eps * size
    if job.target == "probability":
        # dp / dz is p (1 - p): a confident model resolves far smaller changes than its logits have digits.
        noise = noise * whole * (1 - whole) + 4 * torch.finfo(torch.float64).eps
    return noise
