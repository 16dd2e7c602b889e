"""What the released code of Chrysostomou & Aletras 2021 computes instead of the gradients it names.

For the quirks `tasc_ig` and `tasc_grad_after_ig`, see `attnlib.quirks`.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from attnlib.importance.base import Case
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError


def shrunk_trace(case: Case, t: float, leaf: Tensor | None = None) -> Trace:
    """The trace of texts whose embeddings the encoder reads t times as large, and TaSc's scaling unchanged."""
    if case.trace.words is not None or case.model.config.encoder == "bert":
        raise ConfigError(
            f"quirks {sorted(case.quirks)} follow TaSc's word models; they have no hierarchical or bert."
        )
    embedded = case.trace.embedded if leaf is None else leaf
    batch, reader = case.batch, case.model.reader
    query = case.model.query_vector(batch)
    reading = reader.attend(batch.ids, embedded, reader.encode(t * embedded, batch.mask), batch.content, query)
    return replace(case.trace, **reading._asdict(), **case.model.decoded(reading.context, query))


def authors_path(case: Case) -> Tensor:
    """As the authors run it: the gradient is taken before scaling, so each of the 21 points carries a factor t."""
    points = [k / 20 for k in range(20)] + [1.0]
    total = torch.zeros_like(case.trace.embedded)
    for t in points:
        with case.fitted.evaluating(grad=True):
            leaf = case.trace.embedded.detach().requires_grad_()
            value = case.explained(shrunk_trace(case, t, leaf).logits).sum()
            total += torch.autograd.grad(value, leaf)[0] / len(points)
    return (total * case.trace.embedded).sum(-1)
