"""SST, aclImdb, Yelp, ERASER movies and AG News: hand-made files always, the real ones where they are."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import pytest

from attnlib.data import corpora, load_corpus
from attnlib.data.readers.reviews import aclimdb, agnews, movies, sst, yelp
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError

realdata = [
    pytest.mark.realdata,
    pytest.mark.skipif(paths.development_data() is None, reason="no raw corpora here (set ATTNLIB_DATA)"),
]

TREES = [
    "(3 (2 It) (4 (2 's) (4 (2 -LRB-) (2 good))))",
    "(0 (2 Truly) (1 (2 bad) (2 .)))",
    "(2 (2 So) (2 so))",
    "(4 (2 A) (4 gem))",
    "(1 (2 Dull) (2 -RRB-))",
]


def treebank(folder: Path, trees: list[str] = TREES) -> str:
    for split in ("train", "dev", "test"):
        (folder / f"{split}.txt").write_text("\n".join(trees) + "\n")
    return str(folder)


def test_sst_two_and_five_classes(tmp_path: Path) -> None:
    path = treebank(tmp_path)
    two = sst(path)
    assert [row.label for row in two.rows if row.split == "train"] == [
        "positive",
        "negative",
        "positive",
        "negative",
    ]
    five = sst(path, classes=5)
    assert [row.label for row in five.rows if row.split == "dev"] == [
        "positive",
        "very negative",
        "neutral",
        "very positive",
        "negative",
    ]
    assert five.rows[0].text == "It 's -LRB- good"


def test_sst_is_cleaned_as_jain_and_wallace_do(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="word for word"):
        corpus = load_corpus("sst", path=treebank(tmp_path))
    assert corpus.train[0].tokens == ("it", "s", "good")
    assert corpus.train[3].tokens == ("dull",)


@pytest.mark.parametrize("line", ["(3 (2 good) (2 film)", "good film", "(7 (2 good))", "(3 )"])
def test_a_broken_tree_is_named(tmp_path: Path, line: str) -> None:
    path = treebank(tmp_path, [TREES[0], line])
    with pytest.raises(DataError, match=r"\.txt, line 2: not a tree"):
        sst(path)


def test_sst_options_and_files(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="classes must be one of 2, 5; got 3"):
        load_corpus("sst", path=treebank(tmp_path), classes=3)
    (tmp_path / "dev.txt").unlink()
    with pytest.raises(DataError, match="no file for dev"):
        sst(str(tmp_path))


def imdb_tar(path: Path, names: list[str], mode: str = "w:gz", text: str = "A film.<br /><br />Seen as") -> str:
    with tarfile.open(path, mode) as archive:
        for name in names:
            data = f"{text} {name.replace('/', ' ')}!".encode()
            info = tarfile.TarInfo(f"aclImdb/{name}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return str(path)


NAMES = [f"{s}/{side}/{i}_{stars}.txt" for s in ("train", "test") for i in range(10) for side, stars in
         (("pos", 7 + i % 4), ("neg", 1 + i % 4))]  # fmt: skip


def test_aclimdb_in_a_tar_and_in_a_folder(tmp_path: Path) -> None:
    tar = imdb_tar(tmp_path / "x.tar.gz", [*NAMES, "train/unsup/1_0.txt", "README"])
    raw = aclimdb(tar)
    assert Counter((r.split, r.label) for r in raw.rows) == {
        (s, label): 10 for s in ("train", "test") for label in ("negative", "positive")
    }
    assert raw.rows[0].text.startswith("A film.  Seen as")
    (tmp_path / "folder").mkdir()
    with tarfile.open(tar) as archive:
        archive.extractall(tmp_path / "folder", filter="data")
    assert sorted(aclimdb(str(tmp_path / "folder")).rows, key=lambda r: r.id) == sorted(
        raw.rows, key=lambda r: r.id
    )


def test_aclimdb_stars(tmp_path: Path) -> None:
    raw = aclimdb(imdb_tar(tmp_path / "x.tar.gz", NAMES), labels="stars")
    assert raw.classes == ("1", "2", "3", "4", "7", "8", "9", "10")
    assert raw.rows[0].label == "7"
    with pytest.raises(ConfigError, match="labels must be one of 'polarity', 'stars'"):
        aclimdb(str(tmp_path), labels="star")


def test_aclimdb_in_the_proportions_of_jain_and_wallace(tmp_path: Path) -> None:
    rows = aclimdb(imdb_tar(tmp_path / "x.tar.gz", NAMES), split="jain_wallace").rows
    assert Counter(row.split for row in rows) == {"train": 16, "dev": 4, "test": 20}
    assert len({row.id for row in rows}) == 40
    long = aclimdb(imdb_tar(tmp_path / "long.tar.gz", NAMES, text="no<br />" * 200), split="jain_wallace")
    assert not long.rows, "a line break counts as a word"
    with pytest.raises(ConfigError, match="split must be one of 'official', 'jain_wallace'"):
        aclimdb(str(tmp_path), split="own")


@pytest.mark.parametrize("name", ["train/pos/3.txt", "train/pos/3_2.txt", "train/neg/3_11.txt"])
def test_aclimdb_refuses_names_without_fitting_stars(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=name):
        aclimdb(imdb_tar(tmp_path / "x.tar.gz", [*NAMES, name]))


YELP = 'text,label1,label2\n"Nice, food",Business Category: Bars,Review Stars: 4.0\nbad,Business Category: Hotels,Review Stars: 1.0\n'  # noqa: E501


def yelp_folder(folder: Path, text: str = YELP) -> str:
    (folder / "train.csv.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "test.csv").write_text(text)
    return str(folder)


def test_yelp_stars_and_categories(tmp_path: Path) -> None:
    path = yelp_folder(tmp_path)
    stars = yelp(path)
    assert [(r.text, r.label) for r in stars.rows if r.split == "train"] == [("Nice, food", "4"), ("bad", "1")]
    assert stars.classes == ("1", "2", "3", "4", "5")
    assert [r.label for r in yelp(path, labels="category").rows][:2] == ["Bars", "Hotels"]


def test_yelp_review_full(tmp_path: Path) -> None:
    path = yelp_folder(tmp_path, '"5","so\\ngood"\n"2","meh"\n')
    assert [(r.text, r.label) for r in yelp(path).rows][:2] == [("so good", "5"), ("meh", "2")]
    with pytest.raises(DataError, match="no column for the category"):
        yelp(path, labels="category")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("text,label1,label2\na,b\n", r"line 2: 2 columns instead of text, label1, label2"),
        (YELP.replace("4.0", "4.5"), r"line 2: stars are 1 to 5; got '4\.5'"),
        ('"6","x"\n', r"line 1: stars are 1 to 5; got '6'"),
    ],
)
def test_broken_yelp_is_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        yelp(yelp_folder(tmp_path, text))


def annotation(name: str, side: str, *spans: tuple[int, int]) -> str:
    evidence = [[{"docid": name, "start_token": a, "end_token": b, "text": "…"}] for a, b in spans]
    return json.dumps({"annotation_id": name, "classification": side, "evidences": evidence})


def eraser(folder: Path, **changes: str) -> str:
    (folder / "docs").mkdir()
    for i in range(6):
        (folder / "docs" / f"r{i}.txt").write_text(f"a FILM number {i}\nsimply wonderful .\n")
    tables = {
        "train": "\n".join(
            [annotation("r0.txt", "POS", (4, 6)), annotation("r1.txt", "NEG"), annotation("r2.txt", "POS")]
        ),
        "val": annotation("r2.txt", "POS", (0, 1), (5, 7)),
        "test": annotation("r3.txt", "NEG", (1, 1)),
    } | changes
    for split, text in tables.items():
        (folder / f"{split}.jsonl").write_text(text + "\n")
    return str(folder)


def test_movies_rationales_sentences_and_the_validation_ids(tmp_path: Path) -> None:
    raw = movies(eraser(tmp_path))
    assert [(r.id, r.split) for r in raw.rows] == [
        ("r0.txt", "train"),
        ("r1.txt", "train"),
        ("r2.txt", "dev"),
        ("r3.txt", "test"),
    ]
    first = raw.rows[0]
    assert first.sentences == (0, 4)
    assert first.rationale == (False,) * 4 + (True, True, False)
    assert not any(raw.rows[3].rationale)
    assert "1 validation reviews removed from train, which lists them too" in raw.notes
    corpus = load_corpus("movies", path=str(tmp_path), min_df=1)
    assert corpus.train[0].tokens[1] == "film"
    assert corpus.dev[0].rationale == (True, False, False, False, False, True, True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"test": annotation("r3.txt", "NEG", (5, 99))},
            r"test\.jsonl, line 1: evidence 5:99 .* outside .*7 tokens",
        ),
        ({"test": annotation("r9.txt", "NEG")}, r"test\.jsonl, line 1: there is no document docs/r9\.txt"),
        ({"test": annotation("r3.txt", "MEH")}, r"line 1: classification must be NEG or POS; got 'MEH'"),
        ({"test": "{broken"}, r"test\.jsonl, line 1: not an ERASER annotation"),
        ({"test": '{"annotation_id": "r3.txt"}'}, r"not an ERASER annotation \(KeyError"),
    ],
)
def test_broken_annotations_are_named(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        movies(eraser(tmp_path, **changes))


def test_movies_needs_all_three_tables(tmp_path: Path) -> None:
    path = eraser(tmp_path)
    (tmp_path / "val.jsonl").unlink()
    with pytest.raises(DataError, match=r"no val\.jsonl"):
        movies(path)


NEWS = (
    '"1","Vote","Elections\\today in 3 states."\n"2","Goal","A match."\n'
    '"3","Bank","Shares fell."\n"4","Chip","It hums."\n'
)


def news_folder(path: Path, train: str = NEWS, test: str = NEWS, name: str = "train.csv") -> str:
    (path / name).write_text(train)
    (path / "test.csv").write_text(test)
    return str(path)


def test_agnews_two_classes_are_world_and_business_without_titles(tmp_path: Path) -> None:
    raw = agnews(news_folder(tmp_path))
    assert raw.classes == ("world", "business")
    assert [(r.text, r.label) for r in raw.rows if r.split == "train"] == [
        ("Elections today in 3 states.", "world"),
        ("Shares fell.", "business"),
    ]
    assert corpora["agnews"].prepared["min_df"] == 5


def test_agnews_digits_become_qqq(tmp_path: Path) -> None:
    train = "".join(f'"{c}","x","story {w}"\n' for c in (1, 3) for w in "abcdefghij")
    corpus = load_corpus("agnews", path=news_folder(tmp_path, train), min_df=1)
    assert corpus.test[0].tokens == ("elections", "today", "in", "qqq", "states", ".")


def test_agnews_four_classes_with_titles(tmp_path: Path) -> None:
    raw = agnews(news_folder(tmp_path), classes=4, title=True)
    assert [r.label for r in raw.rows][:4] == ["world", "sports", "business", "sci/tech"]
    assert raw.rows[1].text == "Goal A match."


def test_agnews_two_columns_and_a_header(tmp_path: Path) -> None:
    raw = agnews(
        news_folder(tmp_path, '"3","Bank Shares fell."\n', "Class Index,Title,Description\n" + NEWS, "train_5k.csv")
    )
    assert [r.text for r in raw.rows if r.split == "train"] == ["Bank Shares fell."]
    assert sum(r.split == "test" for r in raw.rows) == 2
    assert any("the title is kept" in note for note in raw.notes)


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ('"1","a","b"\n"5","a","b"\n', r"test\.csv, line 2: the class is a number from 1 .*got '5'"),
        ('"1","a","b","c"\n', r"test\.csv, line 1: 4 columns"),
        ('"1","a"b"\n', r"test\.csv, line 1: not proper csv"),
    ],
)
def test_agnews_broken_rows_are_named(tmp_path: Path, test: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        agnews(news_folder(tmp_path, test=test))


def test_agnews_a_wrong_number_of_classes(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="classes must be one of 2, 4; got 3"):
        agnews(news_folder(tmp_path), classes=3)


class TestReal:
    pytestmark = realdata

    def test_sst_sizes_filter_and_vocabulary(self) -> None:
        """Published and derived sizes: binary, after Jain & Wallace's strict filter, |V| from train."""
        corpus = load_corpus("sst", strict_length_filter=True)
        assert (len(corpus.train), len(corpus.dev), len(corpus.test)) == (6355, 821, 1725)
        assert Counter(e.label for e in corpus.train) == {0: 3034, 1: 3321}
        assert Counter(e.label for e in corpus.test) == {0: 863, 1: 862}
        assert len(corpus.vocabulary) == 13826
        assert Counter(r.split for r in sst().rows) == {"train": 6920, "dev": 872, "test": 1821}

    def test_sst_five_classes(self) -> None:
        assert Counter(r.split for r in sst(classes=5).rows) == {"train": 8544, "dev": 1101, "test": 2210}

    @pytest.mark.slow
    def test_aclimdb(self) -> None:
        raw = aclimdb(labels="stars")
        assert Counter(r.split for r in raw.rows) == {"train": 25000, "test": 25000}
        assert raw.classes == ("1", "2", "3", "4", "7", "8", "9", "10")
        low = sum(int(r.label) < 5 for r in raw.rows)
        assert low == 25000
        sizes = Counter(r.split for r in aclimdb(split="jain_wallace").rows)
        assert sizes == {"train": 17212, "dev": 4304, "test": 4363}, "as in the papers' tables"

    def test_yelp(self) -> None:
        raw = yelp()
        assert Counter(r.split for r in raw.rows) == {"train": 5000, "test": 5000}
        assert {r.label for r in raw.rows} == set("12345")
        assert len({r.label for r in yelp(labels="category").rows}) == 10

    def test_movies(self) -> None:
        raw = movies()
        assert Counter(r.split for r in raw.rows) == {"train": 1600, "dev": 200, "test": 199}
        share = {
            split: sum(sum(r.rationale) for r in raw.rows if r.split == split)
            / sum(len(r.tokens) for r in raw.rows if r.split == split)
            for split in ("train", "test")
        }
        assert share["train"] == pytest.approx(0.09, abs=0.01)
        assert share["test"] == pytest.approx(0.31, abs=0.01)
        assert all(r.sentences[0] == 0 for r in raw.rows)
        assert sum(len(r.sentences) == 1 for r in raw.rows) == 1

    def test_agnews_sizes(self) -> None:
        raw = agnews(classes=4)
        assert Counter(r.split for r in raw.rows) == {"train": 4999, "test": 7600}
        assert set(Counter(r.label for r in raw.rows if r.split == "test").values()) == {1900}
        assert Counter(r.label for r in agnews().rows if r.split == "test") == {"world": 1900, "business": 1900}
