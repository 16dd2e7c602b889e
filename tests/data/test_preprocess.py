import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attnlib.data.preprocess import Preprocessing, sentence_starts
from attnlib.utils.errors import ConfigError

JAIN_WALLACE = Preprocessing(digits="qqq")


def test_spacy_words_in_lower_case():
    assert Preprocessing().tokens("It's  GOOD,\n isn't it?") == ("it", "'s", "good", ",", "is", "n't", "it", "?")


def test_digits_become_qqq():
    assert JAIN_WALLACE.tokens("In 2019 the B2B deal") == ("in", "qqq", "the", "qqq", "deal")


def test_sst_cleaning():
    sst = Preprocessing(clean="sst")
    assert sst.tokens("A -LRB- very -RRB- well-made film \\/ 1980 's") == (
        "a", "very", "well", "made", "film", "1980", "s",
    )  # fmt: skip


def test_mimic_cleaning():
    mimic = JAIN_WALLACE.replace(clean="mimic")
    text = "Admitted [**2101-10-20**] to [**Hospital 12**] ---- BP 120"
    assert mimic.tokens(text) == ("admitted", "<de>", "to", "<de>", "-", "bp", "qqq")


def test_newsgroup_step_keeps_the_last_sign_of_a_run():
    step = Preprocessing(punctuation="last_of_run")
    # Between words the last sign of " , " is the space itself, so the comma goes; the final stop stays.
    assert step.tokens("well, they won.") == ("well", "they", "won", ".")
    assert step.tokens("don't") == ("do", "n", "'", "t")


@pytest.mark.parametrize("blank", ["", "  \n\t", "\x00\x07", "\u200b", "\ufeff"])
def test_blank_and_control_characters_hold_no_word(blank):
    assert Preprocessing().tokens(blank) == ()


def test_unicode_is_normalised():
    assert Preprocessing().tokens("ﬁne cafe\u0301\u00a0ＯＫ") == ("fine", "café", "ok")


def test_ready_made_tokens_stay_aligned():
    words = Preprocessing(digits="qqq", punctuation="drop").words(["Good", "", "!", "New York", "7up"])
    assert words == ("good", "", "", "new_york", "qqq")


def test_steps_are_validated():
    with pytest.raises(ConfigError, match="Did you mean 'digits'"):
        Preprocessing(digit="qqq")
    with pytest.raises(ConfigError, match="'keep' or 'qqq'"):
        Preprocessing(digits="drop")


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
def test_sentences_by_rule(text, starts):
    assert sentence_starts(text.split()) == starts


@settings(deadline=None)
@given(st.lists(st.sampled_from(["a", ".", "!", '"', ")", "…", "b"]), max_size=30))
def test_no_sentence_is_empty(tokens):
    starts = sentence_starts(tokens)
    assert list(starts) == sorted(set(starts))
    assert all(s < len(tokens) for s in starts)
    assert (starts[:1] == (0,)) == bool(tokens)
