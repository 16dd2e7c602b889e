"""Corpora that are brought along to the study of attention ranks and information: names, lists, real texts."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import attnlib as al
from attnlib.studies.datasets import kin, short
from attnlib.studies.mutual_information import figures, measures, tables, words
from attnlib.studies.mutual_information import grid as study
from attnlib.utils import paths
from tests.studies.mutual_information.frames import tau_frame, tau_row

DATA = paths.development_data()


@pytest.mark.parametrize(
    ("name", "paper"),
    [
        ("hub:snli", "snli"), ("hub:stanfordnlp/snli", "snli"), ("hub:sst2", "sst"), ("hub:gpt3mix/sst2", "sst"),
        ("hub:glue/sst2", "sst"), ("hub:imdb", "imdb"), ("hub:ag_news", "ag"), ("ag_news", "ag"), ("agnews", "ag"),
        ("hub:rotten_tomatoes", "sst"), ("hub:babi_qa/en-10k-qa2", "babi_2"), ("hub:babi_qa", "babi_1"),
        ("hub:facebook/babi_qa/en-qa3", "babi_3"), ("babi", "babi_1"), ("babi2", "babi_2"), ("babi_3", "babi_3"),
        ("hub:/my/snli", "hub:/my/snli"), ("hub:someone/texts", "hub:someone/texts"), ("x/sst.csv", "x/sst.csv"),
    ],
)  # fmt: skip
def test_kin_of_names(name: str, paper: str) -> None:
    assert kin(name) == paper


def test_kin_brings_the_papers_rows() -> None:
    loss = tables.delta_table(tau_frame(dataset="hub:stanfordnlp/sst2"), 2, ["fix_attention"])
    assert loss[["paper", "paper's corpus"]].to_numpy().tolist() == [[0.71, "sst"]]
    assert study.adversary_lambda("hub:imdb") == (8e-4, "paper: imdb")
    assert study.adversary_lambda("hub:yelp_polarity") == (study.LAMBDA, "the paper's most frequent")


def test_titles_show_the_stem_of_a_file() -> None:
    assert [short(name) for name in ("a/b/mine.csv", "sst", "hub:a/b")] == ["mine", "sst", "hub:a/b"]
    frame = tau_frame(dataset="/home/me/mine.csv")
    assert figures.boxes(frame).axes[0].get_title(loc="left") == "mine  (n = 18)"
    assert figures.uniformity(frame).axes[0].get_title(loc="left") == "mine  (n = 18)"
    params = study.Params(corpora=["/home/me/mine.csv"], query_corpora=[])
    assert words.setting(params).startswith("mine with BiLSTM")
    assert words.about_deltas(frame, ["fix_attention"])[0].startswith("mine, Fix Attn: Δτ = **")
    frame.loc[frame["variant"] == "fix_attention", ["tau", "value"]] = np.nan
    assert words.about_deltas(frame, ["fix_attention"]) == [
        "mine, Fix Attn: no pair of models has a τ on both sides."
    ]


def test_a_run_with_queries_alone() -> None:
    params = study.Params(corpora=[], query_corpora=["stories", "snli"])
    assert {run.label["dataset"] for run in study.grid(params)} == {"stories", "snli"}
    assert {run.label["variant"] for run in study.grid(params)} == {"none", "fix_attention", "fix_representation"}
    assert words.setting(params).startswith("stories, snli with BiLSTM; Additive")
    grid = SimpleNamespace(summary="3 runs.", failures=pd.DataFrame())
    said = words.about_grid(params, study.Results(tau_frame(), None, None, grid))
    assert said[0] == "1 encoder × 3 attentions for stories, snli, with a query. 3 runs."
    assert said[1].startswith("**No adversaries:**")


def test_a_list_without_the_model_of_ablations_says_so() -> None:
    params = study.Params(query_encoders=["mlp"])
    assert {run.label["dataset"] for run in study.grid(params) if run.label["variant"] != "none"} == {"planted"}
    assert words.about_ablated(params) == [
        "**No ablations for stories:** BiLSTM with additive attention is not among their models."
    ]
    turned = words.about_ablated(study.Params(encoders=["mlp"]))
    assert turned[0].startswith("**No ablations for planted:**")
    assert turned[1].startswith("**No adversaries:**")
    assert not words.about_ablated(study.Params())
    assert not words.about_ablated(study.Params(query_encoders=["mlp"], ablation_seeds=[]))


def test_one_cell_is_not_the_highest() -> None:
    one = pd.DataFrame([tau_row("lstm", "additive", seed, 0.5) for seed in range(3)])
    assert words.about_taus(one) == ["Mean weighted τ: Additive **0.50**."]


def test_only_two_classes_halve_the_distance() -> None:
    for classes, divisor in ((2, 2), (3, 1)):
        corpus = al.load_corpus("planted", n_train=30, n_dev=10, n_test=20, classes=classes)
        model, train = al.ModelConfig(hidden_size=4, embedding_size=4), al.TrainConfig(epochs=1)
        base, other = (al.fit(corpus, model, train, seed) for seed in (0, 1))
        apart = measures.apart(base, other, corpus)
        assert apart["tvd_trained"].to_numpy() == pytest.approx(apart["tvd"].to_numpy() / divisor)


@pytest.mark.realdata
@pytest.mark.skipif(DATA is None, reason="needs the raw corpora: set ATTNLIB_DATA")
@pytest.mark.parametrize(("name", "task", "classes"), [("babi_1", "qa", 6), ("snli", "nli", 3)])
def test_real_texts_with_a_query(name: str, task: str, classes: int) -> None:
    """A story with a question, a premise with a hypothesis: from the publishers' files to a tau."""
    params = study.Params(
        corpora=[], query_corpora=[name], limit=300, embedding_size=16, train_embeddings=True, seeds=[0],
        hidden_sizes={"lstm": 16, "cnn": 16, "mlp": 16}, attentions=["additive"], query_epochs=3, counts=[8, 12],
        gumbel_seeds=[], ablation_seeds=[], adversary_seeds=[],
    )  # fmt: skip
    corpus = al.load_corpus(params.data(name))
    study.check_texts(params, name, corpus)
    assert (params.task(name), len(corpus.classes), len(corpus.test)) == (task, classes, 300)
    assert all(len(example.query) > 0 for example in corpus.test)
    (base,) = study.models(params, name)
    fitted = al.fit(corpus, base.model, base.train, base.seed)
    found = measures.by_rank(fitted, corpus, counts=params.counts, resamples=10)
    fact, ranks = found["taus"].iloc[0], found["ranks"]
    assert (fact["n"], len(ranks)) == (300, fact["k"])
    assert fact["clusters"] in params.counts
    assert fact["output_entropy"] > 0, "the model says more than one thing"
    assert -1 <= fact["tau"] <= 1
    assert (ranks["occupied"] <= fact["clusters"]).all()
    assert (ranks["information"] >= 0).all()
