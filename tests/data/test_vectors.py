import gzip

import numpy as np
import pytest

from attnlib.data import Vocabulary
from attnlib.data.vectors import vectors
from attnlib.utils.errors import ConfigError, DataError

WORDS = Vocabulary(["the", "film", "zzz"], [10, 5, 5])
GLOVE = "the 1 2 3\nfilm -0.5 0 1e-1\nat name@x.com 9 9 9\nother 4 4 4\n"


def write(path, text):
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return str(path)


def test_random_vectors_are_seeded_and_padding_is_zero():
    first = vectors("none", WORDS, 6, seed=1)
    assert first.shape == (7, 6)
    assert (first[0] == 0).all()
    assert (first == vectors("none", WORDS, 6, seed=1)).all()
    assert not (first == vectors("none", WORDS, 6, seed=2)).all()


@pytest.mark.parametrize("name", ["glove.txt", "wiki.vec", "wiki.vec.gz"])
def test_text_files(tmp_path, name):
    header = "4 3\n" if "vec" in name else ""
    found = vectors(write(tmp_path / name, header + GLOVE), WORDS, 3, seed=0, oov="zero")
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


@pytest.mark.parametrize(("text", "message"), [("the 1 2 x\n", "line 1"), ("other 1 2 3\n", "none of the 3 words")])
def test_unusable_files_are_named(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        vectors(write(tmp_path / "v.txt", text), WORDS, 3)


def test_missing_file_and_unknown_treatment():
    with pytest.raises(DataError, match="'none', 'glove'"):
        vectors("nowhere.txt", WORDS, 3)
    with pytest.raises(ConfigError, match="'normal' or 'zero'"):
        vectors("none", WORDS, 3, oov="random")


def test_packaged_glove_is_looked_up_by_word(monkeypatch):
    from attnlib.data.readers import packaged

    matrix = np.arange(100, dtype=np.float32).reshape(2, 50)
    monkeypatch.setattr(packaged, "glove", lambda: packaged.WordVectors({"film": 0, "the": 1}, matrix))
    found = vectors("glove", WORDS, 50)
    assert (found[4] == matrix[1]).all()
    assert (found[5] == matrix[0]).all()
    with pytest.raises(ConfigError, match="50 wide"):
        vectors("glove", WORDS, 300)
