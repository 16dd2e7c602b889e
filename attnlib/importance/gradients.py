"""Gradients with respect to inputs and hidden states."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from attnlib.importance.base import Job, method, normalised, pieces
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError, unknown

BOTH = ("input", "hidden")


class Unfinished(UserWarning):
    """Integrated gradients whose sum misses F(x) - F(0) by more than the tolerance."""


@method(
    "gradient_norm",
    levels=BOTH,
    summary="norm of the gradient at each input (or hidden state), sums to one (Meister et al. 2021, eq. 4)",
    needs="gradient",
    target="probability",
)
def gradient_norm(job: Job, attention: str = "live") -> Tensor:
    r""":math:`g_{\hat y}(x_i) = \|\partial f / \partial X_i\|_2 / \sum_k \|\partial f / \partial X_k\|_2`.

    attention  `live`: the total derivative, through the weights too; `detached`: weights held, as Jain & Wallace do
    """
    return normalised(gradients(job, attention)[0].norm(dim=-1), job.units)


@method(
    "input_x_grad",
    levels=("input",),
    summary="embedding times gradient, summed over its dimensions, signed",
    needs="gradient",
    target="logit",
)
def input_x_grad(job: Job, attention: str = "live", absolute: bool = False) -> Tensor:
    """sum_d e_d df/de_d; `absolute` takes its magnitude and divides by the sum (Jain & Wallace)."""
    gradient, embedded = gradients(job, attention)
    scores = (gradient * embedded).sum(-1)
    return normalised(scores.abs(), job.units) if absolute else scores


@method(
    "integrated_gradients",
    levels=("input",),
    summary="integrated gradients from the zero embedding, by the midpoint rule (Sundararajan et al. 2017)",
    needs="gradient",
    target="logit",
    quirks=("tasc_ig",),
)
def integrated_gradients(job: Job, steps: int = 50, tolerance: float = 0.05, on_gap: str = "warn") -> Tensor:
    r""":math:`IG_i = \sum_d e_{id} \int_0^1 \partial_{id} F(t e)\,dt`, content embeddings on the path, others held.

    The attributions of a text must sum to F(x) - F(0). Where they miss it by more than `tolerance` of it (and of
    0.1), `on_gap` warns, raises or ignores. `completeness` returns the gaps themselves.
    """
    if on_gap not in ("warn", "raise", "ignore"):
        raise ConfigError(unknown("on_gap", on_gap, ("warn", "raise", "ignore")))
    if "tasc_ig" in job.quirks:
        return _authors_path(job)
    found = path_integral(job, steps)
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


class Path(NamedTuple):
    """scores (B, T); change (B,): F(x) - F(0); gap (B,): |sum of scores - change|."""

    scores: Tensor
    change: Tensor
    gap: Tensor


@torch.no_grad()
def path_integral(job: Job, steps: int) -> Path:
    """Integrated gradients with all steps of a text stacked in the batch."""
    if steps < 1:
        raise ConfigError(f"integrated_gradients needs one step at least; got steps={steps}.")
    embedded = job.model.embed(job.batch).detach()
    start = embedded.masked_fill(job.batch.content.unsqueeze(-1), 0.0)
    span = embedded - start
    scores = torch.zeros(job.units.shape, dtype=embedded.dtype, device=embedded.device)
    at = (torch.arange(steps, device=embedded.device, dtype=embedded.dtype) + 0.5) / steps
    for text in range(len(embedded)):
        mean = torch.zeros_like(embedded[text])
        for piece in pieces(steps, embedded.shape[1]):
            points = start[text] + at[piece].reshape(-1, 1, 1) * span[text]
            texts = torch.full((len(points),), text, device=embedded.device)
            mean += _gradient(job, job.batch.select(texts), points, texts)[0].sum(0) / steps
        scores[text] = (mean * span[text]).sum(-1)
    before = job.explained(job.model(job.batch, embedded=start).logits)
    change = job.explained(job.trace.logits) - before
    gap = (scores.masked_fill(~job.units, 0.0).sum(1) - change).abs()
    return Path(scores, change, gap)


def gradients(job: Job, attention: str = "live") -> tuple[Tensor, Tensor]:
    """Gradient of the explained number at every input or hidden state (B, T, ·), and what it was taken at."""
    if attention not in ("live", "detached"):
        raise ConfigError(unknown("attention", attention, ("live", "detached")))
    embedded = job.model.embed(job.batch).detach()
    index = torch.arange(len(embedded), device=embedded.device)
    parts = []
    for piece in pieces(*embedded.shape[:2]):
        batch = job.batch.select(index[piece])
        parts.append(_gradient(job, batch, embedded[piece], index[piece], attention))
    gradient, point = (torch.cat(side) for side in zip(*parts, strict=True))
    return gradient, point


def _gradient(job, batch, embedded, texts, attention="live") -> tuple[Tensor, Tensor]:
    with job.fitted.evaluating(grad=True):
        leaf = embedded.detach().requires_grad_()
        trace = job.model(batch, embedded=leaf)
        logits = trace.logits
        if attention == "detached":
            logits = _held(trace)
        node = leaf if job.level == "input" else trace.hidden
        gradient = torch.autograd.grad(job.explained(logits, texts).sum(), node)[0]
    return gradient, node.detach()


def _held(trace: Trace) -> Tensor:
    """Logits with attention weights as constants."""
    if trace.words is not None:
        raise ConfigError("attention='detached' needs one attention layer; a hierarchical model has two.")
    weights = trace.alpha.detach() if trace.scale is None else trace.alpha.detach() * trace.scale
    return trace.decode((weights.unsqueeze(-2) @ trace.hidden).squeeze(-2))


def shrunk_trace(job: Job, t: float, leaf: Tensor | None = None) -> Trace:
    """The trace of texts whose embeddings the encoder reads t times as large, and TaSc's scaling unchanged."""
    if job.trace.words is not None or job.model.config.encoder == "bert":
        raise ConfigError(
            f"quirks {sorted(job.quirks)} follow TaSc's word models; they have no hierarchical or bert."
        )
    embedded = job.trace.embedded if leaf is None else leaf
    batch, reader = job.batch, job.model.reader
    query = job.model.query_vector(batch)
    reading = reader.attend(batch.ids, embedded, reader.encode(t * embedded, batch.mask), batch.content, query)
    return replace(job.trace, **reading._asdict(), **job.model.decoded(reading.context, query))


def _authors_path(job: Job) -> Tensor:
    """As the authors run it: the gradient is taken before scaling, so each of the 21 points carries a factor t."""
    points = [k / 20 for k in range(20)] + [1.0]
    total = torch.zeros_like(job.trace.embedded)
    for t in points:
        with job.fitted.evaluating(grad=True):
            leaf = job.trace.embedded.detach().requires_grad_()
            value = job.explained(shrunk_trace(job, t, leaf).logits).sum()
            total += torch.autograd.grad(value, leaf)[0] / len(points)
    return (total * job.trace.embedded).sum(-1)
