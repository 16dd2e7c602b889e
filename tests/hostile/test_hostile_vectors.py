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


VECTORS = {
    "good": (LINES, None),
    "packed": (gzip.compress(LINES), None),
    "a header of fastText": (b"3 3\n" + LINES, None),
    "a broken word": (b"go\xffod 1 2 3\n" + LINES, None),
    "a word with blanks": (b". . . 1 2 3\n" + LINES, None),
    "a word twice": (LINES + b"good 9 9 9\n", None),
    "blank lines": (b"\n\n" + LINES + b"\n", None),
    "line ends of Windows": (LINES.replace(b"\n", b"\r\n"), None),
    "NaN": (b"good 1 nan 3\n" + LINES, "line 1: the vector of 'good' holds 'nan'.*Mend or remove"),
    "infinite": (b"good 1 inf 3\n" + LINES, "holds 'inf'"),
    "minus infinite": (b"good 1 -Infinity 3\n" + LINES, "holds '-Infinity'"),
    "too large": (b"good 1 1e39 3\n" + LINES, "holds '1e39'.*too large"),
    "words for numbers": (b"good a b c\n", "is not 3 numbers|needs a word and 3 numbers"),
    "a word among numbers": (LINES + b"film 1 x 3\n", "line 4.*'film' is not 3 numbers.*Mend"),
    "too few numbers": (LINES + b"film 1\n", "holds vectors of 1 numbers|needs a word"),
    "too many numbers": (b"good 1 2 3 4\n", "vectors of 4 numbers; got size 3. Set embedding_size=4"),
    "another width in the header": (b"3 300\n" + LINES, "vectors of 300 numbers.*embedding_size=300"),
    "other words": (b"fremd 1 2 3\nwort 4 5 6\n", "know none of the 3 words"),
    "capitals": (LINES.upper(), "know none.*upper-case"),
    "empty": (b"", "is empty.*GloVe"),
    "blank": (b"\n\n\n", "know none"),
    "noise": (
        bytes(np.random.default_rng(0).integers(0, 256, 4000, dtype=np.uint8)),
        "no text file.*exported as text",
    ),
    "zeros": (bytes(5000), "no text file"),
    "a line without end": (b"good" + b" 1" * 2**20, "longer than 1,048,576 bytes"),
    "a bomb of one line": (gzip.compress(b"1" * 2**23), "longer than 1,048,576 bytes"),
    "packed and cut off": (gzip.compress(LINES * 1000)[:-30], "cannot be read.*Get the file again"),
    "packed noise": (b"\x1f\x8b" + bytes(range(255)), "cannot be read"),
    "a pickle": (pickled, "no text file.*exported"),
    "a zip": (b"PK\x03\x04" + bytes(100), "no text file"),
    "numpy": (b"\x93NUMPY\x01\x00v\x00{'descr': '|O'}", "no text file|needs a word"),
    "a binary of word2vec": (
        b"3 3\ngood \x00\x00\x80?\x00\x00\x00@\x00\x00@@\n",
        "needs a word|no text file|numbers",
    ),
    "a page": (b"<html><body>404 not found</body></html>\n", "needs a word|numbers"),
    "a csv": (b"word,x,y,z\ngood,1,2,3\n", "numbers"),
}


@pytest.mark.parametrize("name", VECTORS)
def test_vectors(tmp_path, name):
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
    "a text for each text": (lambda e: ["good"] * len(e), "no numbers"),
    "objects": (lambda e: lengths(e, lambda n: [{}] * n), "no numbers"),
    "nothing in places": (lambda e: lengths(e, lambda n: [None] * n), "NaN|no numbers"),
    "complex": (lambda e: lengths(e, lambda n: [1j] * n), "no numbers"),
    "ragged": (lambda e: lengths(e, lambda n: [[1, 2], [3]]), "no numbers"),
    "two numbers a word": (lambda e: lengths(e, lambda n: np.ones((n, 2))), "shape"),
    "one too few": (lambda e: lengths(e, lambda n: np.ones(n - 1)), "scores for"),
    "one too many": (lambda e: lengths(e, lambda n: np.ones(n + 1)), "scores for"),
    "no scores": (lambda e: lengths(e, lambda n: []), "empty ranking"),
    "NaN": (lambda e: lengths(e, lambda n: [float("nan")] * n), "NaN"),
    "fewer texts": (lambda e: lengths(e[1:], np.ones), "arrays for"),
    "no texts": (lambda e: [], "empty for"),
    "a number": (lambda e: 0.5, "name of a method or one array"),
    "nothing": (lambda e: None, "name of a method or one array"),
    "a mapping": (lambda e: {x.id: np.ones(len(x)) for x in e}, "name of a method or one array"),
    "an unknown method": (lambda e: "attenshun", "Unknown.*Available"),
    "a table of another shape": (lambda e: np.ones((2, 3)), "rows for"),
}
GOOD_SCORES = {
    "numbers as text": lambda e: lengths(e, lambda n: ["0.5"] * n),
    "infinite": lambda e: lengths(e, lambda n: [float("inf")] * n),
    "truths": lambda e: lengths(e, lambda n: [True] * n),
    "all equal": lambda e: lengths(e, np.zeros),
}


@pytest.mark.parametrize("name", [*SCORES, *GOOD_SCORES])
def test_scores(tmp_path, fitted, planted, name):
    examples = list(planted.test[:6])
    make, says = SCORES[name] if name in SCORES else (GOOD_SCORES[name], lambda frame: len(frame) == 6)
    meets(lambda: fraction_to_flip(fitted, examples, make(examples)), says, tmp_path)
