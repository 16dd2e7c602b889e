"""Saved models and pretrained folders that were edited, cut off or made to harm."""

import hashlib
import json
import pickle
import shutil

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

DEEP = "[" * 100_000 + "]" * 100_000


@pytest.fixture(scope="module")
def saved(planted, tmp_path_factory):
    config = ModelConfig(encoder="lstm", embedding_size=4, hidden_size=4)
    return fit(planted, config, TrainConfig(epochs=1, device="cpu")).save(tmp_path_factory.mktemp("saved") / "m")


def index(**changes):
    """Values of the index replaced; None removes one. A key `a__b` reaches into a."""

    def edit(folder):
        values = json.loads((folder / saving.INDEX).read_text())
        for name, value in changes.items():
            *outer, last = name.split("__")
            place = values
            for key in outer:
                place = place[key]
            if value is ...:
                del place[last]
            else:
                place[last] = value
        (folder / saving.INDEX).write_text(json.dumps(values))

    return edit


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
    def edit(folder):
        values = json.loads((folder / saving.VECTORISER).read_text())
        (folder / saving.VECTORISER).write_text(json.dumps(values | changes))

    return sealed(edit)


def weights(change):
    def edit(folder):
        values = load_file(folder / saving.WEIGHTS)
        change(values)
        save_file(values, folder / saving.WEIGHTS)

    return sealed(edit)


def pickled(folder):
    return pickle.dumps(Payload(folder / "canary"))


def first(values):
    return sorted(values)[0]


SAVED = {
    "untouched": (lambda folder: None, None),
    "nothing there": (shutil.rmtree, "holds no saved model.*Fitted.save"),
    "no index": (lambda f: (f / saving.INDEX).unlink(), "fitted.json is missing"),
    "no weights": (lambda f: (f / saving.WEIGHTS).unlink(), "weights.safetensors is missing.*save the model again"),
    "no vectoriser": (lambda f: (f / saving.VECTORISER).unlink(), "vectoriser.json is missing"),
    "weights changed": (file(saving.WEIGHTS, b"x"), "checksum differs"),
    "an empty index": (file(saving.INDEX, b""), "not readable JSON"),
    "an index of noise": (file(saving.INDEX, bytes(range(256))), "not readable JSON"),
    "a deep index": (file(saving.INDEX, DEEP.encode()), "not readable JSON"),
    "an index that is a list": (file(saving.INDEX, b"[]"), "format version None"),
    "a pickle for an index": (file(saving.INDEX, pickled), "not readable JSON"),
    "another version": (index(version=99), "format version 99.*reads version 2"),
    "a key less": (index(classes=...), "classes is missing"),
    "a key more": (index(hook="os.system"), "Unknown option of SavedModel 'hook'"),
    "a file of another folder": (index(sha256={"../../x": "0"}), "must be 'vectoriser.json', .*got '../../x'"),
    "checksums that are a list": (index(sha256=[]), "sha256 must be a valid dictionary"),
    "a config that is text": (index(model_config="lstm"), "model_config must be a valid dictionary"),
    "an unknown option": (index(model_config__hook="x"), "Unknown option of ModelConfig 'hook'"),
    "an unknown encoder": (index(model_config__encoder="lstn"), "Did you mean 'lstm'"),
    "another encoder": (index(model_config__encoder="cnn"), "do not fit each other"),
    "another width": (index(model_config__hidden_size=8), "do not fit each other"),
    "a width beyond all memory": (index(model_config__hidden_size=2**40), "do not fit each other"),
    "a thousand layers": (index(model_config__layers=1000), "layers"),
    "a class more": (index(classes=["a", "b", "c"]), "do not fit each other"),
    "one class": (index(classes=["a"]), "at least 2"),
    "classes of numbers": (index(classes=[0, 1]), r"classes\[0\] must be a valid string"),
    "a query": (index(query=True), "do not fit each other"),
    "a query of text": (index(query="no"), "query must be a valid boolean"),
    "a seed of text": (index(seed="x"), "seed must be a valid integer"),
    "a seed without end": (index(seed="x" * 10_000), "seed must be a valid integer.*…"),
    "a dtype that is a function": (index(dtype="save"), "dtype must be 'float32'.*got 'save'"),
    "a dtype of whole numbers": (index(dtype="int8"), "dtype must be"),
    "an architecture": (index(architecture={"model_type": "bert", "auto_map": {"AutoModel": "x.Y"}}), None),
    "an architecture of text": (index(architecture="bert"), "architecture must be"),
    "a negative rate": (index(train_config__learning_rate=-1), "learning_rate"),
    "weights of noise": (sealed(file(saving.WEIGHTS, bytes(range(256)) * 4)), "do not fit each other"),
    "no byte of weights": (sealed(file(saving.WEIGHTS, b"")), "do not fit each other"),
    "weights cut off": (
        sealed(lambda f: file(saving.WEIGHTS, (f / saving.WEIGHTS).read_bytes()[:-64])(f)),
        "do not fit",
    ),
    "weights with a huge header": (sealed(file(saving.WEIGHTS, b"\xff" * 8 + b"{}")), "do not fit each other"),
    "a pickle for weights": (sealed(file(saving.WEIGHTS, pickled)), "do not fit each other"),
    "a weight less": (weights(lambda v: v.pop(first(v))), "do not fit each other"),
    "a weight more": (weights(lambda v: v.update(extra=torch.ones(2))), "do not fit each other"),
    "a weight of another shape": (
        weights(lambda v: v.update({first(v): torch.ones(3, 3, 3)})),
        "do not fit each other",
    ),
    "a vectoriser of noise": (sealed(file(saving.VECTORISER, bytes(range(256)))), "do not fit each other"),
    "a deep vectoriser": (sealed(file(saving.VECTORISER, DEEP.encode())), "do not fit each other"),
    "a vectoriser that is a list": (sealed(file(saving.VECTORISER, b"[]")), "do not fit each other"),
    "a vectoriser of another kind": (vectoriser(kind="evil"), "Unknown kind of vectoriser 'evil'"),
    "a vectoriser without words": (vectoriser(vocabulary={"words": [], "counts": []}), "fit each other"),
    "a vocabulary that does not count": (vectoriser(vocabulary={"words": ["a"], "counts": []}), "one count"),
    "a vectoriser with more": (vectoriser(hook="x"), "do not fit each other"),
    "preprocessing of another kind": (vectoriser(preprocessing={"clean": "rm"}), "'none', 'sst' or 'mimic'"),
    "history of noise": (sealed(file(saving.HISTORY, b"{")), "not readable JSON"),
    "history of another shape": (sealed(file(saving.HISTORY, b'{"a": [1], "b": [1, 2]}')), "do not fit"),
}


