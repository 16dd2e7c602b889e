"""The study's measures on small trained models."""

from __future__ import annotations

import pytest

from attnlib.config import TrainConfig
from attnlib.data import load_corpus
from attnlib.measures.adversary import adversary
from attnlib.studies.tying_mlm.measures import behaviour, distances
from attnlib.studies.tying_mlm.params import Params
from attnlib.training.fit import fit
from attnlib.utils.errors import DataError

PARAMS = Params(
    corpora="planted", vectors="none", embedding_size=12, epochs=2, learning_rate=0.02, adversary_epochs=2
)


@pytest.fixture(scope="module")
def corpus():
    return load_corpus("planted", n_train=120, n_dev=40, n_test=40)


@pytest.fixture(scope="module")
def base(corpus):
    return fit(corpus, PARAMS.model("planted", "base", "additive"), PARAMS.training, seed=0)


def test_a_model_answers_every_text_under_every_attention(corpus, base) -> None:
    found = behaviour(base, corpus, permutations=3)
    swaps = found["swaps"]
    assert swaps.groupby("swap").size().to_dict() == {"trained": 40, "uniform": 40, "permuted": 120}
    trained = swaps[swaps["swap"] == "trained"]
    assert trained["change"].max() < 1e-5
    assert trained["prediction"].tolist() == found["texts"]["prediction"].tolist()
    assert trained["truth"].tolist() == [example.label for example in corpus.test]


def test_an_adversary_imitates_on_fewer_texts_with_the_same_vocabulary(corpus, base) -> None:
    train = PARAMS.adversary_training
    options = {"warm_start": base, "lam": 0.0, "divergence": "jsd", "texts": 30}
    other = adversary(corpus, base.model_config, train, 1, **options)
    assert other.vectoriser.vocabulary.words == base.vectoriser.vocabulary.words
    assert len(other.history) <= PARAMS.adversary_epochs
    found = distances(base, other, corpus)
    assert found["truth"].tolist() == [example.label for example in corpus.test]
    assert found["tvd"].between(0, 1).all()
    assert distances(base, base, corpus)[["tvd", "jsd"]].to_numpy().max() < 1e-6


def test_more_than_two_classes_are_refused() -> None:
    three = load_corpus("planted", n_train=60, n_dev=20, n_test=20, classes=3)
    fitted = fit(three, PARAMS.model("planted", "base", "dot"), TrainConfig(epochs=1), seed=0)
    with pytest.raises(DataError, match="3 classes"):
        behaviour(fitted, three)
