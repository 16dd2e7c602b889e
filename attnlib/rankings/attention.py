r"""Attention weights and their gradients, in closed form on one forward pass.

With a linear decoder and the predicted class k, where alpha is a free variable (Serrano & Smith 2019, section 5;
Chrysostomou & Aletras 2021, section 4):

.. math:: \frac{\partial z_k}{\partial \alpha_i} = s_i v_{ik}, \qquad
          \frac{\partial p_k}{\partial \alpha_i} = p_k \, s_i \Big(v_{ik} - \sum_c p_c v_{ic}\Big)

A decoder that joins a query is differentiated at the context alone: :math:`s_i h_i^\top \partial / \partial c`.

In a hierarchical model, word w has a weight a_w in its sentence, and the sentence a weight a_s in the text: alpha
is a_w a_s; grad_alpha dz / da_w, back through the whole sentence level; alpha_grad a_w dz / da_w.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from attnlib.models.bert import Bert
from attnlib.models.hierarchical import unstacked
from attnlib.models.trace import Trace
from attnlib.rankings.base import Case, method, pieces
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
