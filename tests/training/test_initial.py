"""What a model starts as follows its config."""

from __future__ import annotations

import numpy as np
import pytest

from attnlib.config import ModelConfig
from attnlib.training.initial import initial_model, make_vectoriser, word_vectors


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
