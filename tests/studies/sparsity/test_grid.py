"""The grid of the study of sparse attention, its models and its measures."""

from __future__ import annotations

from collections import Counter

import pytest

from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import Params
from attnlib.studies.study import planned
from tests.studies.sparsity.frames import LAMBDAS


def given_by(profile: str) -> Params:
    """The parameters of a profile, as `attnlib run` hands them to the notebook."""
    (one,) = planned(["03_sparsity"], profile, [])
    return Params.of(one.values)


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_grid_of_a_profile_has_its_size(profile) -> None:
    params = given_by(profile)
    runs = study.grid(params)
    places = 1 + len(params.entmax_alphas) + len(params.lambdas)
    pairs = len(params.corpora) * len(params.encoders)
    tasks = Counter(run.task.partition(":")[2] for run in runs)
    bases = len(params.adversary_projections) * params.adversary_seeds
    assert tasks == {
        "readings": pairs * places * len(params.seeds),
        "appendix": pairs * len(params.seeds),
        "compare": pairs * bases * 2 * len(params.adversary_lambdas),
    }
    assert len(set(runs)) == len(runs)


def test_adversaries_are_paired_with_their_base_and_start_elsewhere() -> None:
    duels = [run for run in study.grid(Params(seeds=(5, 6))) if run.task.endswith(":compare")]
    assert {run.fits[0].label["seed"] for run in duels} == {5}
    for run in duels:
        base, other = run.fits
        assert other.warm_start == base
        assert other.seed != base.seed
    starts = {(m.encoder, run.fits[1].params["frozen"], m.dot_init) for run in duels for m in [run.fits[1].model]}
    assert {start[1:] for start in starts if start[0] == "transformer"} == {(True, "normal"), (False, "kaiming")}


def test_lambda_zero_is_sparsemax_and_trained_once() -> None:
    params = Params(lambdas=LAMBDAS, entmax_alphas=(1.5,), seeds=(0,), encoders=("lstm",))
    fits = {fit.label["model"]: fit for fit in study.models(params, "planted")}
    assert list(fits) == ["softmax", "entmax 1.5", "sparsegen −10", "sparsegen −1", "sparsemax", "sparsegen 0.5"]
    assert fits["sparsemax"].label["lam"] == 0
    assert fits["sparsemax"].model.projection == "sparsemax"


def test_cells_share_no_seed_and_projections_of_one_are_paired() -> None:
    params = Params(corpora=("planted", "imdb"), seeds=(0, 1, 5))
    seeds = {}
    for corpus in params.corpora:
        for model in study.models(params, corpus):
            seeds.setdefault((corpus, model.model.encoder, model.label["seed"]), set()).add(model.seed)
    assert all(len(own) == 1 for own in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 2 * 2 * 3
