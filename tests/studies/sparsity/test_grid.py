"""The grid of the study of sparse attention, its models and its measures."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.measures import agreement as measure
from attnlib.models.attention import ATTENTIONS
from attnlib.studies.sparsity import grid as study
from attnlib.studies.sparsity.params import Params
from attnlib.studies.study import planned
from attnlib.training.fit import fit
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


def test_dot_attention_starts_as_torch_starts_a_linear_layer() -> None:
    fits = [fit for fit in study.models(Params(), "planted") if fit.model.attention == "dot"]
    assert {fit.model.dot_init for fit in fits} == {"kaiming"}
    torch.manual_seed(0)
    query = ATTENTIONS[fits[0].model.attention](fits[0].model, 24).query
    torch.manual_seed(0)
    torch.testing.assert_close(query, torch.nn.Linear(24, 1, bias=False).weight[0])


def test_cells_share_no_seed_and_projections_of_one_are_paired() -> None:
    params = Params(corpora=("planted", "imdb"), seeds=(0, 1, 5))
    seeds = {}
    for corpus in params.corpora:
        for model in study.models(params, corpus):
            seeds.setdefault((corpus, model.model.encoder, model.label["seed"]), set()).add(model.seed)
    assert all(len(own) == 1 for own in seeds.values())
    assert len(set.union(*seeds.values())) == len(seeds) == 2 * 2 * 3


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=20, n_test=60)


@pytest.fixture(scope="module")
def fitted(corpus):
    config = ModelConfig(encoder="lstm", attention="additive", hidden_size=16)
    return fit(corpus, config, TrainConfig(epochs=2, learning_rate=0.01))


def test_readings_cover_the_texts_asked_for_and_label_all(fitted, corpus) -> None:
    found = study.readings(fitted, corpus, texts=10, hidden_texts=3)
    assert found["agreement"]["instance"].nunique() == found["spread"]["instance"].nunique() == 10
    assert found["hidden"]["instance"].nunique() == 3
    assert list(found["labels"]["instance"]) == [example.id for example in corpus.test]
    assert study.appendix(fitted, corpus, texts=2)["instance"].nunique() == 2


def test_a_text_agrees_alone_as_it_does_among_others(fitted, corpus) -> None:
    """Changes that are equal but for rounding would be ordered by it. One may lie on the edge of a step."""
    changes = measure.resolved(np.array([-0.2, 0.2 + 4e-8, 3e-7, 0.0, 0.100002, 0.1]))
    assert changes[0] == changes[1]
    assert (changes[2:4] == 0).all()
    assert changes[4] > changes[5]
    kinds = ["leave_one_out_input", "leave_one_out_hidden"]
    together, _ = measure.attention_agreement(fitted, corpus.test, kinds)
    alone = pd.concat([measure.attention_agreement(fitted, [example], kinds)[0] for example in corpus.test])
    first, second = (f.set_index(["instance", "importance"])["value"].sort_index() for f in (together, alone))
    assert ((first - second).abs() > 1e-9).sum() <= 1
