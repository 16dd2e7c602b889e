"""Saved models and pretrained folders that were edited, cut off or made to harm."""

import hashlib
import json
import pickle
import shutil
from functools import partial, reduce

import pytest
import torch
from hostile.cases import meets
from hostile.watch import Payload
from safetensors.torch import load_file, save_file

from attnlib import TrainConfig, fit
from attnlib.config import ModelConfig
from attnlib.data.wordpieces import WordPieceVectoriser
from attnlib.models.bert import load_pretrained
from attnlib.training import saving
from attnlib.training.fitted import load_model

DEEP = b"[" * 100_000 + b"]" * 100_000
NOISE = bytes(range(256))
UNFIT, UNREAD, NO_JSON = "do not fit each other", "could be read from the folder", "not readable JSON"


@pytest.fixture(scope="module")
def saved(planted, tmp_path_factory):
    config = ModelConfig(encoder="lstm", embedding_size=4, hidden_size=4)
    return fit(planted, config, TrainConfig(epochs=1, device="cpu")).save(tmp_path_factory.mktemp("saved") / "m")


def values(name, **changes):
    """Values of a json file replaced; a key `a__b` reaches into a, and ... removes one."""

    def edit(folder):
        found = json.loads((folder / name).read_text())
        for key, value in changes.items():
            *outer, last = key.split("__")
            place = reduce(dict.__getitem__, outer, found)
            place[last] = value
            if value is ...:
                del place[last]
        (folder / name).write_text(json.dumps(found))

    return edit


index, config = partial(values, saving.INDEX), partial(values, "config.json")


def sealed(edit):
    """The edit, and checksums that agree with it: what somebody would do on purpose."""

    def both(folder):
        edit(folder)
        names = (saving.VECTORISER, saving.HISTORY, saving.WEIGHTS)
        index(sha256={n: hashlib.sha256((folder / n).read_bytes()).hexdigest() for n in names})(folder)

    return both


def file(name, content):
    return lambda folder: (folder / name).write_bytes(content(folder) if callable(content) else content)


def vectoriser(**changes):
    return sealed(values(saving.VECTORISER, **changes))


def tensors(name, change):
    def edit(folder):
        found = load_file(folder / name)
        change(found)
        save_file(found, folder / name, {"format": "pt"})

    return edit


def weights(change):
    return sealed(tensors(saving.WEIGHTS, change))


def shorter(name):
    return file(name, lambda folder: (folder / name).read_bytes()[:-64])


def removed(*patterns):
    return lambda folder: [path.unlink() for pattern in patterns for path in folder.glob(pattern)]


def pickled(folder):
    return pickle.dumps(Payload(folder / "canary"))


def first(found):
    return sorted(found)[0]


SAVED = {
    "untouched": (lambda folder: None, None),
    "nothing there": (shutil.rmtree, "holds no saved model.*Fitted.save"),
    "no index": (removed(saving.INDEX), "fitted.json is missing"),
    "no weights": (removed(saving.WEIGHTS), "weights.safetensors is missing.*save the model again"),
    "weights changed": (file(saving.WEIGHTS, b"x"), "checksum differs"),
    "a deep index": (file(saving.INDEX, DEEP), NO_JSON),
    "a pickle for an index": (file(saving.INDEX, pickled), NO_JSON),
    "another version": (index(version=99), "format version 99.*reads version 2"),
    "a key less": (index(classes=...), "classes is missing"),
    "a key more": (index(hook="os.system"), "Unknown option of SavedModel 'hook'"),
    "a file of another folder": (index(sha256={"../../x": "0"}), "must be 'vectoriser.json', .*got '../../x'"),
    "a config that is text": (index(model_config="lstm"), "model_config must be a valid dictionary"),
    "an unknown option": (index(model_config__hook="x"), "Unknown option of ModelConfig 'hook'"),
    "another encoder": (index(model_config__encoder="cnn"), UNFIT),
    "a width beyond all memory": (index(model_config__hidden_size=2**40), UNFIT),
    "a class more": (index(classes=["a", "b", "c"]), UNFIT),
    "one class": (index(classes=["a"]), "at least 2"),
    "a seed of text": (index(seed="x"), "seed must be a valid integer"),
    "a dtype that is a function": (index(dtype="save"), "dtype must be 'float32'.*got 'save'"),
    "an architecture": (index(architecture={"model_type": "bert", "auto_map": {"AutoModel": "x.Y"}}), None),
    "a negative rate": (index(train_config__learning_rate=-1), "learning_rate"),
    "weights of noise": (sealed(file(saving.WEIGHTS, NOISE)), UNFIT),
    "weights cut off": (sealed(shorter(saving.WEIGHTS)), "do not fit"),
    "weights with a huge header": (sealed(file(saving.WEIGHTS, b"\xff" * 8 + b"{}")), UNFIT),
    "a pickle for weights": (sealed(file(saving.WEIGHTS, pickled)), UNFIT),
    "a weight less": (weights(lambda found: found.pop(first(found))), UNFIT),
    "a weight of another shape": (weights(lambda found: found.update({first(found): torch.ones(3, 3)})), UNFIT),
    "a vectoriser of another kind": (vectoriser(kind="evil"), "Unknown kind of vectoriser 'evil'"),
    "a vectoriser without words": (vectoriser(vocabulary={"words": [], "counts": []}), "fit each other"),
    "a vocabulary that does not count": (vectoriser(vocabulary={"words": ["a"], "counts": []}), "one count"),
    "a vectoriser with more": (vectoriser(hook="x"), UNFIT),
    "preprocessing of another kind": (vectoriser(preprocessing={"clean": "rm"}), "'none', 'sst' or 'mimic'"),
    "history of noise": (sealed(file(saving.HISTORY, b"{")), NO_JSON),
    "history of another shape": (sealed(file(saving.HISTORY, b'{"a": [1], "b": [1, 2]}')), "do not fit"),
}


