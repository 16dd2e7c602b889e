import pytest
from data.readers.written import table

from attnlib.data import load_corpus
from attnlib.utils.errors import DataError


def test_clinical_tables_bring_the_papers_settings(tmp_path):
    rows = [[f"Pt [**Name {i}**] with HCT 2{i} stable {chr(97 + i)}", i % 2] for i in range(20)]
    path = table(tmp_path / "anemia.csv", ["text", "label"], rows)
    corpus = load_corpus("anemia", path=str(path))
    assert (corpus.name, corpus.min_df) == ("anemia", 5)
    assert corpus.train[0].tokens[:5] == ("pt", "<de>", "with", "hct", "qqq")
    assert (load_corpus("adr", path=str(path)).min_df, load_corpus("diabetes", path=str(path)).min_df) == (2, 5)
    with pytest.raises(DataError, match=r"may not ship.*load_corpus\('anemia', path='anemia.csv'\)"):
        load_corpus("anemia")
