"""load_model: what is read, what is refused and why, and how classes map to a corpus's."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

import attnlib as al
from attnlib.engine.explainable import aligned
from attnlib.utils.errors import ConfigError, DataError

from .conftest import TEXTS, build, save, wordpiece


def changed(folder, new, **values):
    """A copy of a checkpoint with other values in its config."""
    shutil.copytree(folder, new)
    config = json.loads((new / "config.json").read_text())
    (new / "config.json").write_text(json.dumps(config | values))
    return new


def test_a_model_of_attnlib_loads_by_the_same_call(planted_fitted, tmp_path):
    fitted, texts = planted_fitted
    folder = fitted.save(tmp_path / "own")
    again = al.load_model(folder, device="cpu")
    assert isinstance(again, al.Fitted)
    assert np.array_equal(again.logits(texts), fitted.logits(texts))
    with pytest.raises(ConfigError, match="leave out classes, query"):
        al.load_model(folder, classes=("a", "b"), query=True)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (
            {"problem_type": "multi_label_classification"},
            "multi-label classifier: it decides on each class by itself",
        ),
        ({"problem_type": "regression"}, "is a regression"),
        ({"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}, "is a regression"),
        ({"is_encoder_decoder": True}, "an encoder and a decoder"),
        ({"id2label": {"0": "same", "1": "same"}}, "as many different names"),
    ],
)
def test_models_without_one_class_per_text_are_refused(folders, tmp_path, values, why):
    with pytest.raises(ConfigError, match=why):
        al.load_model(changed(folders("bert"), tmp_path / "other", **values), device="cpu")


def test_remote_code_is_not_run(folders, tmp_path):
    folder = changed(folders("bert"), tmp_path / "remote", model_type="own", auto_map={"AutoConfig": "own.Config"})
    (folder / "own.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\nclass Config: pass\n")
    with pytest.raises(ConfigError, match="No configuration could be read"):
        al.load_model(folder, device="cpu")
    assert not (tmp_path / "ran").exists()


def test_places_that_hold_nothing_say_so(tmp_path, monkeypatch):
    with pytest.raises(
        DataError, match=r"neither a model saved by attnlib \(fitted.json\) nor a Hugging Face model"
    ):
        al.load_model(tmp_path)
    with pytest.raises(DataError, match="There is no folder"):
        al.load_model(tmp_path / "absent")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ConfigError, match="could be read from the name 'nobody/nothing-here'"):
        al.load_model("nobody/nothing-here", revision="main")


def test_length_and_names_are_checked(folders):
    with pytest.raises(ConfigError, match="between 3 and 64"):
        al.load_model(folders("bert"), max_length=65)
    longest = al.load_model(folders("roberta"), device="cpu").vectoriser.max_length
    assert longest == 64, "two of its positions are not words"
    with pytest.raises(ConfigError, match=r"has 2 .*Got a, b, c"):
        al.load_model(folders("bert"), classes=("a", "b", "c"))
    model = al.load_model(folders("bert"), device="cpu", classes=("bad", "good"), max_length=5)
    assert model.classes == ("bad", "good")
    with pytest.warns(UserWarning, match="more than 5 pieces"):
        assert set(model.predict(TEXTS).labels) <= {"bad", "good"}


def test_classes_map_to_the_data_by_name(tmp_path):
    names = {0: "Very-Negative", 1: "positive", 2: "neutral"}
    model = al.load_model(build("bert", tmp_path, id2label=names, label2id={v: k for k, v in names.items()}), "cpu")
    logits = model.logits(TEXTS)
    ours = aligned(model, ("positive", "very_negative", "Neutral"))
    assert ours.classes == ("positive", "very_negative", "Neutral")
    np.testing.assert_allclose(ours.logits(TEXTS), logits[:, [1, 0, 2]])
    fewer = aligned(model, ("neutral", "positive"))
    assert fewer.classes == ("neutral", "positive", "Very-Negative")
    np.testing.assert_allclose(aligned(ours, ("neutral", "positive")).logits(TEXTS), logits[:, [2, 1, 0]])
    for scores, same in zip(
        al.importance(model, TEXTS, "omission"), al.importance(ours, TEXTS, "omission"), strict=True
    ):
        np.testing.assert_allclose(scores, same, atol=1e-6)
    with pytest.raises(DataError, match=r"Very-Negative, positive, neutral\. Data: positive, negative\."):
        aligned(model, ("positive", "negative"))


def test_numbered_classes_map_to_whole_numbers_only(folders):
    model = al.load_model(folders("bert"), device="cpu")
    assert aligned(model, ("1", "0")).classes == ("1", "0")
    np.testing.assert_allclose(aligned(model, ("1", "0")).logits(TEXTS), model.logits(TEXTS)[:, ::-1])
    assert aligned(model, ("LABEL_0", "LABEL_1")).classes == ("LABEL_0", "LABEL_1")
    with pytest.raises(DataError, match=r"LABEL_0, LABEL_1\. Data: neg, pos.*classes=\(…\)"):
        aligned(model, ("neg", "pos"))
    with pytest.raises(DataError, match="do not map"):
        aligned(model, ("1", "2"))


def test_a_model_that_attends_in_its_own_way_is_erased_but_not_read(tmp_path):
    """DeBERTa computes its attention itself: predictions, gradients and erasure work, readings say why not."""
    import transformers as hf

    tokenizer = wordpiece()
    config = hf.DebertaV2Config(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=16
    )
    model = al.load_model(save(hf.DebertaV2ForSequenceClassification(config), tokenizer, tmp_path), device="cpu")
    assert len(al.fraction_to_flip(model, TEXTS, "omission")) == len(TEXTS)
    assert len(al.importance(model, TEXTS, "input_x_grad")) == len(TEXTS)
    with pytest.raises(ConfigError, match="does not use transformers"):
        al.importance(model, TEXTS, "rollout")
