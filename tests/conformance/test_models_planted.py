"""Every pair of parts, trained by `fit` on the planted corpus, saved, loaded and asked in other batches."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from attnlib.config import TrainConfig
from attnlib.data import load_corpus
from attnlib.training.fit import fit
from attnlib.training.fitted import load_model
from tests.models.helpers import config_of, pairwise_cover


@functools.cache
def corpus(query: bool):
    task = {"task": "qa"} if query else {}
    return load_corpus("planted", n_train=96, n_dev=24, n_test=24, **task)


def name(choice) -> str:
    return "-".join(str(k if v is True else v) for k, v in choice.items() if v not in (False, "none")) or "none"


@pytest.mark.parametrize("choice", list(pairwise_cover()), ids=name)
def test_trains_saves_and_does_not_depend_on_the_batch(choice, tmp_path):
    texts = corpus(choice["query"])
    config = config_of(choice, boundaries=True)
    fitted = fit(texts, config, TrainConfig(epochs=2, batch_size=16, learning_rate=0.01, patience=None), seed=0)
    history = fitted.history
    assert history["loss"].iloc[-1] < history["loss"].iloc[0]
    extra = {"tying", "mlm"} & {choice["regulariser"]}
    assert extra <= set(history.columns)
    logits = fitted.logits(texts.test)
    assert np.isfinite(logits).all()
    np.testing.assert_allclose(fitted.logits(texts.test, batch_size=1), logits, rtol=0, atol=1e-5)
    np.testing.assert_allclose(fitted.logits(texts.test[::-1], batch_size=7)[::-1], logits, rtol=0, atol=1e-5)
    fitted.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model", device="cpu").logits(texts.test), logits)
