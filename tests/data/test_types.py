import pytest

from attnlib.data import Example
from attnlib.utils.errors import DataError


def test_a_rationale_marks_every_token():
    with pytest.raises(DataError, match="marks 1 tokens, the text has 2"):
        Example(("a", "b"), 0, rationale=(True,))


def test_sample_and_stats(planted):
    small = planted.sample(20, seed=1)
    assert [len(small.train), len(small.dev), len(small.test)] == [20, 20, 20]
    stats = planted.stats()
    assert stats["texts"].tolist() == [240, 60, 60]
    assert (stats["vocabulary"] == len(planted.vocabulary)).all()
