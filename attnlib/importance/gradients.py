"""Gradients with respect to inputs and hidden states."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from attnlib.importance.base import LEVELS, Case, method, normalised, pieces
from attnlib.importance.tasc import authors_path
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError, one_of


class Unfinished(UserWarning):
    """Integrated gradients whose sum misses F(x) - F(0) by more than the tolerance."""


@method(
    "gradient_norm",
    levels=LEVELS,
    summary="norm of the gradient at each input (or hidden state), sums to one (Meister et al. 2021, eq. 4)",
    needs="gradient",
    models="pieces",
    target="probability",
)
def gradient_norm(case: Case, attention: str = "live") -> Tensor:
    r""":math:`g_{\hat y}(x_i) = \|\partial f / \partial X_i\|_2 / \sum_k \|\partial f / \partial X_k\|_2`.

    attention  `live`: the total derivative, through the weights too; `detached`: weights held, as Jain & Wallace do
    """
    return normalised(gradients(case, attention)[0].norm(dim=-1), case.units)


@method(
    "input_x_grad",
    levels=("input",),
    summary="embedding times gradient, summed over its dimensions, signed",
    needs="gradient",
    models="pieces",
    target="logit",
)
def input_x_grad(case: Case, attention: str = "live", absolute: bool = False) -> Tensor:
    """sum_d e_d df/de_d; `absolute` takes its magnitude and divides by the sum (Jain & Wallace)."""
    gradient, embedded = gradients(case, attention)
    scores = (gradient * embedded).sum(-1)
    return normalised(scores.abs(), case.units) if absolute else scores


@method(
    "integrated_gradients",
    levels=("input",),
    summary="integrated gradients from the zero embedding, by the midpoint rule (Sundararajan et al. 2017)",
    needs="gradient",
    models="pieces",
    target="logit",
    quirks=("tasc_ig",),
)
def integrated_gradients(case: Case, steps: int = 50, tolerance: float = 0.05, on_gap: str = "warn") -> Tensor:
    r""":math:`IG_i = \sum_d e_{id} \int_0^1 \partial_{id} F(t e)\,dt`, content embeddings on the path, others held.

    The attributions of a text must sum to F(x) - F(0). Where they miss it by more than `tolerance` of it (and of
    0.1), `on_gap` warns, raises or ignores. `path_integral` returns the gaps themselves.
    """
    one_of("on_gap", on_gap, ("warn", "raise", "ignore"))
    if "tasc_ig" in case.quirks:
        return authors_path(case)
    found = path_integral(case, steps)
    missed = (found.gap > tolerance * found.change.abs().clamp_min(0.1)).sum().item()
    if missed and on_gap != "ignore":
        said = (
            f"Integrated gradients of {missed} of {len(found.gap)} texts miss F(x) - F(0) by more than "
            f"{tolerance:.0%} (worst gap {found.gap.max():.3g}) with {steps} steps. Use more steps."
        )
        if on_gap == "raise":
            raise ConfigError(said)
        warnings.warn(said, Unfinished, stacklevel=2)
    return found.scores


class Integral(NamedTuple):
    """scores (B, T); change (B,): F(x) - F(0); gap (B,): |sum of scores - change|."""

    scores: Tensor
    change: Tensor
    gap: Tensor


@torch.no_grad()
def path_integral(case: Case, steps: int) -> Integral:
    """Integrated gradients with all steps of a text stacked in the batch."""
    if steps < 1:
        raise ConfigError(f"integrated_gradients needs one step at least; got steps={steps}.")
    embedded = case.model.embed(case.batch).detach()
    start = embedded.masked_fill(case.batch.content.unsqueeze(-1), 0.0)
    span = embedded - start
    scores = torch.zeros(case.units.shape, dtype=embedded.dtype, device=embedded.device)
    at = (torch.arange(steps, device=embedded.device, dtype=embedded.dtype) + 0.5) / steps
    for text in range(len(embedded)):
        mean = torch.zeros_like(embedded[text])
        for piece in pieces(steps, embedded.shape[1], case.at_once):
            points = start[text] + at[piece].reshape(-1, 1, 1) * span[text]
            texts = torch.full((len(points),), text, device=embedded.device)
            mean += _gradient(case, case.batch.select(texts), points, texts)[0].sum(0) / steps
        scores[text] = (mean * span[text]).sum(-1)
    before = case.explained(case.model(case.batch, embedded=start).logits)
    change = case.explained(case.trace.logits) - before
    gap = (scores.masked_fill(~case.units, 0.0).sum(1) - change).abs()
    return Integral(scores, change, gap)


def gradients(case: Case, attention: str = "live") -> tuple[Tensor, Tensor]:
    """Gradient of the explained number at every input or hidden state (B, T, ·), and what it was taken at."""
    one_of("attention", attention, ("live", "detached"))
    embedded = case.model.embed(case.batch).detach()
    index = torch.arange(len(embedded), device=embedded.device)
    parts = []
    for piece in pieces(*embedded.shape[:2], case.at_once):
        batch = case.batch.select(index[piece])
        parts.append(_gradient(case, batch, embedded[piece], index[piece], attention))
    gradient, point = (torch.cat(side) for side in zip(*parts, strict=True))
    return gradient, point


def _gradient(case, batch, embedded, texts, attention="live") -> tuple[Tensor, Tensor]:
    with case.fitted.evaluating(grad=True):
        leaf = embedded.detach().requires_grad_()
        trace = case.model(batch, embedded=leaf)
        logits = trace.logits
        if attention == "detached":
            logits = _held(trace)
        node = leaf if case.level == "input" else trace.hidden
        gradient = torch.autograd.grad(case.explained(logits, texts).sum(), node)[0]
    return gradient, node.detach()


def _held(trace: Trace) -> Tensor:
    """Logits with attention weights as constants."""
    if trace.words is not None:
        raise ConfigError("attention='detached' needs one attention layer; a hierarchical model has two.")
    weights = replace(trace, alpha=trace.alpha.detach()).weights
    return trace.decode((weights.unsqueeze(-2) @ trace.hidden).squeeze(-2))
