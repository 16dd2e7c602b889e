import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.sentences import sentence_index, sentence_starts


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", ()),
        ("no end mark here", (0,)),
        ("one . two .", (0, 2)),
        ("one ? ! two ... three !!! four", (0, 3, 5, 7)),
        ('he said " no . " then left .', (0, 6)),
        (". . .", (0,)),
        (". one . two", (0, 3)),
        ("one .", (0,)),
        ("( it works . ) next", (0, 5)),
    ],
)
def test_rule(text, starts):
    assert sentence_starts(text.split()) == starts


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", ".", "!", '"', ")", "…", "b"]), max_size=30))
def test_no_sentence_is_empty_and_every_token_has_one(tokens):
    starts = sentence_starts(tokens)
    assert list(starts) == sorted(set(starts))
    assert all(s < len(tokens) for s in starts)
    assert (starts[:1] == (0,)) == bool(tokens)
    index = sentence_index(starts, len(tokens))
    assert sorted(set(index)) == list(range(len(starts)))
    assert [index.index(k) for k in range(len(starts))] == list(starts)


def test_index_of_a_cut_text():
    assert sentence_index((0, 2, 5), 4) == [0, 0, 1, 1]
