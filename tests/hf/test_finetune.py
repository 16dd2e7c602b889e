"""Fine-tuning with masking: a copy that stands removals, the model itself unchanged."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import attnlib as al
from attnlib.hf import classifier
from attnlib.hf.classifier import masked_finetuning
from attnlib.utils.errors import ConfigError

from .planted import WORDS, planted_bert, planted_text

pytest.importorskip("transformers")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Taught by one word, and fragile: to its embeddings the mask token is the word "bad"."""
    found = al.load_model(planted_bert(tmp_path_factory.mktemp("bert"), steps=60), device="cpu")
    rows = found.model.network.get_input_embeddings().weight
    with torch.no_grad():
        rows[WORDS.index("[MASK]")] = rows[WORDS.index("bad")]
    return found


@pytest.fixture(scope="module")
def examples():
    rng = np.random.default_rng(5)
    return [al.Example(tuple(text.split()), label) for text, label in (planted_text(rng) for _ in range(200))]


def masked_loss(model, examples):
    """Mean cross-entropy with half of the words, the decisive one never among them, replaced by the mask token."""
    losses = []
    for example in examples:
        places = [i for i, word in enumerate(example.tokens) if word not in ("good", "bad")][::2]
        (logits,) = al.erase(model, [example], [[places]], operator="mask")
        losses.append(-torch.log_softmax(torch.from_numpy(logits[0]), 0)[example.label].item())
    return np.mean(losses)


@pytest.mark.slow
def test_a_copy_learns_to_stand_removals_and_the_model_stays(model, examples, monkeypatch):
    before = {name: p.clone() for name, p in model.model.network.state_dict().items()}
    monkeypatch.setattr(classifier, "EPOCHS", 8)
    monkeypatch.setattr(classifier, "RATE", 3e-3)
    options = {"seconds": 1e6}
    tuned = masked_finetuning(model, examples[:160], ("mask", "pad"), **options)
    for name, p in model.model.network.state_dict().items():
        assert torch.equal(p, before[name])
    assert not tuned.model.network.training
    assert masked_loss(tuned, examples[160:]) < 0.7 * masked_loss(model, examples[160:])
    assert tuned.evaluate(examples[160:])["accuracy"] >= model.evaluate(examples[160:])["accuracy"] - 0.05
    again = masked_finetuning(model, examples[:160], ("mask", "pad"), **options)
    assert np.array_equal(again.logits(examples[:5]), tuned.logits(examples[:5]))


def test_time_bounds_the_steps_and_few_texts_are_refused(model, examples):
    quick = masked_finetuning(model, examples, ("mask",), seconds=0.0)
    moved = np.abs(quick.logits(examples[:5]) - model.logits(examples[:5])).max()
    assert 0 < moved < 0.5  # four steps with a small learning rate
    with pytest.raises(ConfigError, match="at least 16 texts"):
        masked_finetuning(model, examples[:10], ("mask",), seconds=1.0)
