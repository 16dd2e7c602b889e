"""Texts of thousands of tokens: what goes through a model at once is bounded, and cutting is said."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import Corpus, Example, Preprocessing
from attnlib.erasure.flips import fraction_to_flip
from attnlib.models.classifier import AttentionClassifier
from attnlib.rankings.scores import importance
from attnlib.training import fit as training

LONG = (2000, 4000)


def long_corpus(n: int = 24) -> Corpus:
    """Texts of 2,000 to 4,000 words, one of them decisive."""
    rng = np.random.default_rng(3)

    def example(k: int) -> Example:
        words = [f"w{i}" for i in rng.integers(500, size=rng.integers(*LONG))]
        words[len(words) // 2] = ("bad", "good")[k % 2]
        return Example(tuple(words), k % 2, id=str(k))

    texts = tuple(example(k) for k in range(n + 12))
    return Corpus("long", texts[:n], texts[n : n + 6], texts[n + 6 :], ("no", "yes"), Preprocessing())


@pytest.fixture
def positions(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many padded positions each pass through a model had."""
    seen: list[int] = []
    forward = AttentionClassifier.forward

    def watched(self, batch, *args, **kwargs):
        seen.append(batch.ids.numel())
        return forward(self, batch, *args, **kwargs)

    monkeypatch.setattr(AttentionClassifier, "forward", watched)
    return seen


def test_training_and_measures_pass_a_bounded_number_of_positions_at_once(positions: list[int]) -> None:
    corpus = long_corpus()
    model = ModelConfig(encoder="cnn", hidden_size=8, embedding_size=4, kernel_sizes=(1, 3))
    fitted = training.fit(corpus, model, TrainConfig(epochs=1, batch_size=24), seed=0)
    whole_batch = 24 * max(map(len, corpus.train))
    assert max(positions) <= training.STEP_TOKENS < whole_batch
    positions.clear()
    fitted.evaluate(corpus.test)
    for example, scores in zip(corpus.test, importance(fitted, corpus.test, "alpha_grad"), strict=True):
        assert len(scores) == len(example)  # nothing was cut
    flips = fraction_to_flip(fitted, corpus.test[:2], "alpha", level="attention")
    assert flips["length"].tolist() == [len(e) for e in corpus.test[:2]]
    assert max(positions) <= 32_768


@pytest.mark.parametrize("update", ["dense", "lazy"])
def test_a_batch_in_slices_takes_the_same_step(planted, monkeypatch, positions: list[int], update: str) -> None:
    model = ModelConfig(encoder="lstm", hidden_size=8, embedding_size=6, scaling="lin")
    config = TrainConfig(epochs=2, batch_size=16, embedding_update=update, precision="float64")
    whole = training.fit(planted, model, config, seed=1)
    longest = max(positions)
    positions.clear()
    monkeypatch.setattr(training, "STEP_TOKENS", 100)
    sliced = training.fit(planted, model, config, seed=1)
    texts = {n for n in positions if n <= 100}
    assert texts
    assert longest > 100
    for name, value in whole.model.state_dict().items():
        torch.testing.assert_close(sliced.model.state_dict()[name], value, rtol=1e-7, atol=1e-9)
    drop = ["seconds"]
    pd.testing.assert_frame_equal(sliced.history.drop(columns=drop), whole.history.drop(columns=drop), rtol=1e-7)
