"""Tables as people write them, and what is said about those that cannot be read."""

import gzip
import json

import pytest

from attnlib.data import load_corpus
from attnlib.utils.errors import ConfigError, DataError

GOOD = ["What a lovely film, truly", 'She said "wow" and\nleft happy', "Crust is not bad; tasty", "Best day ever"]
BAD = ["Terrible, I want my money back", "Waited an hour; cold food", "No. Just no way", "Broken after one week"]
PAIRS = [
    (f"{text} number {i}", label) for i in range(4) for label, texts in ((1, GOOD), (0, BAD)) for text in texts
]


def quoted(cell):
    return '"' + str(cell).replace('"', '""') + '"' if any(c in str(cell) for c in ',;\n\t"') else str(cell)


def table(path, header, rows, sep=",", encoding="utf-8", end="\n"):
    lines = [sep.join(map(quoted, row)) for row in ([header] if header else []) + rows]
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def check(corpus, classes):
    assert corpus.classes == classes
    assert len(list(corpus.items())) == len(PAIRS)
    for _, e in corpus.items():
        assert (e.label == len(classes) - 1) == any(g.lower().split()[1] in e.tokens for g in GOOD), e


SHAPES = {
    "kaggle index and id": (
        ["", "Id", "Text", "Sentiment"],
        lambda i, t, y: [i, 900 + i, t, ["negative", "positive"][y]],
    ),
    "Review, Liked": (["Review", "Liked"], lambda i, t, y: [t, y]),
    "label before text": (["label", "sentence"], lambda i, t, y: [y, t]),
    "pos and neg": (["comment_text", "target"], lambda i, t, y: [t, ["neg", "pos"][y]]),
    "stars": (["reviewText", "stars"], lambda i, t, y: [t, [1, 5][y]]),
    "floats": (["content", "rating", "date"], lambda i, t, y: [t, ["1.0", "5.0"][y], f"2020-01-{i % 28 + 1:02d}"]),
    "names that say nothing": (["v1", "v2"], lambda i, t, y: [["ham", "spam"][y], t]),
    "other columns": (
        ["review_id", "user", "Review Text", "Rating", "helpful", "title"],
        lambda i, t, y: [i, f"user{i % 7}", t, y, i % 3, f"Title {i}"],
    ),
    "airline tweets": (
        [
            "tweet_id",
            "airline_sentiment",
            "airline_sentiment_confidence",
            "airline",
            "name",
            "text",
            "tweet_created",
        ],
        lambda i, t, y: [7 * i, y, 1 / (i + 1), "ab"[i % 2], f"n{i % 5}", t, f"2015-02-24 11:{i:02d} -0800"],
    ),
    "food reviews": (
        ["Id", "ProductId", "HelpfulnessNumerator", "HelpfulnessDenominator", "Score", "Time", "Summary", "Text"],
        lambda i, t, y: [i, f"B{i}", i % 2, i % 3, y, 1300000000 + i, f"so so {i}", t],
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
    "pos and neg": ("neg", "pos"),
    "stars": ("1", "5"),
    "floats": ("1", "5"),
    "names that say nothing": ("ham", "spam"),
    "booleans": ("False", "True"),
}


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(tmp_path, shape, sep):
    header, row = SHAPES[shape]
    path = table(tmp_path / "reviews.csv", header, [row(i, t, y) for i, (t, y) in enumerate(PAIRS)], sep)
    corpus = load_corpus(str(path))
    check(corpus, CLASSES.get(shape, ("0", "1")))
    assert corpus.name == "reviews"
    assert corpus.notes[0].startswith("columns: text ")


def test_the_spam_collection(tmp_path):
    """Latin-1, columns v1 and v2, three empty columns without a name."""
    rows = [[["ham", "spam"][y], t + " £5", "", "", ""] for t, y in PAIRS]
    path = table(tmp_path / "spam.csv", ["v1", "v2", "", "", ""], rows, encoding="latin-1", end="\r\n")
    with pytest.raises(DataError, match=r"spam.csv, line 2: byte 0xa3 is not utf-8.*encoding='latin-1'"):
        load_corpus(path)
    corpus = load_corpus(path, encoding="latin-1")
    check(corpus, ("ham", "spam"))
    assert all("£" in e.tokens for e in corpus.train)


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_byte_order_marks(tmp_path, encoding):
    path = table(tmp_path / "a.csv", ["text", "label"], [[t, y] for t, y in PAIRS], encoding=encoding)
    check(load_corpus(path), ("0", "1"))


def test_gzip_tsv_jsonl_json_and_parquet_agree(tmp_path):
    import pandas as pd

    rows = [{"text": t, "label": y} for t, y in PAIRS]
    plain = table(tmp_path / "a.csv", ["text", "label"], [[t, y] for t, y in PAIRS])
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(plain.read_bytes()))
    table(tmp_path / "c.tsv", ["text", "label"], [[t, y] for t, y in PAIRS], "\t")
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "e.json").write_text(json.dumps(rows))
    pd.DataFrame(rows).to_parquet(tmp_path / "f.parquet")
    prints = {load_corpus(path).fingerprint for path in tmp_path.iterdir()}
    assert len(prints) == 1
    assert len(list(tmp_path.iterdir())) == 6


