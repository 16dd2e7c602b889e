r"""The attention inside a transformer: in a Hugging Face classifier, and in an encoder of the kit.

A is a layer's attention, :math:`\bar A` its mean over heads, r the row (or mean of rows) that the head of a Hugging
Face classifier reads. Its readings are per piece and summed to words; special tokens get no number. `cls_last`,
`rollout` and `value_norm` sum to one over all pieces: what special tokens swallow is one minus the sum over the
words.

The kit pools the outputs of an encoder with its own attention layer, alpha. The importance of input i is therefore
what flows from i to the outputs, weighted by alpha: :math:`\sum_p \alpha_p R_{pi}`.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from attnlib.hf.network import LayerAttention, Network, Watch, folded, read, watching
from attnlib.hf.words import PieceBatch
from attnlib.models.trace import Trace
from attnlib.rankings.base import Case, has_self_attention, method
from attnlib.utils.errors import ConfigError


@method(models="hf")
def cls_last(case: Case) -> Tensor:
    """last layer's attention at the position that the head reads ([CLS]; a decoder's last token)"""
    return case.trace.alpha


@method(models="hf pieces")
def value_norm(case: Case) -> Tensor:
    r"""last layer's attention times the norm of the value, sums to one (after Kobayashi et al. 2020)

    :math:`\|\alpha_j v_j\|` over its sum, heads joined, with values before the output projection:
    :math:`\sqrt{\sum_h (\alpha^h_j \|v^h_j\|)^2}`.
    """

    def norms(layer: LayerAttention, _: Tensor | None) -> Tensor | None:
        if layer.number < case.model.layers - 1:
            return None
        return (layer.weights * layer.value.norm(dim=-1).unsqueeze(2)).square().sum(1).sqrt()

    scores = folded(case.model, case.batch, norms)
    return scores / scores.sum(1, keepdim=True)


@method(needs="gradient", models="hf pieces", target="logit")
def attention_grad(case: Case) -> Tensor:
    r"""positive part of attention times gradient, through all layers (Chefer et al. 2021)

    :math:`r \prod_l (I + \bar E_l) - r`, where :math:`\bar E_l` is the mean over heads of :math:`(\partial f /
    \partial A_l \odot A_l)^+`, and f the explained number. The backward pass needs the weights of all layers, for a
    slice of texts at a time.

    Where the decision is saturated (a pooler's tanh near one), what it ranks are slopes near zero.
    """
    out = torch.zeros(case.batch.ids.shape, dtype=torch.get_default_dtype(), device=case.batch.ids.device)
    for part, some in case.model.slices(case.batch, kept=4 * max(1, case.model.layers)):
        out[part] = _relevance(case.model, some, lambda logits, part=part: case.explained(logits, part))
    return out


@method(levels=("input",), needs="self-attention", models="pieces")
def rollout(case: Case) -> Tensor:
    r"""attention rollout through the layers of a transformer (Abnar & Zuidema 2020)

    :math:`R = \prod_l \tfrac12 (\bar A_l + I)`; of a Hugging Face classifier, its row r.
    """
    if not isinstance(case.trace, Trace):
        return folded(case.model, case.batch, lambda layer, before: _mixed(layer.weights, before))
    flow = None
    for weights in self_attention(case):
        flow = _mixed(weights, flow)
    return read(case.trace.alpha, flow)


def self_attention(case: Case) -> list[Tensor]:
    """Self-attention weights of every layer, (B, heads, T, T)."""
    if not has_self_attention(case.model):
        kind = "a hierarchical model" if case.trace.words is not None else type(case.model.encoder).__name__
        raise ConfigError(
            "This method reads the self-attention of a flat model with encoder 'transformer' or 'bert'; this is "
            f"{kind}. Use 'alpha', a gradient method or 'omission'."
        )
    return case.model.encoder.self_attention(case.trace.embedded, case.batch.mask)


def _mixed(weights: Tensor, before: Tensor | None) -> Tensor:
    """(B, T, T): half of a layer's mean attention (B, heads, T, T), half of the state itself, times `before`."""
    mixed = weights.mean(1)
    mixed = (mixed + torch.eye(mixed.shape[-1], dtype=mixed.dtype, device=mixed.device)) / 2
    return mixed if before is None else mixed @ before


def _relevance(network: Network, some: PieceBatch, explained: Callable[[Tensor], Tensor]) -> Tensor:
    weights: list[Tensor] = []
    with torch.enable_grad(), watching(network.network, Watch(lambda layer: weights.append(layer.weights))):
        # From the embeddings on: parameters that do not train would cut the graph.
        value = explained(network(some, network.embed(some).detach().requires_grad_()).logits).sum()
        slopes = torch.autograd.grad(value, weights)
    rows = network.rows(some)
    flow = rows[:, : weights[0].shape[-1]]
    for weight, slope in zip(reversed(weights), reversed(slopes), strict=True):
        flow = flow + read(flow, (weight.detach() * slope).clamp_min(0).mean(1))
    return torch.nn.functional.pad(flow, (0, rows.shape[1] - flow.shape[1])) - rows
