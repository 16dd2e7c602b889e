"""Shares of classes, excerpts, and the length at which 95% of texts are whole."""

import numpy as np
import pytest

from attnlib.config import DataConfig
from attnlib.data import Example, RawCorpus, RawExample, assemble
from attnlib.data.corpora import load_corpus
from attnlib.data.selection import excerpted, usual_length
from attnlib.utils.errors import ConfigError, DataError

CLASSES = ("bad", "good")
ROWS = [RawExample(f"{s} text w{i}", CLASSES[i % 2], split=s) for s in ("train", "dev", "test") for i in range(200)]


def made(**values):
    return assemble(RawCorpus("toy", ROWS, classes=CLASSES, **values), DataConfig(corpus="toy"))


def test_a_class_is_thinned_to_its_share_in_every_split():
    corpus = made(shares={"good": 0.12})
    for split in (corpus.train, corpus.dev, corpus.test):
        labels = [example.label for example in split]
        assert labels.count(0) == 100, "the other class stays as it is"
        assert np.mean(labels) == pytest.approx(0.12, abs=0.005)
    assert any("thinned to 342 of 600 texts: good 12% of each split" in note for note in corpus.notes)
    assert corpus.fingerprint == made(shares={"good": 0.12}).fingerprint != made().fingerprint


def test_a_share_that_cannot_be_reached_is_refused():
    with pytest.raises(DataError, match="would need 300 train texts of the class 'good', which has 100"):
        made(shares={"good": 0.75})
    with pytest.raises(DataError, match="Did you mean 'good'"):
        made(shares={"goood": 0.12})
    with pytest.raises(DataError, match="must leave something"):
        made(shares={"good": 0.6, "bad": 0.4})


@pytest.mark.parametrize(
    "options",
    [
        *({"shares": value} for value in ({"positive": 12}, 0.1, {"positive": 0})),
        *({"excerpts": value} for value in ([20, 276], [["a", None]], "20:276")),
    ],
)
def test_other_forms_are_refused_before_anything_is_read(options):
    with pytest.raises(ConfigError, match=r"Shared: (shares|excerpts)"):
        load_corpus("planted", **options)


def test_excerpts_keep_marks_and_sentences():
    example = Example(tuple("abcdefgh"), 0, rationale=(True, False) * 4, sentences=(0, 2, 5, 7))
    ends = excerpted(example, [(1, 3), (-2, None)])
    assert (ends.tokens, ends.rationale) == (tuple("bcgh"), (False, True, True, False))
    assert ends.sentences == (0, 1, 2, 3), "each has a token left"
    assert excerpted(example, [(0, 6), (-6, None)]).tokens == example.tokens, "nothing is kept twice"
    short = excerpted(example, [(0, 3)])
    assert (short.tokens, short.rationale, short.sentences) == (tuple("abc"), (True, False, True), (0, 2))


def test_the_usual_length_is_the_left_edge_of_the_bin_that_reaches_95_percent():
    lengths = [*range(1, 1001)]  # bins of 9.99; 950 texts are reached in the 95th, which begins at 940.06
    assert usual_length(lengths) == 940
    assert usual_length([10] * 96 + [100] * 4) == 100, "below 50 the longest text decides"


def test_the_training_texts_decide_where_all_are_cut():
    long = [RawExample(" ".join(["w"] * n), label=n % 2, split="train") for n in range(1, 1001)]
    rest = [RawExample(" ".join([f"{s}{i}"] * 3000), label=i, split=s) for s in ("dev", "test") for i in (0, 1)]
    corpus = assemble(RawCorpus("toy", [*long, *rest]), DataConfig(corpus="toy", max_length="95%"))
    assert {len(example) for example in corpus.test} == {940}
    assert max(map(len, corpus.train)) == 940
