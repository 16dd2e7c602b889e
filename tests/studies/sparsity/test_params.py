"""Parameters of the study of sparse attention: what is refused, which models they name, how these train."""

from __future__ import annotations

import pytest
import torch
import yaml

from attnlib.models.attention import build_attention
from attnlib.studies.ledger import FEWEST_TEXTS
from attnlib.studies.sparsity.params import Params, models
from attnlib.studies.study import planned
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError
from tests.studies.sparsity.frames import LAMBDAS


def given_by(profile: str) -> dict:
    """The parameters of a profile, as `attnlib run` hands them to the notebook."""
    (one,) = planned(["03_sparsity"], profile, [])
    return one.values


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"corpora": ["plantd"]}, "planted"),
        ({"lambdas": [-1.0, 0.5, 0.9]}, "0 \\(sparsemax\\)"),
        ({"lambdas": [0.0, 0.5, 1.0]}, r"lambdas\[2\] must be less than 1; got 1"),
        ({"lambdas": [0.0, 0.5, float("-inf")]}, "lambdas.* finite .*got -inf"),
        ({"entmax_alphas": [2.0]}, "entmax_alphas.* 1.99; got 2"),
        ({"entmax_alphas": [1.5, 1.001]}, "got 1.001"),
        ({"adversary_lambdas": [-0.1]}, "adversary_lambdas.* 0; got -0.1"),
        ({"adversary_lambdas": [0.1, float("nan")]}, "adversary_lambdas.* finite .*got nan"),
        ({"adversary_lambdas": [0.0]}, "adversary_lambdas must hold one above 0"),
        ({"attention_rate": float("inf")}, "attention_rate must be a finite number; got inf"),
        ({"learning_rates": {"lstm": float("inf"), "transformer": 0.1}}, "learning_rates.* finite"),
        ({"learning_rates": {"lstm": 0.0, "transformer": 0.1}}, "learning_rates.* greater than 0; got 0"),
        ({"pair_seeds": [1]}, "on top of the seeds"),
        ({"encoders": ["lstn"]}, "lstm"),
        ({"hidden_sizes": {"lstm": 8}}, "transformer"),
        ({"seeds": [0, 0]}, "each once"),
        ({"adversary_seeds": [7]}, "among seeds and pair_seeds"),
        ({"adversary_seeds": [0, 0]}, "each once"),
        ({"corpora": [{"corpus": "sst", "pth": "x"}]}, "Did you mean 'path'"),
        ({"lambda": [0.0]}, "lambdas"),
    ],
)
def test_nonsense_is_refused(wrong, said) -> None:
    with pytest.raises(ConfigError, match=said):
        Params(**wrong)


def test_profiles_are_read_from_files() -> None:
    for profile in ("cpu", "paper"):
        file = paths.notebooks().parent / "params" / "03_sparsity" / f"{profile}.yaml"
        assert set(yaml.safe_load(file.read_text(encoding="utf-8"))) <= set(Params.model_fields)


def test_lambda_zero_is_sparsemax_and_trained_once() -> None:
    params = Params(lambdas=LAMBDAS, entmax_alphas=(1.5,), seeds=(0,), encoders=("lstm",))
    fits = {fit.model.projection: (fit, place) for fit, place in models(params, "planted")}
    assert fits["sparsemax"][1] == {"lam": 0.0, "alpha": 2.0}
    found = [fit.model for fit, _ in models(params, "planted")]
    assert len(found) == 6
    assert not any(m.projection == "sparsegen" and m.sparsegen_lambda == 0 for m in found)


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_dot_attention_starts_as_torch_starts_a_linear_layer(profile) -> None:
    fits = [fit for fit, _ in models(Params.of(given_by(profile)), "planted") if fit.model.attention == "dot"]
    assert {fit.model.dot_init for fit in fits} == {"kaiming"}
    torch.manual_seed(0)
    query = build_attention(fits[0].model, 24).query
    torch.manual_seed(0)
    torch.testing.assert_close(query, torch.nn.Linear(24, 1, bias=False).weight[0])


def test_cpu_has_six_seeds_along_a_path_that_starts_nearly_soft() -> None:
    params = Params.of(given_by("cpu"))
    assert len(params.seeds) >= 6  # fewer cannot refute a trend in one of two cells, however perfect
    assert min(params.lambdas) <= -1000
    assert len(params.adversary_seeds) >= 3
    assert 0.0 in params.adversary_lambdas
    assert params.facet_texts >= FEWEST_TEXTS


def test_cells_share_no_seed_and_projections_of_one_are_paired() -> None:
    params = Params(corpora=("planted", "imdb"), seeds=(0, 1), pair_seeds=(5,))
    seeds = {}
    for corpus in params.corpora:
        for fit, _ in models(params, corpus):
            seeds.setdefault((corpus, fit.model.encoder, fit.label["seed"]), set()).add(fit.seed)
    assert all(len(own) == 1 for own in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 2 * 2 * 3
    further = {f.model.projection for f, _ in models(params, "planted") if f.label["seed"] == 5}
    assert further == {"softmax", "sparsemax"}
