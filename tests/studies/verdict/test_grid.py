"""What the verdict trains: models of 01_tasc are the same runs; nothing is asked of what cannot work."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pytest

from attnlib.studies.study import Study, planned
from attnlib.studies.verdict.grid import TRAINER, fit, grid
from attnlib.studies.verdict.params import Params
from attnlib.utils.errors import ConfigError


def profile(notebook: str) -> dict:
    (one,) = planned([notebook], "cpu", [])
    return one.values


def test_models_without_new_parts_are_those_of_01_tasc():
    theirs = {run.fits[0] for run in Study("tasc").grid(profile("01_tasc"))}
    identities = {(f.data, f.model, f.train, f.seed) for f in theirs}
    params = Params(**profile("06_verdict"))
    shared = [row for row in params.rows if row["projection"] == "softmax" and row["regulariser"] == "none"]
    own = [fit(params, params.corpora[1], row, seed) for row in shared for seed in params.seeds]
    assert len(own) == 8
    assert all((f.data, f.model, f.train, f.seed) in identities for f in own)


def test_every_model_is_measured_and_honesty_is_guided():
    params = Params(seeds=(0,), guide_seeds=(0, 1))
    runs = grid(params)
    assert len(runs) == 16 + 2 * 4
    guided = [run.fits[0] for run in runs if run.fits[0].trainer == TRAINER]
    assert {(f.model.encoder, f.params.get("guide", "none")) for f in guided} == {
        ("lstm", "none"), ("mlp", "none"), ("lstm", "honest"), ("lstm", "deceptive"),
    }  # fmt: skip


@pytest.mark.parametrize("regularisers", [("none", "tying"), ("none", "tying", "mlm")])
def test_half_of_the_factorial_holds_every_pair_and_is_balanced(regularisers):
    half, whole = (Params(regularisers=regularisers, design=design).rows for design in ("fraction", "whole"))
    pairs = [{two for row in rows for two in combinations(row.items(), 2)} for rows in (half, whole)]
    assert pairs[0] == pairs[1]
    assert len(half) < len(whole)
    if len(regularisers) == 2:
        counts = Counter(three for row in half for three in combinations(list(row.items())[1:], 3))
        assert set(counts.values()) == {2}, "any three parts, once for each encoder"


def test_masked_words_need_neighbours_and_deception_needs_mixing():
    params = Params(regularisers=("none", "tying", "mlm"))
    assert {row["encoder"] for row in params.rows if row["regulariser"] == "mlm"} == {"lstm"}
    with pytest.raises(ConfigError, match="contextual"):
        Params(encoders=("mlp",))
    with pytest.raises(ConfigError, match="learning_rates"):
        Params(learning_rates={"imdb": 0.1})
