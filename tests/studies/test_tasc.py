"""The TaSc study: grids of every profile, parameters that are refused, and measures on a tiny planted corpus."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib import notebooks
from attnlib.config import TrainConfig
from attnlib.errors import AttnlibError, ConfigError
from attnlib.studies import tasc
from attnlib.studies.common import CPU_DATA, CPU_MODEL, CPU_SEEDS, CPU_TRAIN


def values(profile: str) -> dict:
    (plan,) = notebooks.plan(["01_tasc"], profile, [])
    return plan.values


def models(runs) -> set:
    return {run.fits[0] for run in runs}


@pytest.mark.parametrize(
    ("profile", "grid", "more"),
    [("smoke", 32, 3 * 2), ("cpu", 72 + 2, 3 * 3), ("paper", 600, 3 * 3)],
)
def test_a_profile_is_valid_and_has_its_size(profile, grid, more):
    runs = tasc.grid(values(profile))
    cells = [run for run in runs if run.label["part"] == "grid"]
    assert len(cells) == len(models(cells)) == grid
    assert len(models(runs)) == grid + more  # three poolings beside the sum, which is in the grid


def test_every_parameter_of_the_study_is_one_of_the_notebook():
    assert set(values("smoke")) == set(tasc.Params.model_fields)


def test_the_cpu_profile_shares_its_models_with_the_other_studies():
    params = tasc.Params(**values("cpu"))
    fit = tasc.fit(params, "rotten_tomatoes", "cnn", "dot", "none", 1)
    assert (fit.data, fit.train) == (CPU_DATA, CPU_TRAIN)
    assert fit.model == CPU_MODEL.replace(encoder="cnn", attention="dot")
    assert params.seeds == CPU_SEEDS


def test_the_paper_profile_trains_as_the_released_code():
    params = tasc.Params(**values("paper"))
    lstm = tasc.fit(params, "sst", "lstm", "additive", "lin", 24)
    assert (lstm.model.boundaries, lstm.model.unattended) == (True, (".",))
    assert lstm.data.options["preprocessing"] == {"digits": "qqq"}
    train = lstm.train
    assert (train.epochs, train.batch_size, train.patience, train.clip_norm) == (20, 32, None, None)
    assert (train.weight_decay, dict(train.weight_decays), train.amsgrad) == (1e-4, {}, True)
    assert (train.monitor, train.train_embeddings) == ("loss", False)
    epochs = {
        (e, v): tasc.fit(params, "adr", e, "dot", v, 7).train.epochs
        for e in ("mlp", "cnn")
        for v in ("none", "lin")
    }
    assert epochs == {("mlp", "none"): 35, ("mlp", "lin"): 20, ("cnn", "none"): 30, ("cnn", "lin"): 20}
    bert = tasc.fit(params, "anemia", "bert", "dot", "feat", 7)
    assert (bert.train.epochs, bert.train.batch_size, bert.train.learning_rate) == (10, 8, 1e-4)
    assert (dict(bert.train.learning_rates), bert.model.pretrained) == ({"encoder": 1e-5}, "bert-base-uncased")
    assert (bert.data.max_length, bert.model.boundaries) == (2200, False)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"corpora": ["stt"]}, "Did you mean 'sst'"),
        ({"corpora": []}, "at least one"),
        ({"encoders": ["lstm", "bert"]}, "set bert_variants"),
        ({"encoders": ["lstn"]}, "lstn"),
        ({"seeds": [1, 1]}, "each once"),
        ({"variants": ["none", "feat"]}, "'none' and 'lin'"),
        ({"bert_variants": ["lin"]}, "'none' and 'lin'"),
        ({"bert_variants": ["none", "lin"], "bert_seeds": [9]}, "nothing to compare with"),
        ({"words_cell": ["gru", "dot"]}, "not in the grid"),
        ({"pooling_cell": ["mlp"]}, "pooling_cell"),
        ({"quirks": ["serrano_r"]}, "serrano_r"),
        ({"paths": {"imdb": "x"}}, "imdb"),
        ({"vectors": "glove", "embedding_size": 300}, "50 wide"),
        ({"texts": 0}, "texts"),
        ({"epoch": 3}, "Did you mean 'epochs'"),
    ],
)
def test_nonsense_is_refused_before_anything_runs(changes, told):
    with pytest.raises(AttnlibError, match=told):
        tasc.Params(**changes)


def test_params_come_from_the_names_of_a_notebook():
    names = values("smoke") | {"something": 1}
    assert tasc.Params.of(names) == tasc.Params(**values("smoke"))
    with pytest.raises(KeyError):
        tasc.Params.of({"corpora": ["planted"]})


@pytest.fixture(scope="module")
def corpus():
    return al.load_corpus("planted", n_train=60, n_dev=20, n_test=12)


@pytest.fixture(scope="module")
def fitted(corpus):
    config = al.ModelConfig(encoder="mlp", scaling="lin", hidden_size=8, embedding_size=8)
    return al.fit(corpus, config, TrainConfig(epochs=2, learning_rate=1e-2))


def test_faithfulness_holds_every_ranking_and_text(corpus, fitted):
    found = tasc.faithfulness(fitted, corpus, rankings=["alpha", "omission"], texts=7)
    flips = found["flips"]
    assert flips.groupby("importance").size().to_dict() == {"alpha": 7, "omission": 7}
    assert flips["instance"].nunique() == 7
    direct = al.fraction_to_flip(fitted, [e for e in corpus.test if e.id in set(flips["instance"])], "alpha")
    mine = flips[flips["importance"] == "alpha"]
    np.testing.assert_array_equal(mine["fraction"].to_numpy(), direct["fraction"].to_numpy())
    labels = found["labels"]
    accuracy = (labels["truth"] == labels["prediction"]).mean()
    assert (len(labels), accuracy) == (12, pytest.approx(fitted.evaluate(corpus.test)["accuracy"]))
    row = found["parameters"].iloc[0]
    assert row["scaling"] == row["vocabulary"] == len(corpus.vocabulary)


def test_top_token_flips_are_the_flips_at_one_token(corpus, fitted):
    tidy = tasc.tidy(tasc.faithfulness(fitted, corpus, rankings=["alpha_grad"])["flips"])
    top = tidy.loc[tidy["metric"] == tasc.TOP1, "value"].to_numpy()
    direct = al.top_token_flips(fitted, corpus.test, "alpha_grad", level="input")["flipped"].to_numpy()
    np.testing.assert_array_equal(top == 100, direct)


def test_words_read_u_and_s_of_every_word_that_occurs(corpus, fitted):
    frame = tasc.words(fitted, corpus).set_index("word")
    word = corpus.train[0].tokens[0]
    where = corpus.vocabulary.ids([word])[0]
    u = fitted.model.scaling.table.weight[where].item()
    assert frame["u"][word] == pytest.approx(u)
    assert frame["s"][word] == pytest.approx(u * fitted.model.embedding.weight[where].sum().item(), rel=1e-4)
    assert frame["count"].sum() == sum(len(e) for e in corpus.train)


def test_never_counts_as_one_and_the_top_token_as_a_hundred():
    rows = {"status": ["never", "flipped", "only_when_empty"], "fraction": [np.nan, 0.25, 1.0]}
    flips = pd.DataFrame({**rows, "removed": pd.array([None, 1, 4], dtype="Int64"), "length": 4})
    tidy = tasc.tidy(flips)
    assert tidy.loc[tidy["metric"] == tasc.FRACTION, "value"].tolist() == [1.0, 0.25, 1.0]
    assert tidy.loc[tidy["metric"] == tasc.TOP1, "value"].tolist() == [0.0, 100.0, 0.0]


def test_an_unknown_quirk_names_the_allowed_ones():
    with pytest.raises(ConfigError, match="tasc_nan_empty"):
        tasc.Params(quirks=["tasc_nan"])
