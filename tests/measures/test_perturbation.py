"""Replaced attention, against the definition and against chance."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
import torch

from attnlib.measures.perturbation import permuted, uniform, with_attention
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError


def trace_of(hidden, alpha, mask, *, scale=None, joined=False) -> Trace:
    torch.manual_seed(0)
    linear = torch.nn.Linear(hidden.shape[-1], 3, dtype=hidden.dtype)
    weights = alpha if scale is None else alpha * scale
    context = (weights.unsqueeze(-1) * hidden).sum(1)
    decode = (lambda c: linear(c.tanh())) if joined else linear
    return Trace(
        mask=mask,
        embedded=hidden,
        hidden=hidden,
        scores=alpha,
        alpha=alpha,
        scale=scale,
        context=context,
        logits=decode(context),
        decode=decode,
        project=lambda s, m: s,
        weight=None if joined else linear.weight,
        bias=None if joined else linear.bias,
    )


@pytest.fixture
def parts():
    generator = torch.Generator().manual_seed(1)
    mask = torch.tensor([[True, True, True, False], [True, True, True, True], [False, True, False, False]])
    hidden = torch.randn(3, 4, 5, generator=generator, dtype=torch.float64)
    alpha = torch.randn(3, 4, generator=generator, dtype=torch.float64).masked_fill(~mask, -torch.inf).softmax(-1)
    scale = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    return hidden, alpha, mask, scale


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("joined", [False, True])
def test_own_attention_gives_own_logits(parts, scaled: bool, joined: bool) -> None:
    hidden, alpha, mask, scale = parts
    trace = trace_of(hidden, alpha, mask, scale=scale if scaled else None, joined=joined)
    assert torch.allclose(with_attention(trace, trace.alpha), trace.logits)
    several = torch.stack([uniform(mask), trace.alpha], 1)
    assert torch.allclose(with_attention(trace, several)[:, 1], trace.logits)


def test_uniform_is_the_mean_of_hidden_states(parts) -> None:
    hidden, alpha, mask, _ = parts
    trace = trace_of(hidden, alpha, mask)
    assert torch.allclose(with_attention(trace, uniform(mask))[0], trace.decode(hidden[0, :3].mean(0)))
    assert uniform(torch.zeros(1, 3, dtype=torch.bool)).tolist() == [[0, 0, 0]]


def test_permuted_weights_are_the_same_weights_elsewhere(parts) -> None:
    _, alpha, mask, _ = parts
    moved = permuted(alpha, mask, 50, seed=0)
    assert torch.allclose(moved.sort(-1).values, alpha.sort(-1).values.unsqueeze(1).expand_as(moved))
    assert (moved.masked_select(~mask.unsqueeze(1)) == 0).all()
    assert (moved[2, :, 1] == 1).all(), "one attended position has nowhere to go"


def test_every_permutation_is_equally_likely() -> None:
    alpha = torch.tensor([[0.5, 0.3, 0.2]])
    moved = permuted(alpha, torch.ones(1, 3, dtype=torch.bool), 12_000, seed=3)[0]
    counts = [int((moved == alpha[0, list(p)]).all(-1).sum()) for p in permutations(range(3))]
    assert sum(counts) == 12_000
    assert np.allclose(counts, 2000, atol=200)


def test_draws_depend_on_the_text_alone(parts) -> None:
    _, alpha, mask, _ = parts
    whole = permuted(alpha, mask, 5, seed=7)
    wider = torch.nn.functional.pad(alpha, (0, 3)), torch.nn.functional.pad(mask, (0, 3))
    alone = permuted(wider[0][1:2], wider[1][1:2], 5, seed=7, rows=[1])
    assert torch.equal(alone[0, :, :4], whole[1])
    assert not torch.equal(permuted(alpha, mask, 5, seed=8), whole)


def test_bad_shapes_and_counts(parts) -> None:
    hidden, alpha, mask, _ = parts
    with pytest.raises(ConfigError, match=r"needs \(3, ..., 4\)"):
        with_attention(trace_of(hidden, alpha, mask), alpha[:, :2])
    with pytest.raises(ConfigError, match="at least 1"):
        permuted(alpha, mask, 0, seed=0)
