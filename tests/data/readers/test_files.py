"""Formats, encodings, delimiters and quotes as people write them, and what is said where they cannot be read."""

import json

import pytest
from data.readers.written import PAIRS, check, table

from attnlib.data import load_corpus
from attnlib.data.checks import DataWarning
from attnlib.utils.errors import DataError


def test_the_spam_collection(tmp_path):
    """Latin-1, columns v1 and v2, three empty columns without a name."""
    rows = [[["ham", "spam"][y], t + " £5", "", "", ""] for t, y in PAIRS]
    path = table(tmp_path / "spam.csv", ["v1", "v2", "", "", ""], rows, encoding="latin-1", end="\r\n")
    with pytest.raises(DataError, match=r"spam.csv, line 2: byte 0xa3 is not utf-8.*encoding='latin-1'"):
        load_corpus(path)
    corpus = load_corpus(path, encoding="latin-1")
    check(corpus, ("ham", "spam"))
    assert all("£" in e.tokens for e in corpus.train)


def test_csv_tsv_jsonl_json_and_parquet_agree(tmp_path):
    import pandas as pd

    rows = [{"text": t, "label": y} for t, y in PAIRS]
    table(tmp_path / "a.csv", ["text", "label"], [[t, y] for t, y in PAIRS])
    table(tmp_path / "c.tsv", ["text", "label"], [[t, y] for t, y in PAIRS], "\t")
    (tmp_path / "d.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    (tmp_path / "e.json").write_text(json.dumps(rows))
    pd.DataFrame(rows).to_parquet(tmp_path / "f.parquet")
    prints = {load_corpus(path).fingerprint for path in tmp_path.iterdir()}
    assert len(prints) == 1
    assert len(list(tmp_path.iterdir())) == 5


def test_a_tsv_that_knows_no_quotes(tmp_path):
    lines = ["sentence\tlabel"] + [
        f"{'“' if i % 2 else chr(34)}odd {t.split()[0]} text {i}\t{y}" for i, (t, y) in enumerate(PAIRS)
    ]
    path = tmp_path / "cola.tsv"
    path.write_text("\n".join(lines))
    with pytest.warns(DataWarning, match="all double quotes are taken for text"):
        corpus = load_corpus(path)
    assert len(list(corpus.items())) == len(PAIRS)