def test_a_tsv_that_knows_no_quotes(tmp_path):
    lines = ["sentence\tlabel"] + [
        f"{'“' if i % 2 else chr(34)}odd {t.split()[0]} text {i}\t{y}" for i, (t, y) in enumerate(PAIRS)
    ]
    path = tmp_path / "cola.tsv"
    path.write_text("\n".join(lines))
    corpus = load_corpus(path)
    assert len(list(corpus.items())) == len(PAIRS)
    assert any("quotes are taken for text" in note for note in corpus.notes)


def test_quotes_in_odd_places_are_noted(tmp_path):
    lines = ["text,label"] + [f'"a "word" in the middle {i}",{y}' for i, (_, y) in enumerate(PAIRS)]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    corpus = load_corpus(tmp_path / "a.csv")
    assert len(list(corpus.items())) == len(PAIRS)
    assert any("Quotes do not match with the delimiter ',', line 2" in note for note in corpus.notes)


def test_named_columns_and_optional_ones(tmp_path):
    header = ["key", "body", "kind", "part", "ask", "why"]
    rows = []
    for k, (part, n) in enumerate({"train": 8, "valid": 4, "Test": 4}.items()):
        for i in range(n):
            rows.append([f"{k}-{i}", f"text {part} {i} so good", "ab"[i % 2], part, "is it?", json.dumps([[0, 4]])])
    path = table(tmp_path / "own.csv", header, rows)
    corpus = load_corpus(path, text="body", label="kind", split="part", query="ask", rationale="why", id="key")
    assert [len(corpus.train), len(corpus.dev), len(corpus.test)] == [8, 4, 4]
    assert corpus.task == "query"
    first = corpus.train[0]
    assert (first.id, first.query, first.rationale) == (
        "0-0",
        ("is", "it", "?"),
        (True, False, False, False, False),
    )
    with pytest.raises(
        DataError, match=r"label: Unknown column 'knid'. Did you mean 'kind'\? Available: ask, body"
    ):
        load_corpus(path, text="body", label="knid")
    with pytest.raises(ConfigError, match="Did you mean 'text'"):
        load_corpus(path, txt="body")


