"""bAbI and SNLI: hand-made files always, the real ones where they are."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from attnlib.data import corpora, load_corpus
from attnlib.data.readers.pairs import babi, snli
from attnlib.utils import paths
from attnlib.utils.errors import ConfigError, DataError

STORY = (
    "1 Mary moved to the bathroom.\n2 John went to the hallway.\n3 Where is Mary? \tbathroom\t1\n"
    "4 Daniel went back to the hallway.\n5 Where is Daniel? \thallway\t4\n"
    "1 Sandra ran.\n2 Where is Sandra?\tgarden\t1\n"
)


def stories(folder: Path, train: str = STORY, test: str = STORY) -> str:
    (folder / "qa1_single-supporting-fact_train.txt").write_text(train)
    (folder / "qa1_single-supporting-fact_test.txt").write_text(test)
    (folder / "qa10_indefinite-knowledge_train.txt").write_text("1 not for task 1\n")
    return str(folder)


def test_a_question_sees_the_story_so_far(tmp_path: Path) -> None:
    rows = [row for row in babi(stories(tmp_path)).rows if row.split == "train"]
    assert [row.label for row in rows] == ["bathroom", "hallway", "garden"]
    first, second, third = rows
    assert first.tokens == tuple("Mary moved to the bathroom . John went to the hallway".split())
    assert first.query == ("Where", "is", "Mary", "?")
    assert first.rationale == (True,) * 5 + (False,) * 6
    assert first.sentences == (0, 6)
    assert [
        t for t, m in zip(second.tokens, second.rationale, strict=True) if m
    ] == "Daniel went back to the hallway".split()
    assert third.tokens == ("Sandra", "ran")


def test_the_case_is_kept(tmp_path: Path) -> None:
    many = "".join(
        STORY.replace("Mary", name) for name in ("Ann", "Ben", "Cleo", "Dan", "Eve", "Finn", "Gus", "Ida")
    )
    corpus = load_corpus("babi", path=stories(tmp_path, many, STORY.replace("Sandra", "Zoe")))
    assert corpus.task == "query"
    assert corpus.test[0].tokens[0] == "Mary"
    assert corpus.test[0].rationale[:6] == (True,) * 5 + (False,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Mary moved.\n", r"line 1: a line of bAbI begins with its number"),
        ("1 Mary moved.\n2 Where?\tx\n", r"line 2: a question is 'question TAB answer TAB numbers'"),
        ("1 Where?\tx\t1\n", r"line 1: a question is .* after at least one sentence"),
        ("1 Mary moved.\n2 Where?\tx\t7\n", r"line 2: the supporting sentences '7' are not sentences"),
        ("1 Mary moved.\n2 Where?\tx\tone\n", r"line 2: the supporting sentences 'one'"),
    ],
)
def test_broken_stories_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"_test\.txt, {message}"):
        babi(stories(tmp_path, test=text))


def test_a_wrong_task(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="task must be one of 1, 2, 3; got 4"):
        babi(stories(tmp_path), task=4)
    with pytest.raises(DataError, match="holds no file"):
        babi(str(tmp_path), task=2)


def test_of_the_whole_archive_the_large_set_is_read(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "tasks.zip", "w") as archive:
        for size, story in (("en", "1 A b.\n2 C?\tsmall\t1\n"), ("en-10k", "1 A b.\n2 C?\tlarge\t1\n")):
            for split in ("train", "test"):
                archive.writestr(f"tasks_1-20_v1-2/{size}/qa1_single-supporting-fact_{split}.txt", story)
    assert {row.label for row in babi(str(tmp_path / "tasks.zip")).rows} == {"large"}


PAIRS = [
    ("Two women embrace .", "They hug .", "entailment"),
    ("A man plays 2 guitars .", "He sleeps .", "contradiction"),
    ("Dogs run .", "Dogs run to a park .", "neutral"),
]


def parallel(
    folder: Path, splits: tuple[str, ...] = ("dev", "test"), pairs: list[tuple[str, str, str]] = PAIRS
) -> str:
    for split in splits:
        for part, column in zip(("s1", "s2", "labels"), zip(*pairs, strict=True), strict=True):
            (folder / f"{part}.{split}").write_text("\n".join(column) + "\n")
    return str(folder)


def test_snli_lines_train_on_dev_where_there_is_no_train(tmp_path: Path) -> None:
    raw = snli(parallel(tmp_path))
    assert Counter(r.split for r in raw.rows) == {"train": 3, "test": 3}
    assert (raw.rows[0].text, raw.rows[0].query, raw.rows[0].label) == PAIRS[0]
    assert raw.classes == ("entailment", "neutral", "contradiction")
    assert any("the dev file is trained on" in note for note in raw.notes)
    assert corpora["snli"].prepared["min_df"] == 3


def test_snli_lines_with_train(tmp_path: Path) -> None:
    raw = snli(parallel(tmp_path, ("train", "dev", "test")))
    assert Counter(r.split for r in raw.rows) == {"train": 3, "dev": 3, "test": 3}
    assert raw.notes == ()


@pytest.mark.parametrize("kind", ["jsonl", "txt"])
def test_snli_as_published(tmp_path: Path, kind: str) -> None:
    pairs = [*PAIRS, ("Unsure .", "Who knows .", "-")]
    for split in ("train", "dev", "test"):
        if kind == "jsonl":
            body = [
                json.dumps({"sentence1": a, "sentence2": b, "gold_label": y, "pairID": "x"}) for a, b, y in pairs
            ]
        else:
            body = [
                "gold_label\tsentence1_parse\tsentence1\tsentence2",
                *(f"{y}\t(p)\t{a}\t{b}" for a, b, y in pairs),
            ]
        (tmp_path / f"snli_1.0_{split}.{kind}").write_text("\n".join(body) + "\n")
    raw = snli(str(tmp_path))
    assert Counter(r.split for r in raw.rows) == {"train": 3, "dev": 3, "test": 3}
    assert (raw.rows[1].text, raw.rows[1].query, raw.rows[1].label) == PAIRS[1]
    assert raw.notes == ("3 pairs without an agreed label dropped",)


def test_broken_snli_is_named(tmp_path: Path) -> None:
    path = parallel(tmp_path)
    (tmp_path / "labels.test").write_text("neutral\n")
    with pytest.raises(DataError, match=r"3, 3, 1 lines; they must be parallel"):
        snli(path)
    (tmp_path / "labels.test").write_text("neutral\nmaybe\nneutral\n")
    with pytest.raises(DataError, match=r"labels\.test, line 2: the label must be .*got 'maybe'"):
        snli(path)
    (tmp_path / "labels.test").unlink()
    with pytest.raises(DataError, match=r"no file labels\.test"):
        snli(path)


def test_broken_published_snli_is_named(tmp_path: Path) -> None:
    good = json.dumps({"sentence1": "a", "sentence2": "b", "gold_label": "neutral"})
    (tmp_path / "snli_1.0_train.jsonl").write_text(f"{good}\n{{broken\n")
    with pytest.raises(DataError, match=r"train\.jsonl, line 2: not an SNLI entry"):
        snli(str(tmp_path))
    (tmp_path / "snli_1.0_train.jsonl").unlink()
    (tmp_path / "snli_1.0_train.txt").write_text("gold_label\tsentence1\nneutral\ta\n")
    with pytest.raises(DataError, match=r"train\.txt, line 1: no column sentence2"):
        snli(str(tmp_path))
    (tmp_path / "snli_1.0_train.txt").write_text("gold_label\tsentence1\tsentence2\nneutral\ta\n")
    with pytest.raises(DataError, match=r"train\.txt, line 2: 2 columns; the header has 3"):
        snli(str(tmp_path))


def test_an_empty_premise_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: the premise or the hypothesis is empty"):
        snli(parallel(tmp_path, pairs=[(" ", "x", "neutral")]))


def test_test_alone_is_not_enough(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="needs train and test, or dev and test; found only test"):
        snli(parallel(tmp_path, ("test",)))


@pytest.mark.realdata
@pytest.mark.skipif(paths.development_data() is None, reason="no raw corpora here (set ATTNLIB_DATA)")
class TestReal:
    @pytest.mark.parametrize(("task", "train"), [(1, 10_000), (2, 10_000), (3, 1_000)])
    def test_babi(self, task: int, train: int) -> None:
        raw = babi(task=task)
        assert Counter(r.split for r in raw.rows) == {"train": train, "test": 1_000}
        assert {r.label for r in raw.rows} == {"bathroom", "bedroom", "garden", "hallway", "kitchen", "office"}
        for row in raw.rows:
            starts = [*row.sentences, len(row.tokens)]
            marked = sum(any(row.rationale[a:b]) for a, b in pairwise(starts))
            assert marked == task

    def test_snli(self) -> None:
        raw = snli()
        assert Counter(r.split for r in raw.rows) == {"train": 9_842, "test": 9_824}
        assert {r.label for r in raw.rows} == {"entailment", "neutral", "contradiction"}
