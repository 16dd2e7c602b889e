"""Folders of the cache: whole or absent, made once however many ask. A corpus from there is the one put there."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from time import sleep

import pytest

from attnlib.config import DataConfig
from attnlib.data import Corpus, Preprocessing, RawCorpus, RawExample, assemble, preprocess
from attnlib.data.cached import cached
from attnlib.data.checks import DataWarning


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_many_that_ask_at_once_wait_for_one(cache):
    made = []

    def make(folder):
        made.append(folder)
        (folder / "deep").mkdir()
        (folder / "deep" / "a.txt").write_text("first")
        sleep(0.1)
        (folder / "b.txt").write_text("second")

    with ThreadPoolExecutor(4) as pool:
        found = set(pool.map(lambda _: cached("kind", "key", make), range(8)))
    assert found == {cache / "kind" / "key"}
    assert len(made) == 1
    assert (cache / "kind" / "key" / "b.txt").read_text() == "second"


@pytest.mark.parametrize("damage", ["write_text", "unlink"])
def test_a_file_that_changed_is_made_again(cache, damage):
    def make(folder):
        (folder / "a.txt").write_text("right")

    file = cached("kind", "key", make) / "a.txt"
    file.unlink() if damage == "unlink" else file.write_text("wrong")
    assert (cached("kind", "key", make) / "a.txt").read_text() == "right"


def raw(n=700, **options):
    rows = []
    for i in range(n):
        text = f"Text {i}: a {'fine' if i % 2 else 'dull'} film… naïve 日本語 <b>x</b>" + " more" * (i % 7)
        row = RawExample(text, i % 2, split=("train", "dev", "test")[i % 3])
        if options.get("query"):
            row = replace(row, query=f"is it {i} ?")
        if options.get("rationale") and i % 5 == 0:
            words = tuple(text.split())
            row = replace(row, text="", tokens=words, rationale=tuple(word == "film…" for word in words))
        rows.append(row)
    return RawCorpus(name="toy", rows=rows, classes=("bad", "good"), notes=("a note",), source="here")


def same(one: Corpus, other: Corpus) -> bool:
    equal = all(getattr(one, f.name) == getattr(other, f.name) for f in fields(Corpus))
    return equal and (one.vocabulary, one.fingerprint) == (other.vocabulary, other.fingerprint)


@pytest.mark.parametrize("options", [{}, {"query": True, "rationale": True}])
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
def test_whatever_decides_a_corpus_is_in_its_key(cache, change):
    made, config = raw(), DataConfig(corpus="toy")
    first = assemble(made, config)
    assert not same(first, assemble(*change(made, config)))
    assert len([*cache.rglob("corpus.json")]) == 2


def test_small_corpora_and_ready_tokens_are_not_cached(tmp_path):
    assemble(raw(60), DataConfig(corpus="toy"))
    rows = [RawExample(tokens=("a", str(i)), label=i % 2) for i in range(2000)]
    assemble(RawCorpus(name="toy", rows=rows))
    assert not (tmp_path / "cache").exists()
