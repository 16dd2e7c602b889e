from attnlib.data.checks import class_name, is_number, missing, some


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
