"""The papers' corpora as published: hand-made files always, the real ones where they are."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from attnlib.data import load_corpus
from attnlib.data.readers.papers import aclimdb, agnews, babi, movies, snli, sst, yelp
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.paths import ROOT

DATA = Path(os.environ.get("ATTNLIB_DATA") or ROOT.parent / "shared" / "data")


def write(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return str(folder)


TREES = "(3 (2 It) (4 (2 's) (4 (2 -LRB-) (2 good))))\n(0 (2 Truly) (1 (2 bad) (2 .)))\n(2 (2 So) (2 so))\n"


def test_sst(tmp_path: Path) -> None:
    path = write(tmp_path, {f"{split}.txt": TREES for split in ("train", "dev", "test")})
    assert [row.label for row in sst(path).rows if row.split == "train"] == ["positive", "negative"]
    with pytest.warns(UserWarning, match="word for word"):
        assert load_corpus("sst", path=path).train[0].tokens == ("it", "s", "good")
    for line in ("(3 (2 good) (2 film)", "good film", "(7 (2 good))", "(3 )"):
        with pytest.raises(DataError, match=r"test.txt, line 4: not a tree"):
            sst(write(tmp_path, {"test.txt": TREES + line}))


def test_files_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"not on this machine. Say where they are with path="):
        sst()
    with pytest.raises(DataError, match="does not exist"):
        sst(str(tmp_path / "nope"))
    (tmp_path / "train.txt").write_text(TREES)
    with pytest.raises(DataError, match=r"is no folder with files such as .*unpacked"):
        sst(str(tmp_path / "train.txt"))
    with pytest.raises(DataError, match="no file for dev, test, only for train"):
        sst(str(tmp_path))
    (tmp_path / "train.txt").write_bytes(b"\xff\xfe")
    with pytest.raises(DataError, match=r"sst: a file is not as its publisher lays it out .*UnicodeDecodeError"):
        sst(str(tmp_path))


STARS = [(i, side, stars) for i in range(10) for side, stars in (("pos", 7 + i % 4), ("neg", 1 + i % 4))]
REVIEWS = {
    f"aclImdb/{s}/{side}/{i}_{stars}.txt": f"A film.<br /><br />Seen as {s} {side} {i}!"
    for s in ("train", "test")
    for i, side, stars in STARS
}


def test_aclimdb(tmp_path: Path) -> None:
    path = write(tmp_path / "short", REVIEWS | {"aclImdb/train/unsup/1_0.txt": "x", "aclImdb/README": "x"})
    raw = aclimdb(path)
    assert set(Counter((r.split, r.label) for r in raw.rows).values()) == {10}
    assert raw.rows[0].text.startswith("A film.  Seen as")
    with pytest.raises(ConfigError, match="labels must be one of 'polarity', 'stars'; got 'star'"):
        aclimdb(path, labels="star")
    assert aclimdb(path, labels="stars").classes == ("1", "2", "3", "4", "7", "8", "9", "10")
    rows = aclimdb(path, split="jain_wallace").rows
    assert Counter(row.split for row in rows) == {"train": 16, "dev": 4, "test": 20}
    assert len({row.id for row in rows}) == 40
    long = aclimdb(write(tmp_path / "long", dict.fromkeys(REVIEWS, "no<br />" * 200)), split="jain_wallace")
    assert not long.rows, "a line break counts as a word"


def test_yelp(tmp_path: Path) -> None:
    head, sort = "text,label1,label2\n", "Business Category: "
    text = f'{head}"Nice, food",{sort}Bars,Review Stars: 4.0\nbad,{sort}Hotels,Review Stars: 1.0\n'
    path = write(tmp_path, {"test.csv": text})
    (tmp_path / "train.csv.gz").write_bytes(gzip.compress(text.encode()))
    stars = yelp(path)
    assert [(r.text, r.label) for r in stars.rows if r.split == "train"] == [("Nice, food", "4"), ("bad", "1")]
    with pytest.raises(DataError, match="yelp: a file is not as"):
        yelp(write(tmp_path, {"test.csv": "text,label1\na,b\n"}))


def annotation(name: str, side: str, *spans: tuple[int, int]) -> str:
    evidence = [[{"docid": name, "start_token": a, "end_token": b, "text": "…"}] for a, b in spans]
    return json.dumps({"annotation_id": name, "classification": side, "evidences": evidence}) + "\n"


def test_movies(tmp_path: Path) -> None:
    docs = {f"docs/r{i}.txt": f"a FILM number {i}\nsimply wonderful .\n" for i in range(6)}
    train = annotation("r0.txt", "POS", (4, 6)) + annotation("r1.txt", "NEG") + annotation("r2.txt", "POS")
    val, test = annotation("r2.txt", "POS", (0, 1), (5, 7)), annotation("r3.txt", "NEG", (1, 1))
    raw = movies(write(tmp_path, {**docs, "train.jsonl": train, "val.jsonl": val, "test.jsonl": test}))
    found = [(r.id, r.split) for r in raw.rows]
    assert found == [("r0.txt", "train"), ("r1.txt", "train"), ("r2.txt", "dev"), ("r3.txt", "test")]
    assert (raw.rows[0].sentences, raw.rows[0].rationale) == ((0, 4), (False,) * 4 + (True, True, False))
    assert "1 validation reviews removed from train, which lists them too" in raw.notes
    for broken in (
        annotation("r3.txt", "NEG", (5, 99)),
        annotation("r9.txt", "NEG"),
        annotation("r3.txt", "MEH"),
        "{broken\n",
    ):
        with pytest.raises(DataError, match="movies: a file is not as"):
            movies(write(tmp_path, {"test.jsonl": broken}))


NEWS = '"1","Vote","Elections\\today in 3 states."\n"2","Goal","A match."\n"3","Bank","Shares fell."\n'


def test_agnews(tmp_path: Path) -> None:
    raw = agnews(write(tmp_path / "a", {"train.csv": NEWS, "test.csv": "Class Index,Title,Description\n" + NEWS}))
    told = [("Elections today in 3 states.", "world"), ("Shares fell.", "business")]
    assert [(r.text, r.label) for r in raw.rows if r.split == "test"] == told
    assert raw.classes == ("world", "business")
    raw = agnews(write(tmp_path / "b", {"train_5k.csv": '"3","Bank Shares fell."\n', "test.csv": NEWS}))
    assert raw.rows[0].text == "Bank Shares fell."
    with pytest.raises(DataError, match=r"agnews: a file is not as .*KeyError\('5'\)"):
        agnews(write(tmp_path / "a", {"test.csv": NEWS + '"5","a","b"\n'}))


STORY = (
    "1 Mary moved to the bathroom.\n2 John went to the hallway.\n3 Where is Mary? \tbathroom\t1\n"
    "4 Daniel went back to the hallway.\n5 Where is Daniel? \thallway\t4\n"
    "1 Sandra ran.\n2 Where is Sandra?\tgarden\t1\n"
)


def test_babi(tmp_path: Path) -> None:
    names = {f"qa1_single-supporting-fact_{split}.txt": STORY for split in ("train", "test")}
    path = write(tmp_path, names | {"qa10_indefinite-knowledge_train.txt": "1 not for task 1\n"})
    first, second, third = (row for row in babi(path).rows if row.split == "train")
    assert first.tokens == tuple("Mary moved to the bathroom . John went to the hallway".split())
    assert (first.query, first.label) == (("Where", "is", "Mary", "?"), "bathroom")
    assert (first.rationale, first.sentences) == ((True,) * 5 + (False,) * 6, (0, 6))
    marked = [t for t, m in zip(second.tokens, second.rationale, strict=True) if m]
    assert marked == "Daniel went back to the hallway".split()
    assert third.tokens == ("Sandra", "ran")
    write(tmp_path, {f"en-10k/{name}": "1 A b.\n2 C?\tlarge\t1\n" for name in names})
    assert {row.label for row in babi(path).rows} == {"large"}, "of several sizes, the large one"
    for broken in (
        "Mary moved.\n",
        "1 M.\n2 W?\tx\n",
        "1 W?\tx\t1\n",
        "1 M.\n2 W?\tx\t7\n",
        "1 M.\n2 W?\tx\tone\n",
    ):
        with pytest.raises(DataError, match="babi"):
            babi(write(tmp_path / "c", dict.fromkeys(names, broken)))


PAIRS = [("Two women embrace .", "They hug .", "entailment"), ("Dogs run .", "Dogs run far .", "neutral")]


def test_snli(tmp_path: Path) -> None:
    columns = dict(
        zip(("s1", "s2", "labels"), ("\n".join(c) + "\n" for c in zip(*PAIRS, strict=True)), strict=True)
    )
    path = write(tmp_path / "a", {f"{part}.{s}": text for part, text in columns.items() for s in ("dev", "test")})
    raw = snli(path)
    assert Counter(r.split for r in raw.rows) == {"train": 2, "test": 2}
    assert (raw.rows[0].text, raw.rows[0].query, raw.rows[0].label) == PAIRS[0]
    assert any("the dev file is trained on" in note for note in raw.notes)
    with pytest.raises(DataError, match="snli: a file is not as its publisher"):
        snli(write(tmp_path / "a", {"labels.test": "neutral\n"}))
    pairs = [*PAIRS, ("Unsure .", "Who knows .", "-")]
    body = "\n".join(json.dumps({"sentence1": a, "sentence2": b, "gold_label": y}) for a, b, y in pairs)
    raw = snli(write(tmp_path / "b", {f"snli_1.0_{split}.jsonl": body for split in ("train", "dev", "test")}))
    assert Counter(r.split for r in raw.rows) == {"train": 2, "dev": 2, "test": 2}
    assert raw.notes == ("3 pairs without an agreed label dropped",)


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory):
    """The folder of a packed corpus of the development data."""

    def unpack(name: str) -> str:
        folder = tmp_path_factory.mktemp(name)
        with tarfile.open(next((DATA / name).glob("*.tar.xz"))) as archive:
            archive.extractall(folder, filter="data")
        return str(folder)

    return unpack


@pytest.mark.realdata
@pytest.mark.skipif(not DATA.is_dir(), reason="no raw corpora here (set ATTNLIB_DATA)")
class TestReal:
    def test_sst(self) -> None:
        """Published and derived sizes: binary, after Jain & Wallace's strict filter, |V| from train."""
        path = str(DATA / "sst")
        corpus = load_corpus("sst", path=path, strict_length_filter=True)
        assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (6355, 821, 1725)
        assert len(corpus.vocabulary) == 13826
        assert Counter(r.split for r in sst(path).rows) == {"train": 6920, "dev": 872, "test": 1821}

    @pytest.mark.slow
    def test_aclimdb(self, unpacked) -> None:
        path = unpacked("imdb")
        raw = aclimdb(path, labels="stars")
        assert Counter(r.split for r in raw.rows) == {"train": 25000, "test": 25000}
        assert sum(int(r.label) < 5 for r in raw.rows) == 25000
        sizes = Counter(r.split for r in aclimdb(path, split="jain_wallace").rows)
        assert sizes == {"train": 17212, "dev": 4304, "test": 4363}, "as in the papers' tables"

    def test_movies(self, unpacked) -> None:
        raw = movies(unpacked("eraser_movies"))
        assert Counter(r.split for r in raw.rows) == {"train": 1600, "dev": 200, "test": 199}
        for split, share in (("train", 0.09), ("test", 0.31)):
            rows = [r for r in raw.rows if r.split == split]
            marked = sum(sum(r.rationale) for r in rows) / sum(len(r.tokens) for r in rows)
            assert marked == pytest.approx(share, abs=0.01)
