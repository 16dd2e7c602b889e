"""Packed texts: the same Examples in a fraction of the memory, and the same batches."""

import pickle
import tracemalloc

import numpy as np
import pytest

from attnlib.data import Example, WordVectoriser, load_corpus
from attnlib.data.preprocess import sentence_starts
from attnlib.data.texts import Packer, Texts, packed
from attnlib.data.vocabulary import EOS_ID, SOS_ID, Vocabulary

EXAMPLES = (
    Example(("a", "b", "a", "."), 1, ("b", "?"), (True, False, False, False), "one", (0, 2)),
    Example(("c",), 0, None, None, "two"),
    Example(("b", ".", "."), 1, ("a",), (False, True, True), "three", (0,)),
    Example((".",), 0, ("d",), None, "four"),
)


def test_texts_are_the_examples_they_were_packed_from():
    texts = packed(EXAMPLES)
    assert texts == EXAMPLES
    assert tuple(texts) == EXAMPLES
    assert [texts[i] for i in range(4)] == list(EXAMPLES)
    assert texts[-1] == EXAMPLES[-1]
    assert texts[1:3] == EXAMPLES[1:3]
    assert texts[::-2] == EXAMPLES[::-2]
    assert texts.take([2, 0, 2]) == (EXAMPLES[2], EXAMPLES[0], EXAMPLES[2])
    assert texts != EXAMPLES[:3]
    assert texts != (*EXAMPLES[:3], EXAMPLES[0])
    assert texts != "text"
    assert (*texts, EXAMPLES[0]) == (*EXAMPLES, EXAMPLES[0]) == texts + EXAMPLES[:1]
    assert pickle.loads(pickle.dumps(texts[1:])) == EXAMPLES[1:]
    assert packed(texts) is texts
    assert isinstance(texts[1:], Texts)
    with pytest.raises(IndexError):
        texts[4]
    assert len(packed([])) == 0
    assert tuple(packed([])) == ()


def test_a_vocabulary_counts_packed_texts_as_it_counts_examples():
    for min_df in (1, 2):
        assert Vocabulary.build(packed(EXAMPLES), min_df) == Vocabulary.build(EXAMPLES, min_df)


def test_words_of_another_split_are_not_in_the_vocabulary():
    packer = Packer()
    train, test = packer.pack(EXAMPLES[:2]), packer.pack(EXAMPLES[2:])
    assert train.words is test.words
    assert "d" in train.words
    assert "d" not in Vocabulary.build(train)
    assert "d" in Vocabulary.build(test)


def test_texts_with_a_known_token_are_found():
    texts = packed(EXAMPLES)
    known = np.array([word in "ac" for word in texts.words])
    assert texts.holding(known).tolist() == [True, True, False, False]


def test_readable_texts_are_whole():
    assert not packed(EXAMPLES).readable(query=True)
    assert not packed(EXAMPLES).readable(query=False)
    assert packed(EXAMPLES[2:]).readable(query=True)
    assert packed(EXAMPLES[1:2]).readable(query=False)
    assert not packed([Example((), 0)]).readable(query=False)
    assert not packed([]).readable(query=False)


def encoded_alone(vectoriser, example):
    """The slow definition of what a text is as arrays, word by word."""
    words = example.tokens[: vectoriser.max_length]
    seen = [word not in vectoriser.unattended for word in words]
    ids, content = vectoriser.vocabulary.ids(words), seen if any(seen) else [True] * len(words)
    index, numbers = [*range(len(words))], None
    if vectoriser.sentences:
        starts = sentence_starts(words) if example.sentences is None else example.sentences
        numbers = np.searchsorted(starts[1:], index, side="right").tolist()
    if vectoriser.special:
        ids, content, index = [SOS_ID, *ids, EOS_ID], [False, *content, False], [-1, *index, -1]
        numbers = None if numbers is None else [0, *numbers, *(numbers[-1:] or [0])]
    query = None if example.query is None else vectoriser.vocabulary.ids(example.query)
    return {"ids": ids, "content": content, "words": index, "query": query, "sentences": numbers}


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("sentences", [False, True])
@pytest.mark.parametrize("unattended", [(), (".",)])
@pytest.mark.parametrize("max_length", [None, 2])
def test_packed_texts_are_encoded_as_single_ones(special, sentences, unattended, max_length):
    examples = (EXAMPLES[0], EXAMPLES[2], EXAMPLES[3], Example((), 1))
    options = {"special": special, "sentences": sentences, "unattended": unattended, "max_length": max_length}
    vectoriser = WordVectoriser(Vocabulary.build(examples[:2]), **options)
    for example, many in zip(examples, vectoriser.encode(packed(examples)), strict=True):
        for found in (many, vectoriser.encode_one(example)):
            alone = encoded_alone(vectoriser, example)
            assert (found.label, len(found)) == (example.label, len(alone["ids"]))
            for name, wanted in alone.items():
                values = getattr(found, name)
                assert (None if values is None else values.tolist()) == wanted, name


def test_batches_of_packed_texts_are_those_of_examples(planted):
    vectoriser = WordVectoriser(planted.vocabulary, special=True)
    for seed in (None, 3):
        many, single = (vectoriser.batches(texts, 32, seed) for texts in (planted.train, tuple(planted.train)))
        for ours, theirs in zip(many, single, strict=True):
            assert (ours.ids == theirs.ids).all()
            assert (ours.rows == theirs.rows).all()
            assert ours.ids.dtype == theirs.ids.dtype
            assert (ours.words == theirs.words).all()


def test_a_short_text_with_rationale_and_sentences_takes_less_than_300_bytes():
    corpus = load_corpus("planted", n_train=4000, n_dev=10, n_test=10)
    tracemalloc.start()
    copy = Packer().pack(corpus.train)
    used = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert copy == corpus.train
    assert used / len(copy) < 300
