"""No mask, no score and no precision makes a projection leave the simplex or a gradient leave the numbers."""

from __future__ import annotations

import entmax as library
import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models.projections import PROJECTIONS, Projection, entmax, sparsegen, sparsemax

OPTIONS = [("softmax", {}), ("sparsemax", {}), ("sparsegen", {"lam": -2.0}), ("sparsegen", {"lam": 0.9})]
OPTIONS += [("entmax", {"alpha": a}) for a in (1.0, 1.05, 1.5, 1.8, 2.0, 2.5)] + [("gumbel", {"tau": 0.3})]
every = pytest.mark.parametrize(("name", "options"), OPTIONS, ids=lambda x: str(x))


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [0.0, 1.0, 1e4, 1e30])
def test_on_the_simplex_with_finite_gradients(name, options, dtype, size):
    torch.manual_seed(0)
    scores = (size * torch.randn(6, 7)).to(dtype).requires_grad_()
    mask = torch.rand(6, 7) < 0.7
    mask[0], mask[1], mask[2] = True, False, False
    mask[2, 3] = True
    weights = PROJECTIONS[name](scores, mask, **options)
    assert weights.dtype == dtype
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert weights[2, 3] == 1
    torch.testing.assert_close(weights.sum(1), mask.any(1).to(dtype))
    (weights * torch.arange(7)).sum().backward()
    assert scores.grad.isfinite().all()
    assert (scores.grad[~mask] == 0).all()


@every
def test_masked_scores_are_never_read(name, options):
    scores, mask = torch.randn(3, 5), torch.tensor([True, True, False, True, False]).expand(3, 5)
    clean = PROJECTIONS[name](scores, mask, **options)
    for poison in (1e38, -1e38, float("inf"), float("-inf"), float("nan")):
        assert torch.equal(PROJECTIONS[name](scores.masked_fill(~mask, poison), mask, **options), clean)


def test_sparsemax_shares_evenly_between_ties_and_runs_under_vmap():
    assert sparsemax(torch.zeros(1, 4)).tolist() == [[0.25] * 4]
    assert sparsemax(torch.tensor([2.0, 2.0, 1.0])).tolist() == [0.5, 0.5, 0.0]
    scores, mask = torch.randn(5, 6), torch.rand(5, 6) < 0.8
    torch.testing.assert_close(torch.vmap(sparsemax)(scores, mask), sparsemax(scores, mask))


def test_noise_follows_the_mode():
    scores, mask = torch.randn(3, 5), torch.ones(3, 5, dtype=torch.bool)
    for noise, in_training, in_eval in (("train", True, False), ("always", True, True), ("never", False, False)):
        projection = Projection(ModelConfig(projection="gumbel", gumbel_noise=noise, gumbel_tau=0.5))
        still = projection.exact(scores, mask)
        assert torch.equal(still, (scores / 0.5).softmax(-1))
        assert torch.equal(projection.train()(scores, mask), still) != in_training
        assert torch.equal(projection.eval()(scores, mask), still) != in_eval


@pytest.fixture
def scores() -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    return 2 * torch.randn(40, 12, dtype=torch.float64, generator=generator)


def with_gradient(function, scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    scores = scores.clone().requires_grad_()
    weights = function(scores)
    pull = torch.linspace(-1, 2, scores.shape[-1], dtype=scores.dtype)
    return weights.detach(), torch.autograd.grad((weights * pull).sum(), scores)[0]


@pytest.mark.parametrize("alpha", [1.1, 1.3, 1.5, 1.8, 2.0, 3.0])
def test_entmax_is_the_librarys(scores, alpha):
    ours = with_gradient(lambda a: entmax(a, alpha=alpha), scores)
    theirs = with_gradient(lambda a: library.entmax_bisect(a, alpha=alpha, dim=-1), scores)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-9)


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
