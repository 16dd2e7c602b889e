"""Gradients with respect to inputs and hidden states; for `quirks`, what released code computes in their place."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnlib.rankings.attention import shrunk_trace
from attnlib.rankings.base import Case, method, normalised, pieces
from attnlib.utils.errors import ConfigError

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.engine.explainable import Answers


class Unfinished(UserWarning):
    """Integrated gradients whose sum misses F(x) - F(0) by more than the tolerance."""


@method(
    summary="norm of the gradient at each input (or hidden state), sums to one (Meister et al. 2021, eq. 4)",
    needs="gradient",
    models="pieces",
    target="probability",
    graph=True,
)
def gradient_norm(case: Case) -> Tensor:
    r""":math:`g_{\hat y}(x_i) = \|\partial f / \partial X_i\|_2 / \sum_k \|\partial f / \partial X_k\|_2`."""
    return normalised(gradients(case)[0].norm(dim=-1), case.units)


@method(
    levels=("input",),
    summary="embedding times gradient, summed over its dimensions, signed",
    needs="gradient",
    models="pieces",
    target="logit",
    graph=True,
)
def input_x_grad(case: Case) -> Tensor:
    """sum_d e_d df/de_d"""
    gradient, embedded = gradients(case)
    return (gradient * embedded).sum(-1)


@method(
    levels=("input",),
    summary="integrated gradients from the zero embedding, by the midpoint rule (Sundararajan et al. 2017)",
    needs="gradient",
    models="pieces",
    target="logit",
    quirks=("tasc_ig",),
)
def integrated_gradients(case: Case, steps: int = 50, tolerance: float | None = 0.05) -> Tensor:
    r""":math:`IG_i = \sum_d e_{id} \int_0^1 \partial_{id} F(t e)\,dt`, content embeddings on the path, others held.

    The attributions of a text must sum to F(x) - F(0). A warning counts those that miss it by more than `tolerance`
    of it (and of 0.1); None: no warning.
    """
    if "tasc_ig" in case.quirks:
        return authors_path(case)
    found = path_integral(case, steps)
    missed = 0 if tolerance is None else (found.gap > tolerance * found.change.abs().clamp_min(0.1)).sum().item()
    if missed:
        warnings.warn(
            f"Integrated gradients of {missed} of {len(found.gap)} texts miss F(x) - F(0) by more than "
            f"{tolerance:.0%} (worst gap {found.gap.max():.3g}) with {steps} steps. Use more steps.",
            Unfinished,
            stacklevel=2,
        )
    return found.scores


class Integral(NamedTuple):
    """scores (B, T); change (B,): F(x) - F(0); gap (B,): |sum of scores - change|."""

    scores: Tensor
    change: Tensor
    gap: Tensor


@torch.no_grad()
def path_integral(case: Case, steps: int) -> Integral:
    """Integrated gradients with the steps of many texts stacked in the batch."""
    if steps < 1:
        raise ConfigError(f"integrated_gradients needs one step at least; got steps={steps}.")
    embedded = case.model.embed(case.batch).detach()
    start = embedded.masked_fill(case.batch.content.unsqueeze(-1), 0.0)
    span = embedded - start
    total = torch.zeros_like(embedded)
    row = torch.arange(len(embedded) * steps, device=embedded.device)
    texts, share = row // steps, ((row % steps).to(embedded.dtype) + 0.5).div_(steps).reshape(-1, 1, 1)
    for piece in pieces(len(row), embedded.shape[1], case.at_once):
        some = texts[piece]
        batch = case.cut(some)
        length = batch.ids.shape[1]
        points = torch.addcmul(start[some, :length], share[piece], span[some, :length])
        total[:, :length].index_add_(0, some, _gradient(case, batch, points, some)[0])
    scores = (total * span).sum(-1) / steps
    before = case.explained(case.model(case.batch, embedded=start).logits)
    change = case.explained(case.trace.logits) - before
    gap = (scores.masked_fill(~case.units, 0.0).sum(1) - change).abs()
    return Integral(scores, change, gap)


def gradients(case: Case) -> tuple[Tensor, Tensor]:
    """Gradient of the explained number at every input or hidden state (B, T, ·), and what it was taken at."""
    if case.trace.logits.requires_grad:
        return _backward(case, case.trace, case.trace.embedded, slice(None))
    embedded = case.model.embed(case.batch).detach()
    index = torch.arange(len(embedded), device=embedded.device)
    parts = []
    for piece in pieces(*embedded.shape[:2], case.at_once):
        parts.append(_gradient(case, case.batch.select(index[piece]), embedded[piece], index[piece]))
    gradient, point = (torch.cat(side) for side in zip(*parts, strict=True))
    return gradient, point


def _gradient(case: Case, batch: Batch, embedded: Tensor, texts: Tensor) -> tuple[Tensor, Tensor]:
    with case.fitted.evaluating(grad=True):
        leaf = embedded.detach().requires_grad_()
        return _backward(case, case.model(batch, embedded=leaf), leaf, texts)


def _backward(case: Case, trace: Answers, leaf: Tensor, texts: Tensor | slice) -> tuple[Tensor, Tensor]:
    with torch.enable_grad():
        node = leaf if case.level == "input" else trace.hidden
        return torch.autograd.grad(case.explained(trace.logits, texts).sum(), node)[0], node.detach()


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
