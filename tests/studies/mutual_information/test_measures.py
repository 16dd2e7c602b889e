"""What is measured on each model of the study of attention ranks and information."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.measures.adversary import adversary
from attnlib.studies.mutual_information import measures
from attnlib.studies.mutual_information.grid import check_texts
from attnlib.studies.mutual_information.params import Params
from attnlib.utils import paths

DATA = paths.development_data()


@pytest.fixture(autouse=True)
def _quiet(monkeypatch) -> None:
    monkeypatch.setenv("ATTNLIB_PROGRESS", "0")


def test_numbers_of_clusters_leave_two_texts_for_each() -> None:
    assert measures.fitting_counts([8, 12], 30) == [8, 12]
    assert measures.fitting_counts([8, 12], 20) == [8]
    assert measures.fitting_counts([8, 12], 6) == [3]


def test_measured_on_a_small_model() -> None:
    sizes = {"lstm": 6, "cnn": 8, "mlp": 6}
    params = Params(
        corpora=["planted"],
        query_corpora=[],
        vectors="none",
        limit=40,
        embedding_size=6,
        hidden_sizes=sizes,
        epochs=1,
    )
    base = params.models("planted")[0]
    corpus = al.load_corpus(base.data)
    fitted = al.fit(corpus, base.model, base.train, base.seed)
    found = measures.by_rank(fitted, corpus, counts=[4, 6], texts=30, resamples=5)
    (fact,) = found["taus"].to_dict("records")
    assert (fact["n"], len(found["ranks"])) == (30, fact["k"])
    assert -1 <= fact["tau"] <= 1
    labels = found["labels"]
    assert labels["instance"].is_unique
    assert fact["accuracy"] == (labels["truth"] == labels["prediction"]).mean()
    train = base.train.replace(monitor="train_loss")
    other = adversary(corpus, base.model, train, 9, warm_start=fitted, lam=0.1, quirks=["wp_half_tvd"])
    apart = measures.apart(fitted, other, corpus, texts=30)
    assert set(apart["instance"]) == set(labels["instance"]), "the texts that tau is measured on"
    assert apart["jsd"].between(0, np.log(2) + 1e-9).all()
    assert apart["right_base"].mean() == fact["accuracy"]


@pytest.mark.parametrize(("classes", "divisor"), [(2, 2), (3, 1)])
def test_only_two_classes_halve_the_distance(classes: int, divisor: int) -> None:
    corpus = al.load_corpus("planted", n_train=30, n_dev=10, n_test=20, classes=classes)
    model, train = al.ModelConfig(hidden_size=4, embedding_size=4), al.TrainConfig(epochs=1)
    base, other = (al.fit(corpus, model, train, seed) for seed in (0, 1))
    apart = measures.apart(base, other, corpus)
    assert apart["tvd_trained"].to_numpy() == pytest.approx(apart["tvd"].to_numpy() / divisor)


@pytest.mark.realdata
@pytest.mark.skipif(DATA is None, reason="needs the raw corpora: set ATTNLIB_DATA")
@pytest.mark.parametrize(
    ("name", "folder", "task", "classes"), [("babi_1", "babi", "qa", 6), ("snli", "snli", "nli", 3)]
)
def test_real_texts_with_a_query(name: str, folder: str, task: str, classes: int) -> None:
    """A story with a question, a premise with a hypothesis: from the publishers' files to a tau."""
    params = Params(
        corpora=[], query_corpora=[{"corpus": name, "path": str(DATA / folder)}], vectors="none", limit=300,
        texts=None, embedding_size=16, seeds=[0],
        hidden_sizes={"lstm": 16, "cnn": 16, "mlp": 16}, attentions=["additive"], query_epochs=3, counts=[8, 12],
        gumbel_seeds=[], ablation_seeds=[], adversary_seeds=[],
    )  # fmt: skip
    corpus = al.load_corpus(params.data(name))
    check_texts(params, name, corpus)
    assert (params.task(name), len(corpus.classes), len(corpus.test)) == (task, classes, 300)
    assert all(len(example.query) > 0 for example in corpus.test)
    (base,) = params.models(name)
    fitted = al.fit(corpus, base.model, base.train, base.seed)
    found = measures.by_rank(fitted, corpus, counts=params.counts, resamples=10)
    fact, ranks = found["taus"].iloc[0], found["ranks"]
    assert (fact["n"], len(ranks)) == (300, fact["k"])
    assert fact["clusters"] in params.counts
    assert fact["output_entropy"] > 0, "the model says more than one thing"
    assert (ranks["occupied"] <= fact["clusters"]).all()
    assert (ranks["information"] >= 0).all()
