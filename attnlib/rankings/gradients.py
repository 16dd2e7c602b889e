r"""Attention weights; gradients with respect to them, to inputs, to hidden states; `quirks` of released code.

With a linear decoder and the predicted class k, where alpha is a free variable (Serrano & Smith 2019, section 5;
Chrysostomou & Aletras 2021, section 4):

.. math:: \frac{\partial z_k}{\partial \alpha_i} = s_i v_{ik}, \qquad
          \frac{\partial p_k}{\partial \alpha_i} = p_k \, s_i \Big(v_{ik} - \sum_c p_c v_{ic}\Big)

A decoder that joins a query is differentiated at the context alone: :math:`s_i h_i^\top \partial / \partial c`.

In a hierarchical model, word w has a weight a_w in its sentence, and the sentence a weight a_s in the text: alpha
is a_w a_s; grad_alpha dz / da_w, back through the whole sentence level; alpha_grad a_w dz / da_w.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from attnlib.data.batching import Batch
from attnlib.engine.explainable import Answers
from attnlib.models.bert import Bert
from attnlib.models.hierarchical import unstacked
from attnlib.models.trace import Trace
from attnlib.rankings.base import Case, method, normalised, pieces
from attnlib.utils.errors import ConfigError


@method(models="both")
def random(case: Case) -> Tensor:
    """uniform noise: the floor of every comparison"""
    scores = torch.zeros(case.units.shape, dtype=torch.float64)
    for i, (row, n) in enumerate(zip(case.batch.rows.tolist(), case.units.sum(1).tolist(), strict=True)):
        # One generator per text: what a text gets does not depend on its neighbours or the batch size.
        scores[i, case.units[i].cpu()] = torch.from_numpy(np.random.default_rng([case.seed, row]).random(n))
    return scores.to(case.units.device)


@method(models="both")
def alpha(case: Case) -> Tensor:
    """attention weights; for the words of a HAN, word times sentence; for Hugging Face, cls_last"""
    return case.trace.alpha if case.flat else case.trace.token_alpha


@method(target="logit", quirks=("tasc_grad_after_ig",))
def grad_alpha(case: Case) -> Tensor:
    """gradient of the predicted class with respect to each attention weight, signed"""
    if not case.flat:
        return _word_gradient(case)
    if "tasc_grad_after_ig" in case.quirks:
        return alpha_gradient(shrunk_trace(case, 0.95), case)
    return alpha_gradient(case.trace, case)


@method(target="logit", quirks=("tasc_grad_after_ig",))
def alpha_grad(case: Case) -> Tensor:
    """attention weight times its gradient, signed"""
    if case.flat:
        return case.trace.alpha * grad_alpha(case)
    # The gradient holds the weight of the sentence: the weight of the word within it is what is left to multiply.
    return unstacked(case.trace.words.alpha, case.trace.positions) * grad_alpha(case)


def alpha_gradient(trace: Trace, case: Case) -> Tensor:
    """(B, T) gradient of the explained number with respect to alpha, in closed form."""
    if trace.linear:
        logits = trace.token_logits
        index = case.trace.prediction.reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
        gradient = logits.gather(-1, index).squeeze(-1)
        if case.target == "probability":
            p = trace.probabilities
            mean = (logits @ p.unsqueeze(-1)).squeeze(-1)
            gradient = case.explained(trace.logits).unsqueeze(1) * (gradient - mean)
    else:
        with torch.enable_grad():
            context = trace.context.detach().requires_grad_()
            value = case.explained(trace.decode(context)).sum()
        gradient = (trace.hidden @ torch.autograd.grad(value, context)[0].unsqueeze(-1)).squeeze(-1)
    return gradient if trace.scale is None else gradient * trace.scale


def shrunk_trace(case: Case, t: float, leaf: Tensor | None = None) -> Trace:
    """The trace of texts whose embeddings the encoder reads t times as large, and TaSc's scaling unchanged."""
    if case.trace.words is not None or isinstance(case.model.encoder, Bert):
        raise ConfigError(f"quirks {sorted(case.quirks)} follow TaSc's flat word models; this is another.")
    embedded = case.trace.embedded if leaf is None else leaf
    batch, reader = case.batch, case.model.reader
    query = case.model.query_vector(batch)
    reading = reader.attend(batch.ids, embedded, reader.encode(t * embedded, batch.mask), batch.content, query)
    return replace(case.trace, **reading._asdict(), **case.model.decoded(reading.context, query))


def _word_gradient(case: Case) -> Tensor:
    """A sentence vector is a sum of alpha_i s_i h_i: its own gradient, times s_i h_i, is that of alpha_i."""
    out = torch.zeros(case.units.shape, dtype=case.trace.alpha.dtype, device=case.units.device)
    for piece in pieces(*case.units.shape):
        batch = case.batch.select(torch.arange(len(case.batch), device=case.units.device)[piece])
        with case.fitted.evaluating(grad=True):
            trace = case.model(batch)
            value = case.explained(trace.logits, piece).sum()
            upper = torch.autograd.grad(value, trace.words.context)[0]
        gradient = (trace.words.hidden @ upper.unsqueeze(-1)).squeeze(-1)
        if trace.words.scale is not None:
            gradient = gradient * trace.words.scale
        out[piece] = unstacked(gradient.detach(), trace.positions)
    return out


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
    scores, change, gap = path_integral(case, steps)
    missed = 0 if tolerance is None else (gap > tolerance * change.abs().clamp_min(0.1)).sum().item()
    if missed:
        warnings.warn(
            f"Integrated gradients of {missed} of {len(gap)} texts miss F(x) - F(0) by more than "
            f"{tolerance:.0%} (worst gap {gap.max():.3g}) with {steps} steps. Use more steps.",
            stacklevel=2,
        )
    return scores


@torch.no_grad()
def path_integral(case: Case, steps: int) -> tuple[Tensor, Tensor, Tensor]:
    """Integrated gradients (B, T), F(x) - F(0) (B,), and how far their sums are from it (B,)."""
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
    return scores, change, gap


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
