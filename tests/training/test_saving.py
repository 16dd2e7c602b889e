"""Saving and loading: everything comes back, damage is named, nothing half-written stays."""

from __future__ import annotations

import copy
import os
import shutil
from dataclasses import replace

import pytest
import torch

from attnlib.config import ModelConfig
from attnlib.models.attention import Additive
from attnlib.training.fit import fit
from attnlib.training.fitted import load_model
from attnlib.utils.errors import ConfigError, DataError
from tests.training.conftest import MODELS, QUICK


def test_saving_and_loading_keep_everything(fitted, corpus, tmp_path):
    folder = fitted.save(tmp_path / "deep" / "model")
    again = load_model(folder, device="cpu")
    assert again == fitted
    assert again.history.equals(fitted.history)
    assert (again.predict(corpus.test).probabilities == fitted.predict(corpus.test).probabilities).all()
    assert {p.name for p in folder.iterdir()} == {
        "fitted.json",
        "vectoriser.json",
        "history.json",
        "weights.safetensors",
    }
    assert not [p for p in folder.parent.iterdir() if p != folder], "nothing temporary stays"


def test_a_saved_model_can_be_replaced_and_nothing_else(lstm, corpus, tmp_path):
    other = fit(corpus, MODELS["lstm"], QUICK, seed=1)
    lstm.save(tmp_path / "m")
    other.save(tmp_path / "m")
    assert load_model(tmp_path / "m", device="cpu") == other
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter1.tex").write_text("dear")
    with pytest.raises(DataError, match="holds something else"):
        lstm.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter1.tex").read_text() == "dear"


def test_a_failed_save_leaves_the_old_model(lstm, tmp_path, monkeypatch):
    lstm.save(tmp_path / "m")
    with monkeypatch.context() as patch:
        patch.setattr(type(lstm.vectoriser), "to_json", lambda vectoriser: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            lstm.save(tmp_path / "m")
    assert load_model(tmp_path / "m", device="cpu") == lstm
    assert os.listdir(tmp_path) == ["m"]


def test_a_model_that_its_config_does_not_make_is_not_saved(lstm, tmp_path):
    """Loaded again it would be another model, with the weights of this one."""
    changed = replace(lstm, model=copy.deepcopy(lstm.model))
    changed.model.reader.attention = Doubled(lstm.model_config, changed.model.reader.width)
    with pytest.raises(ConfigError, match=r"reader\.attention is Doubled, and its ModelConfig makes Additive"):
        changed.save(tmp_path / "m")
    assert not (tmp_path / "m").exists()


class Doubled(Additive):
    """Has the parameters of additive attention, and other scores."""

    def finish(self, keys, query=None):
        return 2 * super().finish(keys, query)


@pytest.fixture
def tiny_bert(tmp_path, corpus) -> str:
    """A pretrained encoder of two layers, in a folder as `save_pretrained` writes it."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *corpus.vocabulary.words[4:])
    folder = str(tmp_path / "tiny")
    BertTokenizerFast(vocab={name: i for i, name in enumerate(names)}).save_pretrained(folder)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    with torch.random.fork_rng():
        torch.manual_seed(0)
        BertModel(BertConfig(vocab_size=len(names), max_position_embeddings=64, **sizes)).save_pretrained(folder)
    return folder


@pytest.mark.parametrize("update", ["dense", "lazy"])
def test_a_pretrained_encoder_is_saved_with_its_weights(corpus, tiny_bert, tmp_path, update):
    config = QUICK.replace(learning_rates={"encoder": 1e-3, "embedding": 1e-3}, embedding_update=update)
    fitted = fit(corpus, ModelConfig(encoder="bert", pretrained=tiny_bert, scaling="lin"), config)
    assert fitted == fit(corpus, fitted.model_config, config)
    folder = fitted.save(tmp_path / "m")
    shutil.rmtree(tiny_bert)  # a saved model needs nothing but itself
    again = load_model(folder, device="cpu")
    assert again == fitted
    assert (again.predict(corpus.test).probabilities == fitted.predict(corpus.test).probabilities).all()
    assert again.tokens(corpus.test[0]) == fitted.tokens(corpus.test[0])
