"""The grid of the study of sparse attention, and what is gathered from it."""

from __future__ import annotations

from types import SimpleNamespace

import pandas as pd
import pytest

from attnlib.store.grid import GridFailed
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import Params
from tests.studies.sparsity.frames import found
from tests.studies.sparsity.test_params import given_by


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_grid_of_a_profile_has_its_size(profile) -> None:
    params = Params(**given_by(profile))
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


def test_times_are_those_of_the_readings() -> None:
    runs = study.grid(Params(seeds=(0,), encoders=("lstm",), adversary_seeds=()))
    readings = [run for run in runs if run.task.endswith(":readings")]
    assert len(readings) < len(runs)

    def entry(run):
        if run == readings[-1]:
            raise GridFailed("no result")
        seconds = 2.5 if run in readings else 99.0
        clock = pd.DataFrame([{"seconds": seconds / 5, "texts": 3, "states": 30}])
        return SimpleNamespace(environment={"seconds": seconds, "device": "cpu"}, frame={"clock": clock}.get)

    columns = {run: {"dataset": "planted", "encoder": "lstm", "seed": 0} for run in runs}
    table = study.times(SimpleNamespace(columns=columns, entry=entry))
    assert table["seconds"].tolist() == [2.5] * (len(readings) - 1)
    assert set(table["device"]) == {"cpu"}
    assert set(table["hidden_seconds"]) == {0.5}
    assert (set(table["texts"]), set(table["states"])) == ({3}, {30})


def test_models_that_learned_nothing_are_left_out_with_their_adversaries() -> None:
    results = found()
    own = results.labels["encoder"] == "lstm"
    results.labels.loc[own, "prediction"] = 0
    assert len(results.idle) == len(results.labels[own].groupby([*study.KEYS, "seed"], dropna=False))
    for name in ("agreement", "entropies", "hidden", "adversaries", "facets"):
        assert set(getattr(results.learned, name)["encoder"]) == {"transformer"}, name
