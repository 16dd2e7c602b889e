"""A corpus, and one small model of every kind, quickly trained on it."""

from __future__ import annotations

import pytest

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import Corpus, load_corpus
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted

MODELS = {
    "lstm": ModelConfig(embedding_size=12, hidden_size=12),
    "tasc": ModelConfig(encoder="cnn", embedding_size=12, hidden_size=12, scaling="conv", projection="sparsemax"),
    "mlm": ModelConfig(encoder="gru", embedding_size=12, hidden_size=12, regulariser="mlm", attention="dot"),
    "han": ModelConfig(encoder="mlp", embedding_size=12, hidden_size=12, hierarchical=True),
}
QUICK = TrainConfig(epochs=1, learning_rate=1e-2, device="cpu")


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("planted", n_train=120, n_dev=40, n_test=50, shortest=8, longest=40)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, corpus) -> Fitted:
    return fit(corpus, MODELS[request.param], QUICK)


@pytest.fixture(scope="module")
def lstm(corpus) -> Fitted:
    return fit(corpus, MODELS["lstm"], QUICK)
