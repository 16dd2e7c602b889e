"""Toy models small enough to work out by hand: a Trace written down, and a Fitted that returns it."""

from __future__ import annotations

from types import SimpleNamespace

import torch

from attnlib.data import Example
from attnlib.data.batching import Batch
from attnlib.models.projections import PROJECTIONS
from attnlib.models.trace import Trace


def trace(alpha, values, bias=(0.0, 0.0), *, scale=None, scores=None, projection="softmax") -> Trace:
    """Attention weights (B, T), zero where padded or NaN for padding; token logits (B, T, C) as hidden states."""
    alpha = torch.as_tensor(alpha, dtype=torch.float64)
    mask = ~alpha.isnan()
    exponential = scores is not None and projection == "softmax"
    alpha = alpha.nan_to_num(0.0)
    hidden = torch.as_tensor(values, dtype=torch.float64)
    bias = torch.as_tensor(bias, dtype=torch.float64)
    weight = torch.eye(hidden.shape[-1], dtype=torch.float64)
    scale = None if scale is None else torch.as_tensor(scale, dtype=torch.float64)
    weights = alpha if scale is None else alpha * scale
    context = (weights.unsqueeze(-1) * hidden).sum(1)
    scores = alpha.clamp_min(1e-30).log() if scores is None else torch.as_tensor(scores, dtype=torch.float64)
    return Trace(
        mask=mask,
        embedded=hidden,
        hidden=hidden,
        scores=scores,
        alpha=alpha,
        scale=scale,
        context=context,
        logits=context + bias,
        decode=lambda c: c + bias,
        project=PROJECTIONS[projection],
        weight=weight,
        bias=bias,
        exponential=exponential,
    )


class Toy:
    """As much of a Fitted as erasure at the attention level asks for."""

    def __init__(self, found: Trace, classes=("no", "yes")) -> None:
        self.found = found
        self.classes = classes
        self.model_config = SimpleNamespace(hierarchical=False)
        self.model = SimpleNamespace(config=SimpleNamespace(projection="softmax"))

    def examples(self, examples):
        return list(examples)

    def texts(self):
        return [Example(("w",) * int(n), 0, id=f"t{i}") for i, n in enumerate(self.found.lengths)]

    def traces(self, examples, batch_size=256):
        mask = self.found.mask
        ids = torch.ones(mask.shape, dtype=torch.long)
        rows = torch.arange(len(mask))
        yield Batch(ids=ids, mask=mask, content=mask, words=ids, rows=rows), self.found
