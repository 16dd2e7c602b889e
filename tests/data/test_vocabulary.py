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


def test_same_as_scikit_learn(planted):
    from sklearn.feature_extraction.text import CountVectorizer

    texts = [" ".join(e.tokens) for e in planted.train]
    counter = CountVectorizer(min_df=5, tokenizer=str.split, token_pattern=None, lowercase=False).fit(texts)
    assert set(Vocabulary.build(planted.train, min_df=5).words[4:]) == set(counter.vocabulary_)


def test_saved_and_loaded(planted):
    vocabulary = planted.vocabulary
    again = Vocabulary.from_json(vocabulary.to_json())
    assert again == vocabulary
    assert again.ids(planted.test[0].tokens) == vocabulary.ids(planted.test[0].tokens)


@pytest.mark.parametrize("text", ["{", "[]", '{"words": ["a"]}', '{"words": ["a", "a"], "counts": [1, 1]}'])
def test_broken_files_are_named(text):
    with pytest.raises(DataError):
        Vocabulary.from_json(text)