def meets_edited(source, tmp_path, edit, read, says):
    folder = tmp_path / "m"
    shutil.copytree(source, folder)
    edit(folder)
    meets(lambda: read(folder), says, tmp_path)
    assert not list(tmp_path.rglob("canary"))


@pytest.mark.parametrize("name", SAVED)
def test_saved_models(tmp_path, saved, name):
    edit, says = SAVED[name]
    says = says or (lambda fitted: fitted.predict(["good"]) is not None)
    meets_edited(saved, tmp_path, edit, partial(load_model, device="cpu"), says)


def test_a_full_disk_leaves_the_old_model_and_nothing_else(tmp_path, saved, monkeypatch):
    folder = tmp_path / "m"
    shutil.copytree(saved, folder)
    fitted = load_model(folder, device="cpu")

    def full(path, values):
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(saving, "_write", full)
    meets(lambda: fitted.save(folder), "No space left.*unchanged.*Make room", tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["m"]
    assert load_model(folder, device="cpu") == fitted


@pytest.mark.parametrize("place", ["", "nope", "a\0b", "x" * 5000, "~nobody-of-that-name/m"])
def test_places_without_a_model(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    meets(lambda: load_model(place), "holds no saved model|cannot be a path", tmp_path)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    from transformers import BertConfig, BertModel, BertTokenizerFast

    folder = tmp_path_factory.mktemp("tiny")
    names = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "good", "bad")
    BertTokenizerFast(vocab={name: i for i, name in enumerate(names)}).save_pretrained(folder)
    sizes = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8}
    BertModel(BertConfig(vocab_size=len(names), max_position_embeddings=16, **sizes)).save_pretrained(folder)
    return folder


def as_pickle(name):
    return lambda folder: (folder / "model.safetensors").rename(folder / name).write_bytes(pickled(folder))


def with_code(folder):
    (folder / "evil.py").write_text(f"open({str(folder / 'canary')!r}, 'w')\n")
    config(auto_map={"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}, model_type="evil")(folder)


def without(key):
    return tensors("model.safetensors", lambda found: found.pop(next(name for name in found if key in name)))


ENCODERS = {
    "untouched": (lambda folder: None, None),
    "a pickle beside safetensors": (file("pytorch_model.bin", pickled), None),
    "a pickled .bin": (as_pickle("pytorch_model.bin"), "pickle.*pytorch_model.bin.*convert to safetensors"),
    "a pickled .pt": (as_pickle("model.pt"), "convert to safetensors"),
    "no weights": (removed("model.safetensors"), "no weights in model.safetensors, only config.json"),
    "weights of noise": (file("model.safetensors", NOISE), UNREAD),
    "a pickle called safetensors": (file("model.safetensors", pickled), UNREAD),
    "weights cut off": (shorter("model.safetensors"), "could be read"),
    "no config": (removed("config.json"), UNREAD),
    "a deep config": (file("config.json", DEEP), UNREAD),
    "an unknown kind": (config(model_type="nonsense"), UNREAD),
    "code of its own": (with_code, UNREAD),
    "another width": (config(hidden_size=16), "could be read|do not fit"),
    "a layer more": (config(num_hidden_layers=2), "do not fit its config.json.*missing"),
    "heads that do not divide": (config(num_attention_heads=3), "could be read"),
    "a weight less": (without("query.weight"), "do not fit its config.json: 1 are missing"),
    "without the pooler": (without("pooler.dense.bias"), None),
}
TOKENISERS = {
    "untouched": (lambda folder: None, None),
    "none": (removed("*token*", "vocab*"), "has no words: tokenizer.json"),
    "noise": (file("tokenizer.json", NOISE), UNREAD),
    "a pickle": (file("tokenizer.json", pickled), UNREAD),
    "code of its own": (with_code, None),
}


@pytest.mark.parametrize("name", ENCODERS)
def test_pretrained_encoders(tmp_path, tiny, name):
    edit, says = ENCODERS[name]
    says = says or (lambda network: network.config.hidden_size == 8)
    meets_edited(tiny, tmp_path, edit, lambda folder: load_pretrained(str(folder)), says)


@pytest.mark.parametrize("name", TOKENISERS)
def test_pretrained_tokenisers(tmp_path, tiny, name):
    edit, says = TOKENISERS[name]
    says = says or (lambda made: made.n_ids == 7)
    meets_edited(tiny, tmp_path, edit, lambda folder: WordPieceVectoriser(str(folder)), says)
