"""Files of word vectors that are none, and scores that cannot rank."""

import gzip
import pickle

import numpy as np
import pytest
from hostile.cases import meets
from hostile.watch import Payload

from attnlib import TrainConfig, fit
from attnlib.config import ModelConfig
from attnlib.data import Vocabulary
from attnlib.data.vectors import vectors
from attnlib.erasure.flips import fraction_to_flip

WORDS = Vocabulary(["good", "bad", "film"], [3, 2, 1])
LINES = b"good 1 2 3\nbad 4 5 6\nother 7 8 9\n"


def pickled(path):
    return pickle.dumps(Payload(path.parent / "canary"))


def word2vec(*words):
    numbers = np.arange(3, dtype="<f4").tobytes()
    return b"".join((w if isinstance(w, bytes) else w.encode()) + b" " + numbers + b"\n" for w in words)


VECTORS = {
    "good": (LINES, None),
    "packed": (gzip.compress(LINES), "no text file.*Unpack"),
    "a header of fastText": (b"3 3\n" + LINES, None),
    "a broken word": (b"go\xffod 1 2 3\n" + LINES, None),
    "a word with blanks": (b". . . 1 2 3\n" + LINES, None),
    "a word twice": (LINES + b"good 9 9 9\n", None),
    "line ends of Windows": (LINES.replace(b"\n", b"\r\n"), None),
    "NaN": (b"good 1 nan 3\n" + LINES, "the vector of 'good' contains nan.*Correct or remove"),
    "too large": (b"good 1 1e39 3\n" + LINES, "contains 1e\\+39.*too large"),
    "a word among numbers": (LINES + b"film 1 x 3\n", "vector 4: needs a word and 3 numbers; got 'film 1 x 3'"),
    "too many numbers": (b"good 1 2 3 4\n", "are 4 wide; got size 3. Set embedding_size=4"),
    "another width in the header": (b"3 300\n" + LINES, "vector 1: needs a word and 300 numbers"),
    "other words": (b"fremd 1 2 3\nwort 4 5 6\n", "know none of the 3 words"),
    "capitals": (LINES.upper(), "know none.*upper-case"),
    "empty": (b"", "no text file.*GloVe"),
    "noise": (bytes(range(256)) * 9, "no text file.*as text"),
    "a pickle": (pickled, "no text file.*as text"),
    "a zip": (b"PK\x03\x04" + bytes(100), "no text file"),
    "a header alone": (b"3 3\n", "holds no vector"),
    "word2vec": (b"3 3\n" + word2vec("good", "bad", "film"), None),
    "word2vec with a broken word": (b"2 3\n" + word2vec("good", b"f\xff\xfe"), None),
    "word2vec cut off within a vector": (b"2 3\n" + word2vec("good", "bad")[:-3], "cut off.*word 2 of 2"),
    "word2vec with too many words announced": (b"999999999 3\n" + word2vec("good"), "cut off.*999,999,999"),
    "word2vec with too few words announced": (b"1 3\n" + word2vec("good", "bad"), "damaged: more follows the 1 "),
    "word2vec whose word never ends": (b"2 3\n" + b"\0" * 10**5, "damaged in word 1 of 2"),
    "word2vec with a number that is none": (b"1 3\ngood " + b"\xff" * 12, "the vector of 'good' contains nan"),
    "a model of fastText": (b"\xba\x16O/\x0c\0\0\0" + bytes(200), "no text file.*fastText .bin"),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(tmp_path, monkeypatch, name):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    content, says = VECTORS[name]
    path = tmp_path / "vectors.txt"
    path.write_bytes(content(path) if callable(content) else content)
    good = says or (lambda found: found.shape == (7, 3) and np.isfinite(found).all())
    meets(lambda: vectors(str(path), WORDS, 3), good, tmp_path)
    assert not (tmp_path / "canary").exists()


@pytest.mark.parametrize("name", ["nope.txt", "", ".", "a\0b", "x" * 5000, "~nobody-of-that-name/v", "/dev/null"])
def test_names_of_vectors(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    meets(lambda: vectors(name, WORDS, 3), "no vectors|cannot be a path", tmp_path)


@pytest.fixture(scope="module")
def fitted(planted):
    config = ModelConfig(encoder="none", embedding_size=4, hidden_size=4)
    return fit(planted, config, TrainConfig(epochs=1, device="cpu"))


def lengths(examples, value):
    return [value(len(e)) for e in examples]


SCORES = {
    "words": (lambda e: lengths(e, lambda n: ["high"] * n), "no numbers.*one number per token"),
    "ragged": (lambda e: lengths(e, lambda n: [[1, 2], [3]]), "no numbers"),
    "two numbers a word": (lambda e: lengths(e, lambda n: np.ones((n, 2))), "shape"),
    "one too few": (lambda e: lengths(e, lambda n: np.ones(n - 1)), "scores for"),
    "no scores": (lambda e: lengths(e, lambda n: []), "empty ranking"),
    "NaN": (lambda e: lengths(e, lambda n: [float("nan")] * n), "NaN"),
    "fewer texts": (lambda e: lengths(e[1:], np.ones), "arrays for"),
    "a number": (lambda e: 0.5, "name of a method or one array"),
    "an unknown method": (lambda e: "attenshun", "Unknown.*Available"),
    "numbers as text": (lambda e: lengths(e, lambda n: ["0.5"] * n), None),
    "infinite": (lambda e: lengths(e, lambda n: [float("inf")] * n), None),
    "truths": (lambda e: lengths(e, lambda n: [True] * n), None),
    "all equal": (lambda e: lengths(e, np.zeros), None),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores(tmp_path, fitted, planted, name):
    examples = list(planted.test[:6])
    make, says = SCORES[name]
    says = says or (lambda frame: len(frame) == 6)
    meets(lambda: fraction_to_flip(fitted, examples, make(examples)), says, tmp_path)
