"""What a model starts from: its config, parameters of another, states of a frozen encoder."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.training import initial
from attnlib.training.fit import fit
from attnlib.training.initial import initial_model, make_vectoriser, word_vectors
from attnlib.training.optimise import freeze
from attnlib.utils.errors import ConfigError


def test_word_vectors_are_the_first_embeddings(corpus):
    config = ModelConfig(vectors="glove")
    vectoriser = make_vectoriser(corpus, config)
    vectors = word_vectors(vectoriser, config, seed=0)
    model = initial_model(config, vectoriser, 2, vectors=vectors, query=False)
    np.testing.assert_allclose(model.embedding.weight[1:].detach(), vectors[1:])
    assert word_vectors(vectoriser, ModelConfig(), seed=0) is None


def test_words_without_a_vector_start_as_the_config_says(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path))
    known = corpus.vocabulary.words[4]
    (tmp_path / "v.txt").write_text(f"{known} 1 2 3\n")
    for options, scale in (({"oov": "zero"}, 0), ({"oov_scale": 1.0}, 1), ({"oov_scale": 0.1}, 0.1)):
        config = ModelConfig(vectors=str(tmp_path / "v.txt"), embedding_size=3, **options)
        found = word_vectors(make_vectoriser(corpus, config), config, seed=0)
        assert found[4].tolist() == [1, 2, 3]
        assert found[5:].std() == pytest.approx(scale, rel=0.2)


def test_boundaries_and_sentences_are_the_vectorisers(corpus):
    text = corpus.test[0]
    for option, width in (({}, len(text)), ({"boundaries": True}, len(text) + 2)):
        vectoriser = make_vectoriser(corpus, ModelConfig(**option))
        assert vectoriser.batch(vectoriser.encode([text])).ids.shape[1] == width
    vectoriser = make_vectoriser(corpus, ModelConfig(hierarchical=True))
    assert vectoriser.batch(vectoriser.encode([text])).sentences is not None


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
