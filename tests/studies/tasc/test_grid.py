"""The grid of the TaSc study: its size in every profile, how models are trained, what they share, tidy frames."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from attnlib.store.specs import columns
from attnlib.studies.study import seed_of
from attnlib.studies.tasc import grid as tasc
from attnlib.studies.tasc.params import Params
from tests.studies.tasc.made import frame, labels, paper_like, profile, results


def of_part(runs, part):
    return [run for run in runs if run.label.get("part") == part]


@pytest.mark.parametrize(("name", "models", "replicates"), [("smoke", 32, 2), ("cpu", 168, 7), ("paper", 600, 3)])
def test_a_profile_has_its_size(name, models, replicates):
    runs = tasc.grid(profile(name))
    cells = of_part(runs, "grid")
    assert len(cells) == len({run.fits[0] for run in cells}) == models
    every = {fit for run in runs for fit in run.fits}
    assert len(every) == models + 3 * replicates, "three poolings beside the sum, which is in the grid"


def test_trainings_of_different_cells_share_nothing_and_variants_of_a_cell_share_their_seed():
    fits = [run.fits[0] for run in of_part(tasc.grid(Params()), "grid")]
    seeds = {}
    for fit in fits:
        seeds.setdefault((fit.model.encoder, fit.model.attention, fit.label["seed"]), set()).add(fit.seed)
    assert all(len(shared) == 1 for shared in seeds.values()), "with TaSc and without are paired"
    assert len(set.union(*seeds.values())) == len(seeds) == 2 * 2 * 2
    assert seeds["lstm", "dot", 1] == {seed_of(1, "rotten_tomatoes", "lstm", "dot")}
    assert {columns(fit)["seed"] for fit in fits} == {0, 1}, "frames show the replicate"


def test_the_paper_profile_trains_as_the_released_code():
    params = profile("paper")
    lstm = tasc.fit(params, "sst", "lstm", "additive", "lin", 24)
    assert (lstm.model.boundaries, lstm.model.unattended) == (True, (".",))
    assert lstm.data.options["preprocessing"] == {"digits": "qqq"}
    train = lstm.train
    assert (train.epochs, train.batch_size, train.patience, train.clip_norm) == (20, 32, None, None)
    assert (train.weight_decay, dict(train.weight_decays), train.amsgrad) == (1e-4, {}, True)
    assert (train.monitor, train.train_embeddings) == ("loss", False)
    dot = tasc.fit(params, "sst", "gru", "dot", "none", 24).model
    assert (dot.dot_init, dot.dot_scaled) == ("kaiming", True), "uniform in ±1/√N"
    epochs = {
        (e, v): tasc.fit(params, "adr", e, "dot", v, 7).train.epochs
        for e in ("mlp", "cnn")
        for v in ("none", "lin")
    }
    assert epochs == {("mlp", "none"): 35, ("mlp", "lin"): 20, ("cnn", "none"): 30, ("cnn", "lin"): 20}
    longer = {v: tasc.fit(params, "adr", "bert", "dot", v, 7).train.epochs for v in ("none", "lin")}
    assert longer == {"none": 30, "lin": 10}
    assert (lstm.model.oov, lstm.model.oov_scale, lstm.data.max_length) == ("normal", 1.0, "95%")
    assert tasc.fit(params, "anemia", "lstm", "dot", "lin", 7).data.max_length == 2200
    assert tasc.fit(params, "imdb", "lstm", "dot", "lin", 7).data.options["split"] == "jain_wallace"
    bert = tasc.fit(params, "anemia", "bert", "dot", "feat", 7)
    assert bert.data.options["excerpts"] == [[20, 276], [-256, None]]
    assert (bert.train.shuffle, lstm.train.shuffle) == (False, True)
    assert (bert.train.epochs, bert.train.batch_size, bert.train.learning_rate) == (10, 8, 1e-4)
    assert dict(bert.train.learning_rates) == {"encoder": 1e-5}
    assert bert.model.pretrained.startswith("google-bert/bert-base-uncased@")
    assert (bert.data.max_length, bert.model.boundaries) == (None, False)


def test_a_model_that_learned_nothing_takes_its_partners_along():
    told = labels(0.9)
    dead = (told["encoder"] == "mlp") & (told["variant"] == "lin") & (told["seed"] == 1)
    told.loc[dead, "prediction"] = "no"
    found = results(frame(paper_like), told)
    assert set(found.idle.itertuples(index=False, name=None)) == {
        ("sst", "mlp", a, "lin", 1) for a in ("additive", "dot")
    }
    assert set(found.tested.loc[found.tested["encoder"] == "mlp", "seed"]) == {0, 2}
    assert set(found.tested.loc[found.tested["encoder"] == "lstm", "seed"]) == {0, 1, 2}
    assert set(found.whole["encoder"]) == {"lstm", "mlp"}, "two trainings of each cell are left"
    assert len(found.comparable) == len(told), "TaSc broke the model: that is a loss of F1"
    told.loc[(told["encoder"] == "mlp") & (told["variant"] == "none"), "prediction"] = "no"
    assert set(results(frame(paper_like), told).comparable["encoder"]) == {"lstm"}


def test_never_counts_as_one_and_the_top_token_as_a_hundred():
    rows = {"status": ["never", "flipped", "only_when_empty"], "fraction": [np.nan, 0.25, 1.0]}
    flips = pd.DataFrame({**rows, "removed": pd.array([None, 1, 4], dtype="Int64"), "length": 4})
    tidy = tasc.tidy(flips)
    assert tidy.loc[tidy["metric"] == tasc.FRACTION, "value"].tolist() == [1.0, 0.25, 1.0]
    assert tidy.loc[tidy["metric"] == tasc.TOP1, "value"].tolist() == [0.0, 100.0, 0.0]
