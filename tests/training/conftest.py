"""A corpus, and one small model of every kind trained on it."""

from __future__ import annotations

import pytest

from attnlib.data import Corpus, load_corpus
from attnlib.training.fit import fit
from attnlib.training.fitted import Fitted
from tests.training.small import MODELS, QUICK


@pytest.fixture(scope="module")
def corpus() -> Corpus:
    return load_corpus("planted", n_train=120, n_dev=40, n_test=50, shortest=8, longest=40)


@pytest.fixture(scope="module", params=MODELS)
def fitted(request, corpus) -> Fitted:
    return fit(corpus, MODELS[request.param], QUICK)


@pytest.fixture(scope="module")
def lstm(corpus) -> Fitted:
    return fit(corpus, MODELS["lstm"], QUICK)
