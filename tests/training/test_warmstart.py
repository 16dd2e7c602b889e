"""Starting a model from another's parameters."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.training.fit import fit
from attnlib.utils.errors import ConfigError

MODEL = ModelConfig(encoder="mlp", embedding_size=8, hidden_size=8, scaling="lin")
UNTRAINED = TrainConfig(epochs=0, device="cpu")


@pytest.fixture(scope="module")
def source(corpus):
    return fit(corpus, MODEL, TrainConfig(epochs=1, device="cpu"), seed=1)


def test_everything_is_copied(corpus, source):
    warm = fit(corpus, MODEL, UNTRAINED, seed=2, warm_start=source)
    for name, value in warm.model.state_dict().items():
        assert torch.equal(value, source.model.state_dict()[name])
    assert warm.notes == ()


def test_chosen_parts_are_copied_and_can_be_frozen(corpus, source):
    parts = ("embedding", "encoder")
    config = TrainConfig(epochs=1, freeze=parts, device="cpu")
    cold = fit(corpus, MODEL, UNTRAINED, seed=2)
    warm = fit(corpus, MODEL, config, seed=2, warm_start=source, warm_parts=parts)
    mine, theirs, start = (f.model.parts() for f in (warm, source, cold))
    for part in ("embedding", "encoder"):
        for a, b in zip(mine[part].parameters(), theirs[part].parameters(), strict=True):
            assert torch.equal(a, b)
    untouched = fit(corpus, MODEL, UNTRAINED, seed=2, warm_start=source, warm_parts=parts).model.parts()
    for part in ("attention", "decoder"):
        for a, b in zip(untouched[part].parameters(), start[part].parameters(), strict=True):
            assert torch.equal(a, b)


def test_what_does_not_fit_is_reported(corpus, source):
    warm = fit(corpus, MODEL.replace(hidden_size=6), UNTRAINED, seed=2, warm_start=source)
    (note,) = warm.notes
    assert "decoder.weight (shape (2, 8) is not (2, 6))" in note
    assert "embedding" not in note
    (note,) = fit(corpus, MODEL.replace(scaling="conv"), UNTRAINED, warm_start=source).notes
    assert "scaling.channels.weight (the other model has none)" in note
    (note,) = fit(replace(corpus, min_df=50), MODEL, UNTRAINED, warm_start=source).notes
    assert "embedding.weight (the other model has another vocabulary)" in note


def test_a_start_that_fits_nowhere_is_an_error(corpus, source):
    with pytest.raises(ConfigError, match=r"fits nowhere: attention\.key\.weight"):
        fit(corpus, MODEL.replace(hidden_size=6), UNTRAINED, warm_start=source, warm_parts=("attention",))
    with pytest.raises(ConfigError, match=r"Unknown part in warm_parts 'encodr'\. Did you mean 'encoder'"):
        fit(corpus, MODEL, UNTRAINED, warm_start=source, warm_parts=("encodr",))
