"""The grid of the study of sparse attention, and what is gathered from it."""

from __future__ import annotations

import pytest

from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import Params
from tests.studies.sparsity.frames import found
from tests.studies.sparsity.test_params import given_by


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_grid_of_a_profile_has_its_size(profile) -> None:
    params = Params.of(given_by(profile))
    runs = study.grid(params)
    places = 1 + len(params.entmax_alphas) + len(params.lambdas)
    trainings = places * len(params.seeds) + 2 * len(params.pair_seeds)
    pairs = len(params.corpora) * len(params.encoders)
    kinds = {task: sum(run.task.endswith(f":{task}") for run in runs) for task in ("readings", "appendix", "duel")}
    bases = len(params.adversary_projections) * len(params.adversary_seeds)
    assert kinds == {
        "readings": pairs * trainings,
        "appendix": pairs * len(params.compared_seeds),
        "duel": pairs * bases * 2 * len(params.adversary_lambdas),
    }
    assert len(set(runs)) == len(runs)


def test_adversaries_are_paired_with_their_base_and_start_elsewhere() -> None:
    params = Params(seeds=(0, 1), pair_seeds=(5,), adversary_seeds=(5,), encoders=("lstm",))
    duels = [run for run in study.grid(params) if run.task.endswith(":duel")]
    assert {run.fits[0].label["seed"] for run in duels} == {5}
    for run in duels:
        base, other = run.fits
        assert other.warm_start == base
        assert other.seed != base.seed
    assert len({run.fits[1].seed for run in duels}) == 1


def test_frozen_adversaries_of_dot_attention_start_away_from_even_weights() -> None:
    duels = [run for run in study.grid(Params(encoders=("transformer",))) if run.task.endswith(":duel")]
    starts = {(run.fits[1].params["frozen"], run.fits[1].model.dot_init) for run in duels}
    assert starts == {(True, "normal"), (False, "kaiming")}


def test_models_that_learned_nothing_are_left_out_with_their_adversaries() -> None:
    results = found()
    own = results.labels["encoder"] == "lstm"
    results.labels.loc[own, "prediction"] = 0
    assert len(results.idle) == len(results.labels[own].groupby([*study.KEYS, "seed"], dropna=False))
    for name in ("agreement", "entropies", "hidden", "adversaries", "facets"):
        assert set(getattr(results.learned, name)["encoder"]) == {"transformer"}, name
