"""Word-level objectives: grids of the stated size, and what their models share."""

from __future__ import annotations

import pandas as pd
import pytest

from attnlib.studies import study as studies
from attnlib.studies.tying_mlm import grid as study
from attnlib.studies.tying_mlm.params import Params
from attnlib.utils.errors import DataError
from tests import own_tables


def planned(profile: str) -> Params:
    (plan,) = studies.planned(["02_tying_mlm"], profile, [])
    return Params.of(plan.values)


@pytest.mark.parametrize(
    ("profile", "trials", "classifiers", "adversaries", "information"),
    [
        ("smoke", 4, 27, 12, 8),
        ("cpu", 6, 96, 81, 33),
        ("paper", 6 * 9 * 5, 5 * (50 + 3 * 5 + 4 * 5 + 4 * 2 * 5 + 5), 3 * 6 * 42, 100),
    ],
)
def test_the_grid_of_each_profile(profile, trials, classifiers, adversaries, information) -> None:
    params = planned(profile)
    runs = study.grid(params)
    tasks = [run.task.partition(":")[2] for run in runs]
    assert tasks.count("attention_swaps") == tasks.count("token_table") == len(study.models(params)) == classifiers
    assert tasks.count("compare") == adversaries
    assert tasks.count("retention") == information
    assert len(set(runs)) == len(runs)
    assert len(study.undecided(params)) == trials
    assert {model.train.train_embeddings for model in study.models(params)} == {profile == "cpu"}


def test_dev_decides_on_the_weight_of_each_corpus() -> None:
    variants = ("base", "tying")
    params = Params(corpora=("planted", "imdb"), seeds=(0, 1, 2), few=2, deltas=(1.0, 10.0), variants=variants)
    trials = study.undecided(params)
    best = {("planted", 10.0): 0.8, ("planted", 1.0): 0.7, ("imdb", 10.0): 0.6, ("imdb", 1.0): 0.6}
    rows = []
    for run in trials:
        score = best[run.label["corpus"], run.label["strength"]] + 0.02 * run.label["seed"]
        told = run.label | {"dataset": "x", "attention": "additive"}
        rows.append(told | {"epoch": 1, "best": True, "dev_f1_macro": score})
        rows.append(told | {"epoch": 2, "best": False, "dev_f1_macro": 1 - score})
    history = pd.DataFrame(rows)
    chosen = study.decided(params, history)
    assert chosen.chosen == {"tying": {"planted": 10.0, "imdb": 1.0}}, "of equals the smaller"
    assert study.undecided(chosen) == []
    models = [run for run in study.models(chosen) if run.label["variant"] == "tying" and run.label["chosen"]]
    assert {(run.data.corpus, run.label["strength"]) for run in models} == {("planted", 10.0), ("imdb", 1.0)}
    before, after = ({fit.replace(label={}) for fit in made} for made in (trials, study.models(chosen)))
    assert before <= after, "the trainings that chose are those of the tables"


def test_adversaries_are_fresh_and_minimise_equation_6_alone() -> None:
    params = planned("cpu")
    for variant in params.adversary_bases:
        adversary = study.adversary(params, "rotten_tomatoes", variant, 1, 0.2)
        assert adversary.warm_start == study.fit(params, "rotten_tomatoes", variant, "additive", 1)
        assert adversary.model.regulariser == "none"
        assert adversary.train.monitor == "train_loss"
        assert adversary.params["lam"] == 0.2
        assert adversary.seed != adversary.warm_start.seed, "from its base's start it would have no way to go"


def test_cells_share_no_seed_and_what_is_compared_within_one_does() -> None:
    params = planned("cpu").replace(corpora=("planted", "rotten_tomatoes"))
    seeds: dict[tuple, set[int]] = {}
    for model in study.models(params):
        cell = (model.data.corpus, model.model.attention, model.label["seed"])
        seeds.setdefault(cell, set()).add(model.seed)
    assert len(seeds) == 2 * 2 * len(params.seeds)
    assert all(len(own) == 1 for own in seeds.values()), "variants, weights, depths and starts are paired"
    assert len(set.union(*seeds.values())) == len(seeds)
    fooled = {study.adversary(params, "planted", v, 0, lam).seed for v in ("base", "mlm") for lam in (0.0, 1.0)}
    assert len(fooled) == 1


def test_a_corpus_of_six_classes_is_refused_before_training(tmp_path, monkeypatch) -> None:
    path = own_tables.write(tmp_path, "six")
    monkeypatch.setattr(study, "run_grid", lambda *_, **__: pytest.fail("nothing may be trained"))
    with pytest.raises(DataError, match=r"6 classes \(food, .* two classes"):
        study.results(Params(corpora=[str(path)]))
    ((option, told),) = Params(corpora=[str(path)]).absent()
    assert option == "corpora", "and before a kernel starts"
    assert "6 classes" in told
