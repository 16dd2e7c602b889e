r"""Gradients of every :math:`s_p^\top h_p` of a transformer at once, for one text.

A state h_p leaves the last layer through row p alone: its feed-forward network costs one row, and what attention
passes on to position j lies in the plane of two vectors, :math:`w_{pj} a_p + d_{pj} b_p`. Only the layers below see
adjoints of all pairs (p, j). There the linear maps around attention are folded into one another, with the gain and
the centring of the norms: with U_p the adjoint at what attention adds, one head is

.. math:: W^\top U_p V + D_p^\top Q' + D_p K', \qquad D_p = W \odot (U_p V'^\top - e) / \sqrt d

where W are the self-attention weights, V = W_o W_v, and Q', K', V' (T, H) the queries, keys and values mapped
onwards once per text.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnlib.models.encoders import Layer, Transformer

Rows = Tensor | slice
EVERY = slice(None)
NUMBERS = 1_000_000
"""Numbers of the adjoints (P, T, H + T) that are carried together: more would leave the cache."""


def sweep(encoder: Transformer, embedded: Tensor, seeds: Tensor) -> tuple[Tensor, Tensor]:
    """Norms (T, T), row p, column i, of the gradient of s_p · h_p at input i; and the gradients at i = p (T, D).

    embedded (T, D) of one text without padding; seeds (T, H): s_p.
    """
    hidden = encoder.placed(encoder.input(embedded).unsqueeze(0)).squeeze(0)
    layers = []
    for layer in encoder.layers:
        layers.append(_Layer(layer, hidden))
        hidden = layers[-1].output
    if isinstance(encoder.norm, nn.LayerNorm):
        seeds = _Norm(encoder.norm, hidden).back(seeds)
    weight = encoder.input.weight if isinstance(encoder.input, nn.Linear) else None
    # ‖g W‖ = ‖g Rᵀ‖ with Wᵀ = Q R: no wider than the encoder, however wide the word vectors.
    narrow = weight if weight is None or weight.shape[1] <= weight.shape[0] else torch.linalg.qr(weight.T).R.T
    norms, own = [], []
    for places in torch.arange(len(hidden), device=hidden.device).split(_at_once(*hidden.shape)):
        adjoint = layers[-1].start(seeds, places)
        for layer in reversed(layers[:-1]):
            adjoint = layer.back(adjoint)
        own.append(adjoint[torch.arange(len(places)), places])
        norms.append((adjoint if narrow is None else adjoint @ narrow).norm(dim=-1))
    diagonal = torch.cat(own)
    return torch.cat(norms), diagonal if weight is None else diagonal @ weight


def _at_once(length: int, width: int) -> int:
    return max(1, NUMBERS // (length * (length + width)))


class _Norm:
    """One layer normalisation of x (T, H), and the way back: (g - x̂ mean(g x̂)) / σ of the centred g = γ u."""

    def __init__(self, norm: nn.LayerNorm, x: Tensor) -> None:
        variance, mean = torch.var_mean(x, -1, correction=0, keepdim=True)
        self.gain = norm.weight
        self.rate = (variance + norm.eps).rsqrt()
        self.unit = (x - mean) * self.rate
        self.output = norm(x)

    def folded(self, weight: Tensor) -> Tensor:
        """weight (…, H) with gain and centring, for adjoints that pass through it before they come to `finish`."""
        weight = weight * self.gain
        return weight - weight.mean(-1, keepdim=True)

    def finish(self, g: Tensor, rows: Rows = EVERY) -> Tensor:
        """Adjoints g (…, T, H), folded already, at what was normalised."""
        unit = self.unit[rows]
        along = (g * unit).mean(-1, keepdim=True)
        return g.addcmul_(along, unit, value=-1).mul_(self.rate[rows])

    def back(self, u: Tensor, rows: Rows = EVERY) -> Tensor:
        return self.finish(self.folded(u), rows)


class _Layer:
    """A `Layer` over one text (T, H), with what it takes to go back: see the equation above for the folded maps."""

    def __init__(self, layer: Layer, hidden: Tensor) -> None:
        self.post = layer.post
        heads, size = layer.heads, hidden.shape[-1] // layer.heads
        if not self.post:
            self.attention_norm = _Norm(layer.attention_norm, hidden)
        joint = layer.inputs(hidden if self.post else self.attention_norm.output)
        query, key, value = joint.view(len(hidden), 3, heads, size).permute(1, 2, 0, 3)
        self.weights = (query @ key.transpose(1, 2) / math.sqrt(size)).softmax(-1)
        hidden = hidden + layer.output((self.weights @ value).transpose(0, 1).reshape(hidden.shape))
        if self.post:
            self.attention_norm = _Norm(layer.attention_norm, hidden)
            hidden = self.attention_norm.output
        else:
            self.feed_norm = _Norm(layer.feed_norm, hidden)
        first, squash, second = layer.feed
        inner = first(hidden if self.post else self.feed_norm.output)
        with torch.enable_grad():
            leaf = inner.detach().requires_grad_()
            (self.slope,) = torch.autograd.grad(squash(leaf).sum(), leaf)
        self.output = hidden + second(squash(inner))
        if self.post:
            self.feed_norm = _Norm(layer.feed_norm, self.output)
            self.output = self.feed_norm.output

        def fold(norm: _Norm, weight: Tensor) -> Tensor:
            return weight if self.post else norm.folded(weight)

        self.outer, self.inner = second.weight, fold(self.feed_norm, first.weight)
        by_query, by_key, by_value = layer.inputs.weight.view(3, heads, size, -1)
        out = layer.output.weight.view(-1, heads, size).transpose(0, 1)
        self.mixed = fold(self.attention_norm, out @ by_value)
        self.values = value @ out.transpose(1, 2)
        self.queries = fold(self.attention_norm, query @ by_key / math.sqrt(size))
        self.keys = fold(self.attention_norm, key @ by_query / math.sqrt(size))

    def start(self, seeds: Tensor, places: Tensor) -> Tensor:
        """Adjoints (P, T, H) at what the layer reads, of seeds (T, H) at their own rows of its output."""
        u = self._feed(seeds[places], places)
        if self.post:
            u = self.attention_norm.back(u, places)
        found, at_home = 0.0, 0.0
        for weights, mixed, values, queries, keys in self._heads():
            weights = weights[places]
            changed = u @ values.T
            changed = weights * (changed - (changed * weights).sum(-1, keepdim=True))
            plane = torch.stack([u @ mixed, queries[places]], 1)
            found = found + torch.stack([weights, changed], -1) @ plane
            at_home = at_home + changed @ keys
        home = torch.arange(len(places), device=places.device), places
        found[home] += at_home
        found = found if self.post else self.attention_norm.finish(found)
        found[home] += u
        return found

    def back(self, u: Tensor) -> Tensor:
        """Adjoints (P, T, H) at what the layer reads, of adjoints (P, T, H) at its output."""
        u = self._feed(u)
        if self.post:
            u = self.attention_norm.back(u)
        found = torch.zeros_like(u)
        for weights, mixed, values, queries, keys in self._heads():
            changed = u @ values.T
            mean = (u * (weights @ values)).sum(-1, keepdim=True)
            changed = changed.sub_(mean).mul_(weights)
            found.baddbmm_(weights.T.expand_as(changed), u @ mixed)
            found.baddbmm_(changed.transpose(1, 2), queries.expand_as(u))
            found.flatten(0, 1).addmm_(changed.flatten(0, 1), keys)
        return (found if self.post else self.attention_norm.finish(found)).add_(u)

    def _heads(self):
        return zip(self.weights, self.mixed, self.values, self.queries, self.keys, strict=True)

    def _feed(self, u: Tensor, rows: Rows = EVERY) -> Tensor:
        """Back through the feed-forward network, which works on every row alone."""
        u = self.feed_norm.back(u, rows) if self.post else u
        found = (u @ self.outer).mul_(self.slope[rows]) @ self.inner
        return (found if self.post else self.feed_norm.finish(found, rows)).add_(u)
