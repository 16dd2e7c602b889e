"""What is measured on each model of the study of attention ranks and information."""

from __future__ import annotations

import numpy as np
import pytest

import attnlib as al
from attnlib.measures.adversary import adversary
from attnlib.studies.mutual_information.grid import apart as distance
from attnlib.studies.mutual_information.grid import by_rank
from attnlib.studies.mutual_information.params import Params


def test_measured_on_a_small_model() -> None:
    small = {"limit": 40, "embedding_size": 6, "epochs": 1, "hidden_sizes": {"lstm": 6, "cnn": 8, "mlp": 6}}
    params = Params(corpora=["planted"], query_corpora=[], vectors="none", **small)
    base = params.models("planted")[0]
    corpus = al.load_corpus(base.data)
    fitted = al.fit(corpus, base.model, base.train, base.seed)
    found = by_rank(fitted, corpus, counts=[4, 6], texts=30, resamples=5)
    (fact,) = found["taus"].to_dict("records")
    assert (fact["n"], len(found["ranks"])) == (30, fact["k"])
    assert -1 <= fact["tau"] <= 1
    fewer = [by_rank(fitted, corpus, counts=[8, 12], texts=n, resamples=2)["taus"] for n in (20, 6)]
    assert [taus["clusters"].item() for taus in fewer] == [8, 3], "two texts for each"
    labels = found["labels"]
    assert labels["instance"].is_unique
    assert fact["accuracy"] == (labels["truth"] == labels["prediction"]).mean()
    train = base.train.replace(monitor="train_loss")
    other = adversary(corpus, base.model, train, 9, warm_start=fitted, lam=0.1, quirks=["wp_half_tvd"])
    apart = distance(fitted, other, corpus, texts=30)
    assert set(apart["instance"]) == set(labels["instance"]), "the texts that tau is measured on"
    assert apart["jsd"].between(0, np.log(2) + 1e-9).all()
    assert apart["right_base"].mean() == fact["accuracy"]


@pytest.mark.parametrize(("classes", "divisor"), [(2, 2), (3, 1)])
def test_only_two_classes_halve_the_distance(classes: int, divisor: int) -> None:
    corpus = al.load_corpus("planted", n_train=30, n_dev=10, n_test=20, classes=classes)
    model, train = al.ModelConfig(hidden_size=4, embedding_size=4), al.TrainConfig(epochs=1)
    base, other = (al.fit(corpus, model, train, seed) for seed in (0, 1))
    apart = distance(base, other, corpus)
    assert apart["tvd_trained"].to_numpy() == pytest.approx(apart["tvd"].to_numpy() / divisor)
