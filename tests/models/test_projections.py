"""No mask, no score and no precision makes a projection leave the simplex or a gradient leave the numbers."""

from __future__ import annotations

import pytest
import torch

from attnlib.config import PROJECTIONS as NAMES
from attnlib.config import ModelConfig
from attnlib.models.projections import PROJECTIONS, Projection, sparsemax
from attnlib.utils.errors import UnknownName

OPTIONS = [("softmax", {}), ("sparsemax", {}), ("sparsegen", {"lam": -2.0}), ("sparsegen", {"lam": 0.9})]
OPTIONS += [("entmax", {"alpha": a}) for a in (1.0, 1.05, 1.5, 1.8, 2.0, 2.5)] + [("gumbel", {"tau": 0.3})]
every = pytest.mark.parametrize(("name", "options"), OPTIONS, ids=lambda x: str(x))


def test_every_name_of_the_config_is_registered():
    assert set(PROJECTIONS) == set(NAMES)
    with pytest.raises(UnknownName, match="Did you mean 'sparsemax'"):
        PROJECTIONS["sparsmax"]


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
