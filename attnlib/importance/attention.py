r"""Attention weights and their gradients, in closed form on one forward pass.

With a linear decoder and the predicted class k, where alpha is a free variable (Serrano & Smith 2019, section 5;
Chrysostomou & Aletras 2021, section 4):

.. math:: \frac{\partial z_k}{\partial \alpha_i} = s_i v_{ik}, \qquad
          \frac{\partial p_k}{\partial \alpha_i} = p_k \, s_i \Big(v_{ik} - \sum_c p_c v_{ic}\Big)

A decoder that joins a query is differentiated at the context alone: :math:`s_i h_i^\top \partial / \partial c`.

In a hierarchical model, word w of sentence s has a weight a_w in its sentence, and the sentence a weight a_s in the
text. For its words

alpha       a_w a_s: the share of the text's attention, which sums to one over the text
grad_alpha  dz / da_w, back through the whole sentence level, so that a_s is in it already
alpha_grad  a_w dz / da_w; over the words of a sentence these sum to c_s · dz / dc_s, with c_s its vector
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from attnlib.importance.base import Job, method, pieces
from attnlib.models.hierarchical import unstacked
from attnlib.models.trace import Trace

BOTH = ("input", "hidden")


@method("random", levels=BOTH, summary="uniform noise: the floor of every comparison", needs="trace")
def random(job: Job) -> Tensor:
    scores = torch.zeros(job.units.shape, dtype=torch.float64)
    for i, (row, n) in enumerate(zip(job.batch.rows.tolist(), job.units.sum(1).tolist(), strict=True)):
        # A generator a text: what a text gets does not depend on its neighbours or the batch size.
        scores[i, job.units[i].cpu()] = torch.from_numpy(np.random.default_rng([job.seed, row]).random(n))
    return scores.to(job.units.device)


@method(
    "alpha", levels=BOTH, summary="attention weights; for the words of a HAN, word times sentence", needs="trace"
)
def alpha(job: Job) -> Tensor:
    return job.trace.alpha if job.flat else word_alpha(job.trace)


@method(
    "grad_alpha",
    levels=BOTH,
    summary="gradient of the predicted class with respect to each attention weight, signed",
    needs="trace",
    target="logit",
    quirks=("tasc_grad_after_ig",),
)
def grad_alpha(job: Job) -> Tensor:
    if not job.flat:
        return _word_gradient(job)
    if "tasc_grad_after_ig" in job.quirks:
        from attnlib.importance.gradients import shrunk_trace

        return alpha_gradient(shrunk_trace(job, 0.95), job)
    return alpha_gradient(job.trace, job)


@method(
    "alpha_grad",
    levels=BOTH,
    summary="attention weight times its gradient, signed",
    needs="trace",
    target="logit",
    quirks=("tasc_grad_after_ig",),
)
def alpha_grad(job: Job) -> Tensor:
    if job.flat:
        return job.trace.alpha * grad_alpha(job)
    # The gradient holds the weight of the sentence: the weight of the word within it is what is left to multiply.
    return unstacked(job.trace.words.alpha, job.trace.positions) * grad_alpha(job)


def alpha_gradient(trace: Trace, job: Job) -> Tensor:
    """(B, T) gradient of the explained number with respect to alpha, in closed form."""
    if trace.linear:
        logits = trace.token_logits
        index = job.trace.prediction.reshape(-1, 1, 1).expand(*logits.shape[:-1], 1)
        gradient = logits.gather(-1, index).squeeze(-1)
        if job.target == "probability":
            p = trace.probabilities
            mean = (logits @ p.unsqueeze(-1)).squeeze(-1)
            gradient = job.explained(trace.logits).unsqueeze(1) * (gradient - mean)
    else:
        with torch.enable_grad():
            context = trace.context.detach().requires_grad_()
            value = job.explained(trace.decode(context)).sum()
        gradient = (trace.hidden @ torch.autograd.grad(value, context)[0].unsqueeze(-1)).squeeze(-1)
    return gradient if trace.scale is None else gradient * trace.scale


def word_alpha(trace: Trace) -> Tensor:
    """(B, T): weight of a word in its sentence times the weight of that sentence in the text."""
    return unstacked(trace.words.alpha * trace.alpha.reshape(-1, 1), trace.positions)


def _word_gradient(job: Job) -> Tensor:
    """A sentence vector is a sum of alpha_i s_i h_i: its own gradient, times s_i h_i, is that of alpha_i."""
    out = torch.zeros(job.units.shape, dtype=job.trace.alpha.dtype, device=job.units.device)
    for piece in pieces(*job.units.shape):
        batch = job.batch.select(torch.arange(len(job.batch), device=job.units.device)[piece])
        with job.fitted.evaluating(grad=True):
            trace = job.model(batch)
            value = job.explained(trace.logits, piece).sum()
            upper = torch.autograd.grad(value, trace.words.context)[0]
        gradient = (trace.words.hidden @ upper.unsqueeze(-1)).squeeze(-1)
        if trace.words.scale is not None:
            gradient = gradient * trace.words.scale
        out[piece] = unstacked(gradient.detach(), trace.positions)
    return out
