"""What a text says without one of its words."""

from __future__ import annotations

from torch import Tensor

from attnlib.engine import attention
from attnlib.engine.select import input_eraser
from attnlib.methods.base import Job, method, normalised

BOTH = ("input", "hidden")


@method(
    "omission",
    levels=BOTH,
    summary="word omission: p(ŷ | x) - p(ŷ | x without x_i), signed (Chrysostomou & Aletras 2021)",
    needs="variants",
    target="probability",
)
def omission(job: Job, operator: str = "pad") -> Tensor:
    """operator: how a word is removed at the input level, see `attnlib.engine.operators`."""
    return _drop(job, operator)


@method(
    "leave_one_out",
    levels=BOTH,
    summary="|ŷ - ŷ without x_i|, sums to one (Meister et al. 2021; Jain & Wallace 2019)",
    needs="variants",
    target="probability",
)
def leave_one_out(job: Job, operator: str = "delete") -> Tensor:
    r""":math:`D_{\hat y}(x_i) = |\hat y - \hat y_{-i}| / \sum_k |\hat y - \hat y_{-k}|`. Deleted, as J&W do."""
    return normalised(_drop(job, operator).abs(), job.units)


def _drop(job: Job, operator: str) -> Tensor:
    """(B, T): the explained number of the text minus that of the text without each unit."""
    whole = job.explained(job.trace.logits.double()).unsqueeze(1)
    if job.level == "hidden":
        # A sparse projection moves its threshold when a position goes; renormalising would not.
        logits = attention.single_logits(job.trace, reproject=True)
    else:
        logits = input_eraser(job.fitted, job.batch, job.trace, operator).singles()
    return whole - job.explained(logits)