@pytest.mark.parametrize("name", SAVED)
def test_saved_models(tmp_path, saved, name):
    edit, says = SAVED[name]
    folder = tmp_path / "m"
    shutil.copytree(saved, folder)
    edit(folder)
    meets(
        lambda: load_model(folder, device="cpu"),
        says or (lambda fitted: fitted.predict(["good"]) is not None),
        tmp_path,
    )
    assert not list(tmp_path.rglob("canary"))


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


def config(**changes):
    def edit(folder):
        values = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(values | changes))

    return edit


def as_pickle(name, content=pickled):
    def edit(folder):
        (folder / "model.safetensors").unlink()
        (folder / name).write_bytes(content(folder))

    return edit


def with_code(folder):
    (folder / "evil.py").write_text(f"open({str(folder / 'canary')!r}, 'w')\n")
    config(auto_map={"AutoModel": "evil.Model", "AutoConfig": "evil.Config"}, model_type="evil")(folder)


def without(key):
    def edit(folder):
        values = load_file(folder / "model.safetensors")
        values.pop(next(name for name in values if key in name))
        save_file(values, folder / "model.safetensors", {"format": "pt"})

    return edit


ENCODERS = {
    "untouched": (lambda folder: None, None),
    "a pickle beside safetensors": (file("pytorch_model.bin", pickled), None),
    "a pickled .bin": (as_pickle("pytorch_model.bin"), "pickle.*pytorch_model.bin.*convert to safetensors"),
    "a pickled .pt": (as_pickle("model.pt"), "convert to safetensors"),
    "a pickled .ckpt": (as_pickle("model.ckpt"), "convert to safetensors"),
    "weights of TensorFlow": (
        as_pickle("tf_model.h5", lambda f: b"x"),
        "no weights in model.safetensors, only .*tf_model.h5",
    ),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "no weights in model.safetensors"),
    "nothing at all": (lambda f: [p.unlink() for p in f.iterdir()], "no weights"),
    "weights of noise": (file("model.safetensors", bytes(range(256))), "could be read from the folder"),
    "a pickle called safetensors": (file("model.safetensors", pickled), "could be read from the folder"),
    "weights cut off": (
        lambda f: file("model.safetensors", (f / "model.safetensors").read_bytes()[:-50])(f),
        "could be read",
    ),
    "no config": (lambda f: (f / "config.json").unlink(), "could be read from the folder"),
    "a config of noise": (file("config.json", bytes(range(256))), "could be read from the folder"),
    "a deep config": (file("config.json", DEEP.encode()), "could be read from the folder"),
    "a config that is a list": (file("config.json", b"[]"), "could be read from the folder"),
    "an unknown kind": (config(model_type="nonsense"), "could be read from the folder"),
    "code of its own": (with_code, "could be read from the folder"),
    "another width": (config(hidden_size=16), "could be read|do not fit"),
    "a layer more": (config(num_hidden_layers=2), "do not fit its config.json.*missing"),
    "heads that do not divide": (config(num_attention_heads=3), "could be read"),
    "a weight less": (without("query.weight"), "do not fit its config.json: 1 are missing"),
    "without the pooler": (without("pooler.dense.bias"), None),
}
TOKENISERS = {
    "untouched": (lambda folder: None, None),
    "none": (
        lambda f: [p.unlink() for p in f.glob("*token*")] + [p.unlink() for p in f.glob("vocab*")],
        "has no words: tokenizer.json",
    ),
    "noise": (file("tokenizer.json", bytes(range(256))), "No tokeniser could be read"),
    "deep": (file("tokenizer.json", DEEP.encode()), "No tokeniser could be read"),
    "an empty object": (file("tokenizer.json", b"{}"), "No tokeniser could be read"),
    "a pickle": (file("tokenizer.json", pickled), "No tokeniser could be read"),
    "code of its own": (with_code, None),
}


def copied(tiny, tmp_path, edit):
    folder = tmp_path / "model"
    shutil.copytree(tiny, folder)
    edit(folder)
    return folder


@pytest.mark.parametrize("name", ENCODERS)
def test_pretrained_encoders(tmp_path, tiny, name):
    edit, says = ENCODERS[name]
    folder = copied(tiny, tmp_path, edit)
    meets(lambda: load_pretrained(str(folder)), says or (lambda network: network.config.hidden_size == 8), tmp_path)
    assert not (folder / "canary").exists()


@pytest.mark.parametrize("name", TOKENISERS)
def test_pretrained_tokenisers(tmp_path, tiny, name):
    edit, says = TOKENISERS[name]
    folder = copied(tiny, tmp_path, edit)
    meets(lambda: WordPieceVectoriser(str(folder)), says or (lambda made: made.n_ids == 7), tmp_path)
    assert not (folder / "canary").exists()
