import pytest

from attnlib.data.checks import check_span, class_name, is_number, missing, some
from attnlib.utils.errors import DataError


def test_long_lists_are_shortened_with_their_length():
    assert some("abc") == "a, b, c"
    assert some(range(1000), 2) == "0, 1, … (1,000 in all)"


def test_labels_that_are_absent():
    assert all(map(missing, (None, float("nan"), "", " \n")))
    assert not any(map(missing, (0, False, "0", "nan")))


def test_one_class_has_one_name():
    assert {class_name(label) for label in (1, 1.0, "1", " 1 ")} == {"1"}
    assert class_name(1.5) == "1.5"


def test_numbers():
    assert [is_number(text) for text in ("1", "-1e3", "nan", "inf", "", "1,5", "one")] == [True] * 4 + [False] * 3


@pytest.mark.parametrize("span", [(0, 4), [1, 1], (2.0, 3)])
def test_spans_within_the_text(span):
    assert check_span(span, "text", "here") == (int(span[0]), int(span[1]))


@pytest.mark.parametrize("span", [(0, 5), (-1, 2), (3, 2), (0.5, 2), ("a", 2), 3, (1, 2, 3), (float("inf"), 2)])
def test_spans_that_are_none(span):
    with pytest.raises(DataError, match=r"^here: "):
        check_span(span, "text", "here")