def test_optional_columns_are_found_by_name_and_can_be_left_out(tmp_path):
    rows = [[f"n{i}", f"text {i}", i % 2, ["train", "train", "dev", "test"][i // 5], "who ?"] for i in range(20)]
    path = table(tmp_path / "a.csv", ["id", "text", "label", "split", "question"], rows)
    corpus = load_corpus(path)
    assert (corpus.task, len(corpus.train), corpus.train[0].id) == ("query", 10, "n0")
    plain = load_corpus(path, split=None, query=None, id=None)
    assert (plain.task, len(plain.train), plain.train[0].id) == ("classification", 16, "row-0")


@pytest.mark.parametrize(
    "marks",
    ['["so good"]', "so good", "[[2, 9]]", "[0, 1, 1, 0]", "0 1 1 0", "[false, true, true, false]"],
)
def test_every_form_of_rationale(tmp_path, marks):
    rows = [[f"A so good {chr(97 + i)}", i % 2, marks] for i in range(20)]
    corpus = load_corpus(table(tmp_path / "a.csv", ["text", "label", "rationale"], rows))
    assert all(e.rationale == (False, True, True, False) for _, e in corpus.items())


def test_tokens_in_jsonl(tmp_path):
    rows = [{"tokens": ["New", "York", f"x{i}"], "class": "ab"[i % 2]} for i in range(20)]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, rows)))
    corpus = load_corpus(tmp_path / "t.jsonl")
    assert all(e.tokens[:2] == ("new", "york") for _, e in corpus.items())


def test_ambiguity_lists_the_columns_and_how_to_name_one(tmp_path):
    rows = [[f"first text {i}", f"second text {i}", i % 2, i % 3] for i in range(30)]
    path = table(tmp_path / "a.csv", ["c1", "c2", "c3", "c4"], rows)
    with pytest.raises(
        DataError, match=r"The text column could be 'c1' or 'c2'. Name it, such as text='c1'.*'c3': '0'"
    ):
        load_corpus(path)
    with pytest.raises(DataError, match="The label column could be 'c3' or 'c4'"):
        load_corpus(path, text="c2")
    assert load_corpus(path, text="c2", label="c4").classes == ("0", "1", "2")
    path = table(tmp_path / "b.csv", ["label", "score"], [[i % 2, i] for i in range(30)])
    with pytest.raises(DataError, match="The text column is not to be recognised"):
        load_corpus(path)


def test_missing_labels(tmp_path):
    rows = [[t, y] for t, y in PAIRS]
    rows[3][1], rows[7][1] = "", "NaN"
    path = table(tmp_path / "a.csv", ["text", "label"], rows)
    with pytest.raises(DataError, match=r"2 of 32 rows have no label \(rows 3, 7"):
        load_corpus(path)
    assert len(list(load_corpus(path, drop_missing=True).items())) == 30


def test_a_measurement_is_no_label(tmp_path):
    path = table(tmp_path / "a.csv", ["text", "rating"], [[t, i / 7] for i, (t, _) in enumerate(PAIRS)])
    with pytest.raises(DataError, match="32 different values in 32 rows"):
        load_corpus(path)


def test_markup_in_a_review_is_removed_and_counted_or_kept(tmp_path):
    rows = [[f"<script>alert({i})</script>good &amp; bad<br /><br />number {i} &lt;3", i % 2] for i in range(20)]
    path = table(tmp_path / "a.csv", ["text", "label"], [*rows, ["a < b and c > d", 0]])
    corpus = load_corpus(path)
    texts = {e.text for _, e in corpus.items()}
    assert {"good & bad number 7 <3", "a < b and c > d"} <= texts
    assert sum("HTML removed from 20 of 21 texts" in note for note in corpus.notes) == 1
    kept = load_corpus(path, preprocessing={"html": "keep"})
    assert sum("script" in e.text for _, e in kept.items()) == 20
    assert not any("HTML" in note for note in kept.notes)


def test_clinical_tables_bring_the_papers_settings(tmp_path):
    rows = [[f"Pt [**Name {i}**] with HCT 2{i} stable {chr(97 + i)}", i % 2] for i in range(20)]
    path = table(tmp_path / "anemia.csv", ["text", "label"], rows)
    corpus = load_corpus("anemia", path=str(path))
    assert (corpus.name, corpus.min_df) == ("anemia", 5)
    assert corpus.train[0].tokens[:5] == ("pt", "<de>", "with", "hct", "qqq")
    assert (load_corpus("adr", path=str(path)).min_df, load_corpus("diabetes", path=str(path)).min_df) == (2, 5)
    with pytest.raises(DataError, match=r"may not ship.*load_corpus\('anemia', path='anemia.csv'\)"):
        load_corpus("anemia")
