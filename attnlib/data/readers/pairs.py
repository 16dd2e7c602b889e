"""Texts with a query: bAbI (a story and a question) and SNLI (a premise and a hypothesis)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from attnlib.data.readers.base import choice, files, lines, listed, one_each
from attnlib.data.types import SPLITS, RawCorpus, RawExample
from attnlib.utils.errors import DataError

ENTAILMENT = ("entailment", "neutral", "contradiction")
NO_LABEL = "-"
"""What SNLI writes where the annotators did not agree."""
FIELDS = ("sentence1", "sentence2", "gold_label")
Pair = tuple[int, Sequence[str]]
"""Number of the line; premise, hypothesis and label."""


@listed("babi")
def babi(path: str | None = None, *, task: int = 1) -> RawCorpus:
    """qaN_*_train.txt and qaN_*_test.txt. Text: the story so far; query: the question; class: the answer.

    task  1, 2 or 3 supporting facts

    The rationale marks the words of the supporting sentences, which the file names after each answer. As in
    Jain & Wallace, sentences are joined by " . " and the case is kept. Of an archive with several sizes the
    10,000-question set (en-10k) is read.
    """
    choice("babi", "task", task, (1, 2, 3))
    pattern = rf"(?:^|/)qa{task}_(?:[^/]*_)?(?P<key>train|test)(?:_1k)?\.txt$"
    candidates = list(files(path, "babi", "babi", pattern))
    large = [c for c in candidates if "/en-10k/" in c[0].replace("\\", "/").replace(", ", "/")]
    found = one_each(large or candidates, "babi", ("train", "test"))
    rows = [row for split, (where, text) in found.items() for row in _questions(text, where, split)]
    return RawCorpus(f"babi{task}", rows)


def _questions(text: str, where: str, split: str) -> Iterator[RawExample]:
    story: dict[int, tuple[str, ...]] = {}
    for number, line in lines(text):
        if not line.strip():
            continue
        place = f"{where}, line {number}"
        head = re.match(r"(\d+) (.*)", line)
        if head is None:
            raise DataError(f"{place}: a line of bAbI begins with its number in the story; got {line[:60]!r}.")
        position, rest = int(head[1]), head[2]
        if position == 1:
            story = {}
        if "\t" not in rest:
            story[position] = tuple(rest.strip().removesuffix(".").split())
            continue
        cells = rest.split("\t")
        if len(cells) != 3 or not story:
            raise DataError(
                f"{place}: a question is 'question TAB answer TAB numbers', after at least one sentence; "
                f"got {line[:60]!r}."
            )
        question, answer, support = (cell.strip() for cell in cells)
        facts = support.split()
        if not facts or not all(f.isdigit() and int(f) in story for f in facts):
            raise DataError(
                f"{place}: the supporting sentences {support!r} are not sentences of the story before it."
            )
        yield question_row(story, question, answer, {int(f) for f in facts}, split, number)


def question_row(
    story: dict[int, tuple[str, ...]], question: str, answer: str, facts: set[int], split: str, number: int
) -> RawExample:
    """A question about the sentences (by number) told so far; the words of the `facts` are the rationale."""
    tokens: list[str] = []
    marks: list[bool] = []
    starts: list[int] = []
    for position, words in story.items():
        if tokens:
            tokens.append(".")
            marks.append(False)
        starts.append(len(tokens))
        tokens += words
        marks += [position in facts] * len(words)
    return RawExample(
        tokens=tuple(tokens),
        label=answer,
        split=split,
        query=tuple(question.replace("?", " ?").split()),
        rationale=tuple(marks),
        id=f"{split}-{number}",
        sentences=tuple(starts),
    )


@listed("snli")
def snli(path: str | None = None) -> RawCorpus:
    """Either snli_1.0_{train,dev,test}.jsonl or .txt, or the line files s1.SPLIT, s2.SPLIT and labels.SPLIT.

    Pairs without an agreed label are dropped and counted. Where there is no train file, training uses the dev
    file (and a new dev is cut from it), which is noted.
    """
    official = r"snli_1\.0_(?P<split>train|dev|test)\.(?P<kind>jsonl|txt)"
    parallel = r"(?P<part>s1|s2|labels)\.(?P<of>train|dev|test)"
    pattern = rf"(?:^|/)(?:{official}|{parallel})$"
    tables: dict[str, dict[str, tuple[str, str]]] = {}
    for where, match, text in files(path, "snli", "snli", pattern):
        split = tables.setdefault(match["split"] or match["of"], {})
        split[match["kind"] or match["part"]] = (where, text)
    pairs = {split: list(_pairs(tables[split], split)) for split in SPLITS if split in tables}
    notes = []
    if "train" not in pairs:
        if set(pairs) != {"dev", "test"}:
            raise DataError(f"snli: needs train and test, or dev and test; found only {', '.join(pairs)}.")
        pairs = {"train": pairs["dev"], "test": pairs["test"]}
        notes.append("no train file: the dev file is trained on, and a new dev is cut from it")
    rows = [replace(row, split=split) for split, found in pairs.items() for row in found if row.label != NO_LABEL]
    if dropped := sum(map(len, pairs.values())) - len(rows):
        notes.append(f"{dropped:,} pairs without an agreed label dropped")
    return RawCorpus("snli", rows, ENTAILMENT, notes=tuple(notes))


def _pairs(found: dict[str, tuple[str, str]], split: str) -> Iterator[RawExample]:
    """The pairs of a split from the files there are, by kind or part: where a file is, and its text."""
    if "jsonl" in found:
        pairs = _jsonl(*found["jsonl"])
    else:
        pairs = _txt(*found["txt"]) if "txt" in found else _parallel(found, split)
    where = next((found[kind][0] for kind in ("jsonl", "txt", "labels") if kind in found), "")
    for number, (premise, hypothesis, label) in pairs:
        label, place = label.strip(), f"{where}, line {number}"
        if label not in (*ENTAILMENT, NO_LABEL):
            raise DataError(f"{place}: the label must be {', '.join(ENTAILMENT)} or '-'; got {label!r}.")
        if not premise.strip() or not hypothesis.strip():
            raise DataError(f"{place}: the premise or the hypothesis is empty.")
        yield RawExample(premise, label, query=hypothesis, id=f"{split}-{number}")


def _jsonl(where: str, text: str) -> Iterator[Pair]:
    for number, line in lines(text):
        try:
            entry = json.loads(line)
            yield number, [entry[field] for field in FIELDS]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DataError(f"{where}, line {number}: not an SNLI entry ({error!r}).") from None


def _txt(where: str, text: str) -> Iterator[Pair]:
    rows = ((number, line.split("\t")) for number, line in lines(text))
    _, header = next(rows, (1, []))
    if absent := sorted(set(FIELDS) - set(header)):
        raise DataError(f"{where}, line 1: no column {', '.join(absent)}; found {', '.join(header)}.")
    places = [header.index(name) for name in FIELDS]
    for number, cells in rows:
        if len(cells) <= max(places):
            raise DataError(f"{where}, line {number}: {len(cells)} columns; the header has {len(header)}.")
        yield number, [cells[k] for k in places]


def _parallel(found: dict[str, tuple[str, str]], split: str) -> Iterable[Pair]:
    parts = {}
    for part in ("s1", "s2", "labels"):
        if part not in found:
            have = ", ".join(where for where, _ in found.values())
            raise DataError(f"snli: no file {part}.{split}; found {have}.")
        parts[part] = [line for _, line in lines(found[part][1])]
    if len({*map(len, parts.values())}) > 1:
        sizes = ", ".join(f"{len(part):,}" for part in parts.values())
        where = found["labels"][0]
        raise DataError(f"{where}: s1, s2 and labels of {split} have {sizes} lines; they must be parallel.")
    return enumerate(zip(*parts.values(), strict=True), start=1)
