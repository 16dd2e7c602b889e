import numpy as np
import pyarrow as pa
import pytest

from attnlib.data import Vocabulary
from attnlib.data import vectors as module
from attnlib.data.vectors import vectors
from attnlib.utils.errors import ConfigError, DataError

WORDS = Vocabulary(["the", "film", "zzz"], [10, 5, 5])
GLOVE = "the 1 2 3\nfilm -0.5 0 1e-1\nat name@x.com 9 9 9\nother 4 4 4\n"


BINARY = "2 3\n" + "".join(
    word + " " + np.array(row, "<f4").tobytes().decode("latin-1") + "\n"
    for word, row in [("the", [1, 2, 3]), ("film", [-0.5, 0, 0.1])]
)


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))


def write(path, text):
    path.write_bytes(text.encode("latin-1"))
    return str(path)


def test_random_vectors_are_seeded_and_padding_is_zero():
    first = vectors("none", WORDS, 6, seed=1)
    assert first.shape == (7, 6)
    assert (first[0] == 0).all()
    assert (first == vectors("none", WORDS, 6, seed=1)).all()
    assert not (first == vectors("none", WORDS, 6, seed=2)).all()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("glove.txt", GLOVE),
        ("wiki.vec", "4 3\n" + GLOVE),
        ("news.bin", BINARY),
        ("without line ends.bin", BINARY.replace("\nfilm", "film")[:-1]),
        ("called text.txt", BINARY),
    ],
)
def test_files(tmp_path, name, content):
    found = vectors(write(tmp_path / name, content), WORDS, 3, seed=0, oov="zero")
    np.testing.assert_allclose(found[4:], [[1, 2, 3], [-0.5, 0, 0.1], [0, 0, 0]], rtol=1e-6)
    assert (found[:4] == 0).all()


def test_unknown_words_are_drawn_at_the_scale_asked_for(tmp_path):
    path = write(tmp_path / "glove.txt", "w0 " + " ".join(["0.5", "-0.5"] * 100) + "\n")
    many = Vocabulary([f"w{i}" for i in range(200)], [1] * 200)
    assert vectors(path, many, 200, oov="normal")[5:].std() == pytest.approx(0.5, rel=0.05)
    assert vectors(path, many, 200, oov="normal", oov_scale=1.0)[5:].std() == pytest.approx(1, rel=0.05)


def test_wrong_width_says_which_to_set(tmp_path):
    for text in (GLOVE, "4 3\n" + GLOVE):
        for size in (2, 5):
            with pytest.raises(ConfigError, match="embedding_size=3"):
                vectors(write(tmp_path / "v.txt", text), WORDS, size)


def test_missing_file():
    with pytest.raises(DataError, match="'none', 'glove'"):
        vectors("nowhere.txt", WORDS, 3)


def test_a_file_is_read_once_and_again_when_it_changes(tmp_path, monkeypatch):
    path = write(tmp_path / "v.txt", GLOVE)
    first = vectors(path, WORDS, 3)
    with monkeypatch.context() as patch:
        patch.setattr(module, "convert", lambda *args: pytest.fail("read again"))
        assert (vectors(path, WORDS, 3) == first).all()
        copy = write(tmp_path / "copy.txt", GLOVE)
        assert (vectors(copy, WORDS, 3) == first).all()
    assert vectors(write(tmp_path / "v.txt", GLOVE.replace("1 2 3", "7 2 3")), WORDS, 3)[4, 0] == 7


@pytest.mark.parametrize(("name", "width"), [("glove", 50), ("word2vec", 300)])
def test_packaged_vectors_are_looked_up_by_word(monkeypatch, name, width):
    matrix = np.arange(2 * width, dtype=np.float32).reshape(2, width)
    source = module.WordVectors(pa.array(["film", "the"]), matrix)
    monkeypatch.setattr(module, "packaged_vectors", lambda asked: source if asked == name else None)
    assert (vectors(name, WORDS, width)[[5, 4]] == matrix).all()
    with pytest.raises(ConfigError, match=f"{width} wide"):
        vectors(name, WORDS, 64)
