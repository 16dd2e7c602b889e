import pytest

from attnlib.data import Example, load_corpus
from attnlib.utils.errors import ConfigError, DataError


def test_a_rationale_marks_every_token():
    with pytest.raises(DataError, match="marks 1 tokens, the text has 2"):
        Example(("a", "b"), 0, rationale=(True,))


def test_sample_and_stats(planted):
    small = planted.sample(20, seed=1)
    assert [len(small.train), len(small.dev), len(small.test)] == [20, 20, 20]
    stats = planted.stats()
    assert stats["texts"].tolist() == [240, 60, 60]
    assert (stats["vocabulary"] == len(planted.vocabulary)).all()


def test_parts_of_the_test_texts_are_all_of_them(planted):
    parts = [planted.part(k, 7) for k in range(7)]
    assert [e for part in parts for e in part.test] == list(planted.test)
    assert {len(part.test) for part in parts} == {8, 9}
    assert parts[0].train == planted.train
    assert len({planted.fingerprint, *(part.fingerprint for part in parts)}) == 8
    assert load_corpus("planted", part=(1, 4)).test == load_corpus("planted").part(1, 4).test
    with pytest.raises(DataError, match="cannot be cut into 100 parts"):
        planted.part(0, 100)
    with pytest.raises(ConfigError, match="0 <= k < n"):
        load_corpus("planted", part=(4, 4))
