"""Whether row 1 of a csv names its columns: by the names asked for, by usual names, else by the rows below it."""

import warnings

import pytest
from data.readers.written import check, table

from attnlib.data import load_corpus
from attnlib.data.checks import DataWarning

LONG = "Please describe your last visit to one of our restaurants in a sentence or two"
HEADERS = {
    "digits": ["1. Comment", "2. Verdict"],
    "a question": ["What did the customer say about us, in full?", "Satisfied?"],
    "long": [LONG, "How satisfied were you with us over all, from one to two"],
    "signs": ["Tom & Jerry's reply!", "a < b + c"],
    "quotes": ['the "reply"', "'kind'"],
    "years": ["2023", "kind of 2024"],
}
FILM = [(f"a film {word} {i}", label) for i in range(16) for word, label in (("good", "yes"), ("bad", "no"))]


@pytest.mark.parametrize("named", [True, False])
@pytest.mark.parametrize("kind", HEADERS)
def test_ordinary_headers_are_no_data(tmp_path, kind, named):
    text, label = HEADERS[kind]
    path = table(tmp_path / "a.csv", [text, label], [list(row) for row in FILM])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        corpus = load_corpus(path, text=text, label=label) if named else load_corpus(path)
    assert corpus.classes == ("no", "yes")
    assert len([*corpus.items()]) == len(FILM)
    assert all(("good" in e.tokens) == e.label for _, e in corpus.items())


def test_data_in_row_1_is_said_and_can_be_contradicted(tmp_path):
    path = table(tmp_path / "a.csv", None, [list(row) for row in FILM])
    with pytest.warns(DataWarning, match=r"row 1 \('a film good 0', 'yes'\) is taken for a text.*header=True"):
        corpus = load_corpus(path)
    assert len([*corpus.items()]) == len(FILM)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load_corpus(path, header=False).fingerprint == corpus.fingerprint
        assert load_corpus(path, text="0", label="1").fingerprint == corpus.fingerprint
    assert len([*load_corpus(path, header=True).items()]) == len(FILM) - 1


def test_scores_of_numbers_alone_are_data(tmp_path):
    from data.readers.written import PAIRS

    path = table(tmp_path / "a.csv", None, [[y, t] for t, y in PAIRS])
    with pytest.warns(DataWarning, match="taken for a text"):
        check(load_corpus(path), ("0", "1"))
    check(load_corpus(path, text="1", label="0"), ("0", "1"))
