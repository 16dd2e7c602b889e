"""Which texts are shown as examples."""

import pytest

from attnlib.data.types import Example
from attnlib.data.unsuitable import preferred, presentable


@pytest.mark.parametrize("word", ["hookers", "Fucking", "murdered", "sexy", "asses", "porn", "torture", "raped"])
def test_words_that_are_not_shown(word):
    assert not presentable(["a", word, "film"])


@pytest.mark.parametrize(
    "word", ["assume", "documentary", "cumulative", "analysis", "classic", "cockpit", "shotgun", "deadpan", "title"]
)
def test_ordinary_words_are_shown(word):
    assert presentable(["a", word, "film"])


def test_presentable_texts_come_first_and_something_is_always_left():
    rude, plain = Example(("porn",), 0), Example(("lovely",), 1)
    assert preferred([rude, plain]) == [plain]
    assert preferred([rude]) == [rude]
