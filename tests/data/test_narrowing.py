"""Excerpts, and the length at which 95% of texts are whole."""

import pytest

from attnlib.config import DataConfig
from attnlib.data import Example, RawCorpus, RawExample, assemble
from attnlib.data.corpora import load_corpus
from attnlib.data.selection import excerpted, usual_length
from attnlib.utils.errors import ConfigError


@pytest.mark.parametrize("excerpts", [[20, 276], [["a", None]], "20:276"])
def test_excerpts_of_another_form_are_refused_before_anything_is_read(excerpts):
    with pytest.raises(ConfigError, match="Shared: excerpts"):
        load_corpus("planted", excerpts=excerpts)


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
