import pytest

from attnlib.data.pretrained import reading, refuse_pickles
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize(
    ("files", "says"),
    [
        (["pytorch_model.bin"], r"pickle \(pytorch_model\.bin\).*safetensors"),
        (["model.onnx"], "only model.onnx; model.safetensors is needed"),
        (["config.json"], "no weights"),
    ],
)
def test_weights_that_are_never_read(tmp_path, files, says):
    for name in files:
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(ConfigError, match=says):
        refuse_pickles(str(tmp_path))


def test_safetensors_next_to_a_pickle_are_enough_and_names_are_for_the_hub(tmp_path):
    for name in ("pytorch_model.bin", "model.safetensors"):
        (tmp_path / name).write_bytes(b"x")
    refuse_pickles(str(tmp_path))
    refuse_pickles("someone/a-model")


def test_whatever_a_library_raises_names_the_folder(tmp_path):
    with (
        pytest.raises(ConfigError, match=r"No tokeniser could be read from the folder .*\(odd\)"),
        reading("tokeniser", str(tmp_path)),
    ):
        raise RuntimeError("odd\nand more")
