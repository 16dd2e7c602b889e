"""Which column is the text and which the label, in tables as they are found."""

import pytest
from data.readers.written import PAIRS, check, marked, parts, table

from attnlib.data import load_corpus
from attnlib.utils.errors import ConfigError, DataError

SHAPES = {
    "kaggle index and id": (
        ["", "Id", "Text", "Sentiment"],
        lambda i, t, y: [i, 900 + i, t, ["negative", "positive"][y]],
    ),
    "label before text": (["label", "sentence"], lambda i, t, y: [y, t]),
    "stars": (["reviewText", "stars"], lambda i, t, y: [t, [1, 5][y]]),
    "floats": (["content", "rating", "date"], lambda i, t, y: [t, ["1.0", "5.0"][y], f"2020-01-{i % 28 + 1:02d}"]),
    "names that say nothing": (["v1", "v2"], lambda i, t, y: [["ham", "spam"][y], t]),
    "other columns": (
        ["review_id", "user", "Review Text", "Rating", "helpful", "title"],
        lambda i, t, y: [i, f"user{i % 7}", t, y, i % 3, f"Title {i}"],
    ),
    "airline tweets": (
        ["tweet_id", "airline_sentiment", "airline_sentiment_confidence", "airline", "text", "tweet_created"],
        lambda i, t, y: [7 * i, y, 1 / (i + 1), "ab"[i % 2], t, f"2015-02-24 11:{i:02d} -0800"],
    ),
    "scored review with a date": (
        ["review_date", "review_body", "sentiment", "score"],
        lambda i, t, y: [f"2020-01-{i % 28 + 1:02d}", t, y, 1 / (i + 2)],
    ),
    "no header": (None, lambda i, t, y: [y, t]),
    "booleans": (["text", "is spam"], lambda i, t, y: [t, bool(y)]),
}
CLASSES = {
    "kaggle index and id": ("negative", "positive"),
    "stars": ("1", "5"),
    "floats": ("1", "5"),
    "names that say nothing": ("ham", "spam"),
    "booleans": ("False", "True"),
}


@pytest.mark.parametrize(
    ("shape", "sep"), [*((shape, ",") for shape in SHAPES), *(("no header", sep) for sep in ";\t|")]
)
def test_shapes(tmp_path, shape, sep):
    header, row = SHAPES[shape]
    path = table(tmp_path / "reviews.csv", header, [row(i, t, y) for i, (t, y) in enumerate(PAIRS)], sep)
    corpus = load_corpus(str(path))
    check(corpus, CLASSES.get(shape, ("0", "1")))
    assert corpus.name == "reviews"
    assert corpus.notes[0].startswith("columns: text ")


def test_named_columns_and_optional_ones(tmp_path):
    header = ["key", "body", "kind", "part", "ask"]
    rows = []
    for k, (part, n) in enumerate({"train": 8, "valid": 4, "Test": 4}.items()):
        for i in range(n):
            rows.append([f"{k}-{i}", f"text {part} {i} so good", "ab"[i % 2], part, "is it?"])
    path = table(tmp_path / "own.csv", header, rows)
    corpus = load_corpus(path, text="body", label="kind", split="part", query="ask", id="key")
    assert [len(corpus.train), len(corpus.dev), len(corpus.test)] == [8, 4, 4]
    assert corpus.task == "query"
    first = corpus.train[0]
    assert (first.id, first.query) == ("0-0", ("is", "it", "?"))
    with pytest.raises(
        DataError, match=r"label: Unknown column 'knid'. Did you mean 'kind'\? Available: ask, body"
    ):
        load_corpus(path, text="body", label="knid")
    with pytest.raises(ConfigError, match="Did you mean 'text'"):
        load_corpus(path, txt="body")


def test_ambiguity_lists_the_columns_and_how_to_name_one(tmp_path):
    rows = [[f"first text {i}", f"second text {i}", i % 2, i % 3] for i in range(30)]
    path = table(tmp_path / "a.csv", ["c1", "c2", "c3", "c4"], rows)
    with pytest.raises(DataError, match=r"The text column could be 'c1' or 'c2'. Name it: text='c1'.*'c3': '0'"):
        load_corpus(path)
    with pytest.raises(DataError, match="The label column could be 'c3' or 'c4'"):
        load_corpus(path, text="c2")
    assert load_corpus(path, text="c2", label="c4").classes == ("0", "1", "2")
    path = table(tmp_path / "b.csv", ["label", "score"], [[i % 2, i] for i in range(30)])
    with pytest.raises(DataError, match="The text column cannot be recognised"):
        load_corpus(path)


def test_a_split_is_found_by_what_it_holds_and_is_no_label(tmp_path):
    corpus = load_corpus(marked(tmp_path / "a.csv", ["train", "holdout"], "part", ("text", "v1")))
    assert corpus.classes == ("a", "b")
    assert parts(corpus)["test"] == {"holdout"}
    path = table(
        tmp_path / "b.csv", ["v1", "v2", "split"], [[f"some text {i}", "ab"[i % 2], "x"] for i in range(20)]
    )
    with pytest.raises(DataError, match="split"):
        load_corpus(path)
    assert load_corpus(path, split=None).classes == ("a", "b")
