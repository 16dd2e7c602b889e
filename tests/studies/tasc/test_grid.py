"""The TaSc study: grids of every profile, parameters that are refused, and measures on a tiny planted corpus."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import torch

import attnlib as al
from attnlib.config import TrainConfig
from attnlib.models.attention import build_attention
from attnlib.reports.plan import plans
from attnlib.studies.common import CPU_DATA, CPU_MODEL, CPU_SEEDS, CPU_TRAIN
from attnlib.studies.tasc import grid as tasc
from attnlib.utils.errors import AttnlibError, ConfigError


def values(profile: str) -> dict:
    (plan,) = plans(["01_tasc"], profile, [])
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


def cells_of_words(runs) -> list:
    fits = [run.fits[0] for run in runs if run.label["part"] == "words"]
    return [(fit.data.corpus, fit.model.encoder, fit.model.attention, fit.model.scaling, fit.seed) for fit in fits]


def test_the_paper_profile_reads_the_words_of_the_papers_cells():
    found = cells_of_words(tasc.grid(values("paper")))
    named = [("imdb", "lstm", "dot"), ("adr", "gru", "additive"), ("adr", "cnn", "additive")]
    assert sorted(found) == sorted((*cell, "lin", seed) for cell in named for seed in (24, 92, 7))


def test_where_no_cell_is_named_words_come_from_the_first_one():
    assert cells_of_words(tasc.grid(values("cpu"))) == [
        ("rotten_tomatoes", "lstm", "dot", "lin", seed) for seed in (0, 1, 2)
    ]
    alone = tasc.Params(encoders=["mlp"], attentions=["additive"], seeds=[4])
    assert cells_of_words(tasc.grid(alone)) == [("planted", "mlp", "additive", "lin", 4)]


class Loaded(dict):
    """Corpora by config, with a name of their own, as a file has."""

    def __missing__(self, config):
        return SimpleNamespace(name=f"{config.corpus} as loaded")


@pytest.mark.parametrize(
    ("profile", "cells"),
    [
        ("smoke", [("planted", "lstm", "additive"), ("planted", "mlp", "additive")]),
        ("cpu", [("rotten_tomatoes", e, "additive") for e in ("lstm", "mlp", "cnn", "bert")]),
    ],
)
def test_boxes_default_to_every_encoder_on_the_first_corpus(profile, cells):
    found = SimpleNamespace(grid=SimpleNamespace(corpora=Loaded()))
    boxed = tasc.boxed(tasc.Params(**values(profile)), found)
    assert boxed == [(f"{corpus} as loaded", *rest) for corpus, *rest in cells]


def test_the_paper_profile_has_four_boxes_and_adr_with_bert_is_one():
    found = SimpleNamespace(grid=SimpleNamespace(corpora=Loaded()))
    boxed = tasc.boxed(tasc.Params(**values("paper")), found)
    assert len(set(boxed)) == 4
    assert ("adr as loaded", "bert", "additive") in boxed


def test_every_parameter_of_the_study_is_one_of_the_notebook():
    assert set(values("smoke")) == set(tasc.Params.model_fields)


def test_the_cpu_profile_shares_its_models_with_the_other_studies():
    params = tasc.Params(**values("cpu"))
    fit = tasc.fit(params, "rotten_tomatoes", "cnn", "additive", "none", 1)
    assert (fit.data, fit.train) == (CPU_DATA, CPU_TRAIN)
    assert fit.model == CPU_MODEL.replace(encoder="cnn", attention="additive")
    assert params.seeds == CPU_SEEDS


@pytest.mark.parametrize("profile", ["smoke", "cpu", "paper"])
def test_the_query_of_dot_attention_starts_as_the_authors_does(profile):
    """Uniform in ±1/√N (their attentions.py), in every profile and for every encoder."""
    params = tasc.Params(**values(profile))
    dot = [run.fits[0].model for run in tasc.grid(params) if run.fits[0].model.attention == "dot"]
    assert {config.dot_init for config in dot} == {"kaiming"}
    torch.manual_seed(0)
    width = params.hidden_size
    query = torch.cat([build_attention(dot[0], width).query.detach() for _ in range(2000 // width)]) * width**0.5
    assert query.abs().max() <= 1
    assert query.abs().max() > 0.99, "the whole range"
    assert query.std().item() == pytest.approx(3**-0.5, rel=0.1), "uniform"


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
        (
            {"shown_cells": {"words": [["planted", "gru", "dot"]]}},
            "words names the cell planted, gru, dot, which is",
        ),
        ({"shown_cells": {"words": [["imdb", "lstm", "dot"]]}}, "imdb, lstm, dot, which is not in the grid"),
        ({"shown_cells": {"words": [["planted", "lstm", "dot"]] * 2}}, "each cell once"),
        (
            {"shown_cells": {"words": [["planted", "bert", "additive"]]}, "bert_variants": ["none", "lin"]},
            "planted, bert, additive, which is not in the grid",
        ),
        ({"shown_cells": {"boxes": [["planted", "bert", "additive"]]}}, "boxes names the cell planted, bert"),
        ({"shown_cells": {"boxes": [["planted", "lstm"]]}}, "shown_cells"),
        ({"shown_cells": {"box": []}}, "must be 'boxes' or 'words'"),
        ({"pooling_cell": ["gru", "dot"]}, "pooling_cell names the cell planted, gru, dot"),
        ({"pooling_cell": ["mlp"]}, "pooling_cell"),
        ({"quirks": ["serrano_r"]}, "serrano_r"),
        ({"corpora": [{"corpus": "imdb", "pth": "x"}]}, "Unknown option 'pth'"),
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
    assert tasc.Params.of({"seeds": [3]}).seeds == (3,)


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


@pytest.mark.parametrize("operator", ["pad", "delete", "unk"])
def test_omission_erases_a_word_as_the_test_does(corpus, operator, monkeypatch):
    """WO_i = p(ŷ|x) - p(ŷ|x without x_i), `without` meaning the same there and in the erasure that follows."""
    config = al.ModelConfig(encoder="lstm", hidden_size=8, embedding_size=8)
    fitted = al.fit(corpus, config, TrainConfig(epochs=2, learning_rate=1e-2))
    asked = []

    def spy(fitted, examples, ranking, **options):
        asked.append((ranking, options))
        return al.fraction_to_flip(fitted, examples, ranking, **options)

    monkeypatch.setattr(tasc, "fraction_to_flip", spy)
    flips = tasc.faithfulness(fitted, corpus, rankings=["omission"], operator=operator)["flips"]
    scores = al.importance(fitted, corpus.test, "omission", operator=operator)
    expected = al.fraction_to_flip(fitted, corpus.test, scores, operator=operator)
    np.testing.assert_array_equal(flips["fraction"].to_numpy(), expected["fraction"].to_numpy())
    ((ranking, options),) = asked
    assert options["operator"] == operator
    if operator == "pad":
        assert ranking == "omission"
        return
    padded = al.importance(fitted, corpus.test, "omission")
    assert any(not np.allclose(ours, theirs) for ours, theirs in zip(ranking, padded, strict=True))
    for ours, theirs in zip(ranking, scores, strict=True):
        np.testing.assert_array_equal(ours, theirs)


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
