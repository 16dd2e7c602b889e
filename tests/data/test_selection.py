"""A sample is even, ordered, repeatable and nested; texts that are shown are presentable."""

import pytest

from attnlib.data import Example
from attnlib.data.selection import presentable, sampled
from attnlib.utils.errors import ConfigError


def test_a_sample_is_drawn_evenly_in_order_and_is_repeatable():
    texts = [Example((str(i),), int(i >= 50), id=str(i)) for i in range(100)]
    some = sampled(texts, 40)
    places = [int(e.id) for e in some]
    assert places == sorted(set(places))
    assert (len(some), some) == (40, sampled(texts, 40))
    assert {e.id for e in sampled(texts, 10)} < {e.id for e in some}
    assert {e.label for e in some} == {0, 1}
    assert sampled(texts, 40, seed=1) != some
    assert sampled(texts, None) == sampled(texts, 1000) == texts
    with pytest.raises(ConfigError, match="at least one text; got n = 0"):
        sampled(texts, 0)


def test_words_that_are_not_shown():
    for word in ("hookers", "Fucking", "murdered", "sexy", "asses", "porn", "torture", "raped"):
        assert not presentable(["a", word, "film"]), word
    for word in ("assume", "documentary", "cumulative", "classic", "cockpit", "shotgun", "deadpan", "title"):
        assert presentable(["a", word, "film"]), word
