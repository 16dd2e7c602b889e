"""A corpus from the cache is the corpus that was put there."""

from dataclasses import fields

import pytest

from attnlib.config import DataConfig
from attnlib.data import Corpus, Preprocessing, RawCorpus, RawExample, assemble, preprocess, tokenised
from attnlib.data.checks import DataWarning


def raw(n=600, **options):
    rows = [
        RawExample(
            f"Text {i}: a {'fine' if i % 2 else 'dull'} film… naïve 日本語 <b>x</b>" + " more" * (i % 7),
            i % 2,
            split=("train", "dev", "test")[i % 3],
            query=f"is it {i} ?" if options.get("query") else None,
            rationale=[(0, 4)] if options.get("rationale") and i % 5 else None,
        )
        for i in range(n)
    ]
    return RawCorpus(name="toy", rows=rows, classes=("bad", "good"), notes=("a note",), source="here")


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))


def same(one: Corpus, other: Corpus) -> bool:
    equal = all(getattr(one, f.name) == getattr(other, f.name) for f in fields(Corpus))
    return equal and (one.vocabulary, one.fingerprint) == (other.vocabulary, other.fingerprint)


@pytest.mark.parametrize("options", [{}, {"query": True}, {"rationale": True}, {"query": True, "rationale": True}])
@pytest.mark.parametrize(
    "config", [{}, {"limit": 50, "max_length": 4}, {"strict_length_filter": True, "min_df": 3}]
)
def test_a_corpus_is_tokenised_once(monkeypatch, options, config):
    made = raw(**options)
    query = ("q",) if options.get("query") else None
    made.rows[3] = RawExample(tokens=("a", "b", "c"), label=0, split="train", query=query, sentences=(0, 2))
    config = DataConfig(corpus="toy", **config)
    first = assemble(made, config)
    monkeypatch.setattr(preprocess, "_spacy", lambda: pytest.fail("tokenised again"))
    second = assemble(made, config)
    assert second is not first
    assert same(second, first)
    vars(second).pop("fingerprint")
    assert second.fingerprint == first.fingerprint


def test_a_corpus_from_the_cache_warns_as_before():
    made = raw()
    made.rows[1] = RawExample(made.rows[0].text, 0, split="dev")
    for _ in range(2):
        with pytest.warns(DataWarning, match="word for word"):
            assemble(made)


@pytest.mark.parametrize(
    "change",
    [
        lambda r, c: (RawCorpus(**vars(r) | {"preprocessing": Preprocessing(lower=False)}), c),
        lambda r, c: (RawCorpus(**vars(r) | {"rows": [*r.rows[:-1], RawExample("another", 1, split="test")]}), c),
        lambda r, c: (RawCorpus(**vars(r) | {"notes": ()}), c),
        lambda r, c: (r, c.replace(limit=80)),
        lambda r, c: (r, c.replace(max_length=3)),
    ],
)
def test_whatever_decides_a_corpus_is_in_its_key(monkeypatch, change):
    made, config = raw(), DataConfig(corpus="toy")
    first = assemble(made, config)
    monkeypatch.setattr(tokenised, "load", lambda folder: pytest.fail("taken from the cache"))
    second = assemble(*change(made, config))
    assert not same(first, second)


def test_small_corpora_and_ready_tokens_are_not_cached(tmp_path):
    assemble(raw(60), DataConfig(corpus="toy"))
    rows = [RawExample(tokens=("a", str(i)), label=i % 2) for i in range(2000)]
    assemble(RawCorpus(name="toy", rows=rows))
    assert not (tmp_path / "cache").exists()


def test_a_damaged_file_is_made_again(tmp_path):
    first = assemble(raw(), DataConfig(corpus="toy", limit=90))
    (file,) = (tmp_path / "cache").rglob("corpus.json")
    file.write_text(file.read_text().replace("fine", "evil"))
    assert same(assemble(raw(), DataConfig(corpus="toy", limit=90)), first)
