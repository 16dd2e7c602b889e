"""The runs of the study of attention ranks and information, and what becomes of their frames."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pandas as pd
import pytest

from attnlib.store.specs import Corpora, FitSpec
from attnlib.studies.mutual_information import grid as study
from attnlib.studies.mutual_information.grid import MODEL, adversary_lambda, check_texts, grid, results
from attnlib.studies.mutual_information.numbers import decisive
from attnlib.studies.mutual_information.params import Params
from attnlib.studies.study import planned
from attnlib.utils.errors import ConfigError
from tests.studies.mutual_information.frames import GENERATED, SPECIAL, tau_frame


def profile(name: str) -> Params:
    """The parameters of the notebook with those of a profile."""
    return Params.of(planned(["04_mutual_information"], name)[0].values)


@pytest.mark.parametrize(("name", "runs", "models"), [("smoke", 33, 32), ("cpu", 228, 222), ("paper", 2340, 2270)])
def test_grids_of_the_profiles(name: str, runs: int, models: int) -> None:
    found = grid(profile(name))
    assert (len(found), len({fit for run in found for fit in run.fits})) == (runs, models)


def test_ablations_are_what_they_say() -> None:
    params = Params(seeds=(0,), gumbel_seeds=(), ablation_seeds=(0,), adversary_seeds=(0,))
    special = {run.label["variant"]: run.fits[-1] for run in grid(params) if run.label["variant"] != "none"}
    fixed, kept, other = (special[name] for name in SPECIAL)
    assert fixed.train.freeze == ("attention",)
    assert fixed.warm_start is None
    assert kept.train.freeze == tuple(kept.params["warm_parts"]) == ("embedding", "encoder")
    assert isinstance(kept.warm_start, FitSpec)
    assert kept.seed != kept.warm_start.seed, "attention must not start where the base's did"
    assert other.trainer.endswith(":adversary")
    assert (other.model, other.params["quirks"]) == (other.warm_start.model, ["wp_half_tvd"])


def test_cells_have_trainings_of_their_own_and_what_is_paired_shares_a_seed() -> None:
    params = Params(**GENERATED, query_encoders=["lstm", "cnn", "mlp"])
    runs = [run for run in grid(params) if run.task.endswith(":by_rank")]
    seeds: dict[tuple, set[int]] = {}
    for run in runs:
        (fit,) = run.fits
        cell = (run.label["dataset"], fit.model.encoder, fit.model.attention, fit.label["seed"])
        if run.label["variant"] in ("none", "fix_attention"):
            seeds.setdefault(cell, set()).add(fit.seed)
        else:
            assert {fit.warm_start.seed} == seeds[cell], "made of the training that it is paired with"
    assert all(len(own) == 1 for own in seeds.values()), "Gumbel-softmax and fixed attention share it"
    assert len(seeds) == len(set().union(*seeds.values())) == 2 * 9 * 3, "no two cells do"


def test_lambda_is_that_of_the_closest_corpus() -> None:
    lambdas = [adversary_lambda(name) for name in ("hub:imdb", "diabetes", "hub:yelp_polarity")]
    assert lambdas == [8e-4, 2e-4, 5e-4], "of none of the paper's: its most frequent"


def test_corpora_are_checked_before_training(tmp_path) -> None:
    rows = pd.DataFrame({"text": [f"word{i} is here" for i in range(90)], "label": ["a", "b"] * 45})
    rows = rows.assign(split=["train", "dev", "test"] * 30, query=[f"where {i}" for i in range(90)])
    asked, plain = str(tmp_path / "x.csv"), str(tmp_path / "y.csv")
    rows.to_csv(asked, index=False)
    rows.drop(columns="query").to_csv(plain, index=False)
    loaded, params = Corpora(), Params(corpora=["planted"], query_corpora=[asked], counts=[20])
    x = loaded[params.data("x")]
    check_texts(params, "x", x)
    with pytest.raises(ConfigError, match="3 test texts of two words"):
        check_texts(params, "x", replace(x, test=x.test[:3]))
    with pytest.raises(ConfigError, match="has a query; put it in query_corpora"):
        results(Params(corpora=[asked], query_corpora=[], counts=[5]), corpora=loaded)
    with pytest.raises(ConfigError, match="has no query; put it in corpora"):
        results(Params(query_corpora=[plain], counts=[5]), corpora=loaded)


def test_models_that_learned_nothing_and_corpora_too_small_are_marked(monkeypatch) -> None:
    taus = tau_frame(dataset="planted").drop(columns=["value", "task", "thin", "idle"])
    taus.loc[taus["projection"] == "gumbel", "clusters"] = 3
    texts = pd.DataFrame({"instance": range(20), "truth": [0, 1] * 10})
    labels = taus[MODEL].merge(texts, how="cross")
    labels["prediction"] = labels["truth"].where(labels["encoder"] != "cnn", 0)
    frames = {"taus": taus, "labels": labels, "ranks": pd.DataFrame()}

    def frame(name, *, optional=False):
        return frames.get(name, pd.DataFrame())

    monkeypatch.setattr(study, "run_grid", lambda *_, **__: SimpleNamespace(frame=frame))
    monkeypatch.setattr(study, "check_texts", lambda *_: None)
    found = results(Params(**GENERATED | {"query_corpora": []}))
    assert found.taus.groupby("encoder")["idle"].unique().map(list).to_dict() == {"cnn": [True], "lstm": [False]}
    assert (found.taus["thin"] == (found.taus["projection"] == "gumbel")).all()
    assert set(decisive(found.taus)["encoder"]) == {"lstm"}
    assert set(decisive(found.taus)["projection"]) == {"softmax"}
    assert set(found.taus["task"]) == {"classification"}
    assert found.apart.empty, "no adversaries were asked for"
