"""Projections against the entmax library, against worked examples and against the problem they solve."""

from __future__ import annotations

import entmax as library
import pytest
import torch

from attnlib.models.projections import PROJECTIONS, entmax, sparsegen

ALPHAS = (1.1, 1.3, 1.5, 1.8, 2.0, 3.0)


@pytest.fixture
def scores() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(40, 12, dtype=torch.float64, generator=generator)


def with_gradient(function, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scores = scores.clone().requires_grad_()
    weights = function(scores)
    pull = torch.linspace(-1, 2, scores.shape[-1], dtype=scores.dtype)
    return weights.detach(), torch.autograd.grad((weights * pull).sum(), scores)[0]


def same(ours, theirs, atol: float = 1e-12) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=atol)


@pytest.mark.parametrize("alpha", ALPHAS)
def test_entmax_is_the_librarys(scores, alpha):
    ours = with_gradient(lambda a: entmax(a, alpha=alpha), scores)
    theirs = with_gradient(lambda a: library.entmax_bisect(a, alpha=alpha, dim=-1), scores)
    same(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("name", list(PROJECTIONS))
def test_a_mask_is_the_same_as_leaving_the_positions_out(scores, name):
    mask = torch.rand(scores.shape, generator=torch.Generator().manual_seed(1)) < 0.6
    weights = PROJECTIONS[name](scores, mask)
    for row, keep in enumerate(mask):
        short = PROJECTIONS[name](scores[row, keep].unsqueeze(0))[0]
        torch.testing.assert_close(weights[row, keep], short, rtol=0, atol=1e-12)
        assert (weights[row, ~keep] == 0).all()


@pytest.mark.parametrize("lam", [-5.0, -0.5, 0.0, 0.4, 0.8])
def test_sparsegen_is_scaled_sparsemax_and_solves_its_problem(scores, lam):
    weights = sparsegen(scores, lam=lam)
    torch.testing.assert_close(weights, library.sparsemax(scores / (1 - lam), dim=-1), rtol=0, atol=1e-12)

    def objective(p):
        return (p - scores).square().sum(-1) - lam * p.square().sum(-1)

    generator = torch.Generator().manual_seed(2)
    for _ in range(200):
        other = torch.rand(scores.shape, dtype=torch.float64, generator=generator).pow(4)
        other = other / other.sum(-1, keepdim=True)
        step = torch.rand(len(scores), 1, dtype=torch.float64, generator=generator)
        assert (objective(weights) <= objective(weights + step * (other - weights)) + 1e-12).all()
