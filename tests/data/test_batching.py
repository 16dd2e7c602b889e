import numpy as np
import pytest
import torch

from attnlib.data import Example, Preprocessing, Vocabulary
from attnlib.data.batching import MAX_TOKENS, WordVectoriser
from attnlib.data.wordpieces import vectoriser_from_json
from attnlib.utils.errors import DataError

VOCABULARY = Vocabulary(["a", "b", "."], [1, 1, 1])
TEXT = Example(("a", "new", ".", "b"), 1, sentences=(0, 3))


@pytest.fixture(scope="module")
def vectoriser(planted):
    return WordVectoriser(planted.vocabulary, planted.preprocessing)


def test_padding_and_masks_by_hand():
    batch = WordVectoriser(VOCABULARY).batch([TEXT, Example(("b",), 0)])
    assert batch.ids.tolist() == [[4, 1, 6, 5], [5, 0, 0, 0]]
    assert batch.mask.tolist() == [[True] * 4, [True, False, False, False]]
    assert (batch.content == batch.mask).all()
    assert batch.words.tolist() == [[0, 1, 2, 3], [0, -1, -1, -1]]
    assert batch.labels.tolist() == [1, 0]
    assert batch.rows.tolist() == [0, 1]
    assert batch.query is batch.query_mask is batch.sentences is None
    assert batch.lengths.tolist() == [4, 1]


def test_special_tokens_are_read_but_not_content():
    batch = WordVectoriser(VOCABULARY, special=True, sentences=True).batch([TEXT])
    assert batch.ids.tolist() == [[2, 4, 1, 6, 5, 3]]
    assert batch.mask.all()
    assert batch.content.tolist() == [[False, True, True, True, True, False]]
    assert batch.words.tolist() == [[-1, 0, 1, 2, 3, -1]]
    assert batch.sentences.tolist() == [[0, 0, 0, 0, 1, 1]]


def test_unattended_words():
    vectoriser = WordVectoriser(VOCABULARY, unattended=(".",))
    batch = vectoriser.batch([TEXT, Example((".", "."), 0)])
    assert batch.content.tolist() == [[True, True, False, True], [True, True, False, False]]
    assert batch.mask[0].all()
    assert vectoriser.tokens(TEXT) == ["a", "new", "b"]


def test_text_of_unknown_words_and_empty_text():
    batch = WordVectoriser(VOCABULARY).batch([Example(("x", "y"), 0), Example((), 0)])
    assert batch.ids.tolist() == [[1, 1], [0, 0]]
    assert batch.mask.tolist() == [[True, True], [False, False]]
    assert WordVectoriser(VOCABULARY).batch([Example((), 0)]).ids.shape == (1, 1)


def test_queries_are_padded_apart(planted_qa):
    vectoriser = WordVectoriser(planted_qa.vocabulary)
    batch = vectoriser.batch([*planted_qa.train[:2], Example(("a",), 0, query=("where",))])
    assert batch.query.shape == batch.query_mask.shape == (3, 4)
    assert batch.query_mask.sum(1).tolist() == [4, 4, 1]


def test_inference_batches_hold_every_text_once_and_fall_in_length(vectoriser, planted):
    batches = list(vectoriser.batches(planted.train, 32))
    rows = torch.cat([b.rows for b in batches]).tolist()
    assert sorted(rows) == list(range(len(planted.train)))
    lengths = torch.cat([b.lengths for b in batches]).tolist()
    assert lengths == sorted(lengths, reverse=True)
    ids = [row[:n] for b in batches for row, n in zip(b.ids.tolist(), b.lengths, strict=True)]
    assert ids == [planted.vocabulary.ids(planted.train[row].tokens) for row in rows]
    assert torch.cat([b.labels for b in batches]).tolist() == [planted.train[row].label for row in rows]


def test_training_batches_are_seeded_complete_and_of_similar_length(vectoriser, planted):
    encoded = vectoriser.encode(planted.train)

    def order(seed):
        return [b.rows.tolist() for b in vectoriser.batches(encoded, 32, shuffle_seed=seed)]

    assert order((0, 1)) == order((0, 1))
    assert order((0, 1)) != order((0, 2))
    first = order(3)
    assert sorted(row for rows in first for row in rows) == list(range(len(planted.train)))
    assert [len(rows) for rows in first].count(32) == len(planted.train) // 32
    lengths = np.array([len(e) for e in encoded])
    spread = np.mean([np.ptp(lengths[rows]) for rows in first])
    assert spread < np.ptp(lengths) / 2
    means = [lengths[rows].mean() for rows in first]
    assert means != sorted(means)


def test_long_texts_make_small_inference_batches(vectoriser):
    texts = [Example(("a",) * n, 0) for n in (2000, *[1500] * 40, *[3] * 300)]
    batches = list(vectoriser.batches(texts, 256))
    assert all(b.ids.numel() <= MAX_TOKENS for b in batches)
    assert max(len(b) for b in batches) == 256
    assert sum(len(b) for b in batches) == len(texts)
    alone = list(vectoriser.batches(texts[:2], 256, max_tokens=100))
    assert [b.ids.shape for b in alone] == [(1, 2000), (1, 1500)]
    whole = list(vectoriser.batches(texts, 1000, shuffle_seed=0))
    assert [len(b) for b in whole] == [len(texts)]


def test_batches_of_nothing_and_of_no_size(vectoriser, planted):
    assert list(vectoriser.batches([], 8)) == []
    with pytest.raises(DataError, match="batch_size"):
        list(vectoriser.batches(planted.train, 0))
    with pytest.raises(DataError, match="one text"):
        vectoriser.batch([])


def test_until_drops_the_end_of_every_text(vectoriser, planted):
    batch = vectoriser.batch(planted.train[:4])
    short = batch.until(2)
    assert short.ids.tolist() == batch.ids[:, :2].tolist()
    assert short.words.shape == short.mask.shape == short.content.shape == (4, 2)
    assert short.labels is batch.labels


def test_saved_and_loaded(planted):
    vectoriser = WordVectoriser(planted.vocabulary, Preprocessing(digits="qqq"), True, True, (".",))
    again = vectoriser_from_json(vectoriser.to_json())
    assert isinstance(again, WordVectoriser)
    first, second = vectoriser.batch(planted.test[:5]), again.batch(planted.test[:5])
    for name in ("ids", "mask", "content", "words", "sentences", "labels"):
        assert (getattr(first, name) == getattr(second, name)).all()
    assert again.preprocessing == vectoriser.preprocessing
    assert (again.n_ids, again.pad_id, again.unk_id, again.mask_id) == (len(planted.vocabulary), 0, 1, again.n_ids)
    with pytest.raises(DataError, match="Unknown kind of vectoriser 'word'"):
        vectoriser_from_json('{"kind": "word"}')
