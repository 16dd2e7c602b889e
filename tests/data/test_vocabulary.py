import pytest

from attnlib.data import Example, Vocabulary
from attnlib.utils.errors import DataError

TEXTS = [Example(("b", "a", "a"), 0), Example(("a", "c"), 1, query=("q", "b")), Example(("<pad>",), 0)]


def test_ids_and_document_frequencies():
    vocabulary = Vocabulary.build(TEXTS)
    assert vocabulary.words == ("<pad>", "<unk>", "<sos>", "<eos>", "a", "b", "<pad>", "c", "q")
    assert vocabulary.counts == (0, 0, 0, 0, 2, 2, 1, 1, 1)
    assert len(vocabulary) == vocabulary.mask_id == 9
    assert vocabulary.ids(["c", "zzz", "a"]) == [7, 1, 4]


def test_min_df_counts_texts_not_occurrences():
    assert Vocabulary.build([Example(("x", "x", "y"), 0), Example(("y",), 0)], min_df=2).words[4:] == ("y",)


def test_a_word_occurs_once():
    with pytest.raises(DataError, match="every word once"):
        Vocabulary(["a", "a"], [1, 1])
