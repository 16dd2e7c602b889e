import pytest

from attnlib.data.pretrained import pinned, reading, refuse_pickles
from attnlib.data.wordpieces import WordPieceVectoriser
from attnlib.models.bert import load_pretrained
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["pytorch_model.bin"], r"pickle \(pytorch_model\.bin\).*safetensors"),
        (["model.onnx"], "no weights in model.safetensors, only model.onnx"),
        (["config.json"], "no weights"),
    ],
)
def test_weights_that_are_never_read(tmp_path, files, says):
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ConfigError, match=says):
        refuse_pickles(str(tmp_path))


def test_whatever_a_library_raises_names_the_folder(tmp_path):
    with (
        pytest.raises(ConfigError, match=r"No tokeniser could be read from the folder .*\(odd\)"),
        reading("tokeniser", str(tmp_path)),
    ):
        raise RuntimeError("odd\nand more")


def test_a_hub_id_is_pinned_by_its_revision(tmp_path):
    assert pinned("someone/a-model@86b5e09") == ("someone/a-model", {"revision": "86b5e09"})
    assert pinned("someone/a-model") == ("someone/a-model", {})
    (tmp_path / "a@b").mkdir()
    assert pinned(str(tmp_path / "a@b")) == (str(tmp_path / "a@b"), {})
    for wrong in ("@main", "someone/a-model@", "someone/a-model@two words"):
        with pytest.raises(ConfigError, match="NAME@REVISION"):
            pinned(wrong)


def test_the_revision_reaches_the_libraries(monkeypatch):
    transformers = pytest.importorskip("transformers")
    asked = []

    def load(name, **options):
        asked.append((name, options.get("revision"), options.get("use_safetensors")))
        raise OSError("offline")

    for loader in ("AutoModel", "AutoTokenizer"):
        monkeypatch.setattr(getattr(transformers, loader), "from_pretrained", load)
    for read in (load_pretrained, WordPieceVectoriser):
        with pytest.raises(ConfigError, match="offline"):
            read("someone/a-model@86b5e09")
    assert asked == [("someone/a-model", "86b5e09", True), ("someone/a-model", "86b5e09", None)]
