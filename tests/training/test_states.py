"""States of a frozen encoder: training with them is training without them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.training import initial
from attnlib.training.fit import fit
from attnlib.training.optimise import freeze

ALL = {
    "lstm": ModelConfig(encoder="lstm", embedding_size=10, hidden_size=12, boundaries=True, dropout=0.2),
    "cnn": ModelConfig(encoder="cnn", embedding_size=10, hidden_size=12, attention="dot", scaling="lin"),
    "transformer": ModelConfig(encoder="transformer", embedding_size=10, hidden_size=12, projection="sparsemax"),
    "concat": ModelConfig(encoder="gru", embedding_size=10, hidden_size=12, regulariser="concat"),
}
FROZEN = TrainConfig(epochs=3, learning_rate=0.05, freeze=("embedding", "encoder"), precision="float64")


@pytest.mark.parametrize("name", list(ALL))
def test_training_on_known_states_is_training_with_the_encoder(name, corpus, monkeypatch) -> None:
    quick = fit(corpus, ALL[name], FROZEN, seed=3)
    monkeypatch.setattr(initial, "MOST_BYTES", 0)
    slow = fit(corpus, ALL[name], FROZEN, seed=3)
    for a, b in zip(quick.model.parameters(), slow.model.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9)
    columns = ["loss", "dev_loss", "dev_accuracy"]
    np.testing.assert_allclose(quick.history[columns], slow.history[columns], rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "train"),
    [
        ({}, {"freeze": ("embedding",)}),
        ({"embedding_dropout": 0.1}, {}),
        ({"hierarchical": True}, {}),
    ],
)
def test_states_that_change_are_not_kept(changes, train, corpus) -> None:
    untrained = FROZEN.replace(**train, epochs=0)
    fitted = fit(corpus, ALL["lstm"].replace(**changes), untrained)
    freeze(fitted.model, untrained)
    encoded = fitted.vectoriser.encode(corpus.train)
    batch = fitted.vectoriser.batch(encoded[:2])
    assert initial.known_states(fitted, encoded)(batch) == {}
    kept = fit(corpus, ALL["lstm"], FROZEN.replace(epochs=0))
    freeze(kept.model, FROZEN)
    assert "hidden" in initial.known_states(kept, encoded)(batch)
