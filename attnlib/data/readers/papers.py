"""The papers' corpora as their publishers lay them out: a folder (archives unpacked) in, rows out."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import wraps
from itertools import accumulate, chain
from pathlib import Path
from typing import Any

import numpy as np

from attnlib.data.readers.base import Reader, find_source, listed
from attnlib.data.splits import SEED
from attnlib.data.types import SPLITS, RawCorpus, RawExample
from attnlib.utils.errors import AttnlibError, ConfigError, DataError

POLARITY = ("negative", "positive")
NEWS = {"1": "world", "2": "sports", "3": "business", "4": "sci/tech"}
ENTAILMENT = ("entailment", "neutral", "contradiction")
_LEAF = re.compile(r"\([0-4] ([^()\s]+)\)")
_NOT_KERAS = re.compile(r"[!-&(-/:-@\[-`{-~]")
"""What separates words for Keras, whose copy of IMDB Jain & Wallace count: a line break is a word, "br"."""


def paper(name: str) -> Callable[[Reader], Reader]:
    """`listed`, with one error for whatever is wrong in a file."""

    def add(reader: Reader) -> Reader:
        @wraps(reader)
        def guarded(*args: Any, **options: Any) -> RawCorpus:
            try:
                return reader(*args, **options)
            except AttnlibError:
                raise
            except (KeyError, ValueError, IndexError, OSError, EOFError) as error:
                raise DataError(f"{name}: a file is not as its publisher lays it out ({error!r}).") from error

        return listed(name)(guarded)

    return add


def files(corpus: str, path: str | None, pattern: str) -> Iterator[tuple[re.Match[str], str]]:
    """The match and the text of every file in a folder whose path matches; `.gz` is opened."""
    folder, found = find_source(path, corpus), False
    for file in sorted(folder.rglob("*")):
        if (match := re.search(rf"(?:^|/){pattern}$", file.relative_to(folder).as_posix())) and file.is_file():
            found = True
            data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            yield match, data.decode()
    if not found:
        raise DataError(
            f"{corpus}: {folder} is no folder with files such as {pattern}. Give path= the folder as its publisher "
            "lays it out, unpacked."
        )


def split_files(corpus: str, path: str | None, pattern: str, needed: tuple[str, ...]) -> dict[str, str]:
    """Split (the pattern's group) -> text of its file, those that are needed in this order."""
    found: dict[str, str] = {}
    for match, text in files(corpus, path, pattern):
        if match["split"] in found:
            raise DataError(f"{corpus}: two files in {path} look like {match['split']}. Give the folder of one.")
        found[match["split"]] = text
    if absent := [split for split in needed if split not in found]:
        raise DataError(f"{corpus}: {path} has no file for {', '.join(absent)}, only for {', '.join(found)}.")
    return {split: found[split] for split in needed}


def lines(text: str) -> list[str]:
    """The lines of a file. Only line feeds end a line: texts contain other separators."""
    return [line.removesuffix("\r") for line in text.removesuffix("\n").split("\n")]


def choice(option: str, value: object, *allowed: object) -> None:
    if value not in allowed or isinstance(value, bool):
        raise ConfigError(f"{option} must be one of {', '.join(map(repr, allowed))}; got {value!r}.")


@paper("sst")
def sst(path: str | None = None) -> RawCorpus:
    """train.txt, dev.txt and test.txt, one tree per line; the label is the root's.

    As in Jain & Wallace without the neutral sentences: {0, 1} is negative, {3, 4} positive.
    """
    names = ("negative", "negative", None, "positive", "positive")
    rows = []
    for split, text in split_files("sst", path, r"(?P<split>train|dev|test)\.txt", SPLITS).items():
        for number, line in enumerate(lines(text), start=1):
            words = _LEAF.findall(line)
            if not re.match(r"\([0-4] ", line) or not words or line.count("(") != line.count(")"):
                raise DataError(f"sst, {split}.txt, line {number}: not a tree like '(3 (2 good) (2 film))'.")
            label = names[int(line[1])]
            if label is not None:
                rows.append(RawExample(" ".join(words), label, split=split, id=f"{split}-{number}"))
    return RawCorpus("sst", rows, POLARITY)


@paper("aclimdb")
def aclimdb(path: str | None = None, *, labels: str = "polarity", split: str = "official") -> RawCorpus:
    """{train,test}/{pos,neg}/ID_STARS.txt; unlabelled reviews are passed over.

    labels  "polarity", or "stars": 1 to 4 and 7 to 10, as in the file names
    split   "official", or "jain_wallace": reviews of fewer than 400 words, of which train and dev have 80% and 20%
            of the train half (17,212 and 4,304) and test has 4,363 of the test half
    """
    choice("aclimdb: labels", labels, "polarity", "stars")
    choice("aclimdb: split", split, "official", "jain_wallace")
    rows = []
    for match, text in files("aclimdb", path, r"(train|test)/(pos|neg)/(\d+_(\d+))\.txt"):
        part, side, name, stars = match.groups()
        if split == "official" or len(_NOT_KERAS.sub(" ", text).split()) < 400:
            label = stars if labels == "stars" else POLARITY[side == "pos"]
            rows.append(RawExample(text.replace("<br />", " "), label, split=part, id=f"{part}/{side}/{name}"))
    notes = ("line breaks (<br />) and punctuation removed, as in the version Jain & Wallace used",)
    if split == "jain_wallace":  # train and dev from the train half, test from the test half
        rng = np.random.default_rng(SEED)
        halves = [[row for row in rows if row.split == half] for half in ("train", "test")]
        train, test = ([own[i] for i in rng.permutation(len(own))] for own in halves)
        cut = int(0.8 * len(train))
        rows = [*train[:cut], *(replace(row, split="dev") for row in train[cut:]), *test[:4_363]]
        notes += ("reviews of fewer than 400 words; sizes as in Jain & Wallace, the draw is ours",)
    classes = tuple(sorted({row.label for row in rows}, key=int)) if labels == "stars" else POLARITY
    return RawCorpus("aclimdb", rows, classes, notes=notes)


@paper("yelp")
def yelp(path: str | None = None) -> RawCorpus:
    """train.csv and test.csv (or .csv.gz): text, and a cell "Review Stars: …" (five classes)."""
    rows, mark = [], "Review Stars: "
    found = split_files("yelp", path, r"(?P<split>train|test)\.csv(?:\.gz)?", ("train", "test"))
    for split, text in found.items():
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), start=2):
            (stars,) = (cell.removeprefix(mark) for cell in row.values() if cell and cell.startswith(mark))
            stars = stars.strip().removesuffix(".0")
            rows.append(RawExample(row["text"], stars, split=split, id=f"{split}-{number}"))
    return RawCorpus("yelp", rows, tuple("12345"))


@paper("agnews")
def agnews(path: str | None = None) -> RawCorpus:
    """train.csv (or a part of it, train_5k.csv) and test.csv: number of the class, title (left out), description.

    As in Jain & Wallace, world and business alone.
    """
    rows, kept = [], ("world", "business")
    found = split_files("agnews", path, r"(?P<split>train|test)(?:_\w+)?\.csv(?:\.gz)?", ("train", "test"))
    for split, text in found.items():
        table = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
        table = table[1:] if not table[0][0].strip().isdigit() else table  # some copies carry a header
        for number, (digit, *_, words) in enumerate(table, start=1):
            label = NEWS[digit.strip()]
            if label in kept:  # the publisher writes a line break as a backslash
                rows.append(RawExample(words.replace("\\", " "), label, split=split, id=f"{split}-{number}"))
    return RawCorpus("agnews", rows, kept)


@paper("movies")
def movies(path: str | None = None) -> RawCorpus:
    """docs/ID (tokens between blanks, one sentence per line) and {train,val,test}.jsonl, as ERASER has them.

    Reviews of the validation set that train.jsonl holds too are removed from train.
    """
    docs = {match["id"]: text for match, text in files("movies", path, r"docs/(?P<id>[^/]+)")}
    tables = split_files("movies", path, r"(?P<split>train|val|test)\.jsonl", ("train", "val", "test"))
    rows = [
        _annotated(json.loads(line), docs, split)
        for split, text in zip(SPLITS, tables.values(), strict=True)
        for line in lines(text)
    ]
    held_out = {row.id for row in rows if row.split == "dev"}
    kept = [row for row in rows if row.split != "train" or row.id not in held_out]
    notes = ("rationales of test mark far more words than those of train: the annotation differs",)
    if removed := len(rows) - len(kept):
        notes = (f"{removed} validation reviews removed from train, which lists them too", *notes)
    return RawCorpus("movies", kept, POLARITY, notes=notes)


def _annotated(entry: dict[str, Any], docs: dict[str, str], split: str) -> RawExample:
    name = entry["annotation_id"]
    sentences = [words for line in docs[name].split("\n") if (words := line.split())]
    tokens = tuple(chain.from_iterable(sentences))
    spans = [span for span in chain.from_iterable(entry["evidences"]) if span["docid"] == name]
    marked = {i for span in spans for i in range(span["start_token"], span["end_token"])}
    if marked and max(marked) >= len(tokens):
        raise ValueError(f"evidence outside docs/{name}")
    marks = (i in marked for i in range(len(tokens)))
    starts = tuple(accumulate(map(len, sentences[:-1]), initial=0))
    label = {"NEG": "negative", "POS": "positive"}[entry["classification"]]
    return RawExample("", label, tokens, split, rationale=tuple(marks), id=name, sentences=starts)


@paper("babi")
def babi(path: str | None = None, *, task: int = 1) -> RawCorpus:
    """qaN_*_train.txt and qaN_*_test.txt (of several sizes en-10k). Story, question, and the answer as class.

    task  1, 2 or 3 supporting facts

    The rationale marks the words of the supporting sentences, which the file names after each answer. As in
    Jain & Wallace, sentences are joined by " . " and the case is kept.
    """
    choice("babi: task", task, 1, 2, 3)
    large = Path(path or "") / "en-10k"
    pattern = rf"qa{task}_(?:[^/]*_)?(?P<split>train|test)(?:_1k)?\.txt"
    found = split_files("babi", str(large) if large.is_dir() else path, pattern, ("train", "test"))
    return RawCorpus(f"babi{task}", [row for split, text in found.items() for row in _questions(text, split)])


def _questions(text: str, split: str) -> Iterator[RawExample]:
    story: dict[int, list[str]] = {}
    for number, line in enumerate(lines(text), start=1):
        place, _, rest = line.partition(" ")
        cells = rest.split("\t")
        story = {} if place == "1" else story
        if len(cells) == 1:
            story[int(place)] = rest.strip().removesuffix(".").split()
            continue
        question, answer, support = cells
        facts = {int(place) for place in support.split()}
        if not facts or not facts <= {*story}:
            raise ValueError(f"line {number} of {split} names sentences that are not in the story")
        told = [(words, position in facts) for position, words in story.items()]
        tokens = [word for words, _ in told for word in (".", *words)][1:]
        marks = [mark for words, fact in told for mark in (False, *[fact] * len(words))][1:]
        starts = accumulate((len(words) + 1 for words, _ in told[:-1]), initial=0)
        query, name = tuple(question.replace("?", " ?").split()), f"{split}-{number}"
        yield RawExample("", answer.strip(), tuple(tokens), split, query, tuple(marks), name, tuple(starts))


@paper("snli")
def snli(path: str | None = None) -> RawCorpus:
    """Either snli_1.0_{train,dev,test}.jsonl, or the line files s1.SPLIT, s2.SPLIT and labels.SPLIT.

    Pairs without an agreed label ("-") are dropped and counted. Where there is no train file, training uses the dev
    file (and a new dev is cut from it), which is noted.
    """
    parts: dict[str, dict[str, list[str]]] = {}
    pattern = r"(?:snli_1\.0_(?P<split>\w+)\.jsonl|(?P<part>s1|s2|labels)\.(?P<of>\w+))"
    for match, text in files("snli", path, pattern):
        if match["part"]:
            parts.setdefault(match["of"], {})[match["part"]] = lines(text)
        else:
            entries = [json.loads(line) for line in lines(text)]
            names = {"s1": "sentence1", "s2": "sentence2", "labels": "gold_label"}
            parts[match["split"]] = {name: [entry[key] for entry in entries] for name, key in names.items()}
    notes = []
    if {*parts} == {"dev", "test"}:
        parts["train"] = parts.pop("dev")
        notes.append("no train file: the dev file is trained on, and a new dev is cut from it")
    rows = []
    for split in sorted(parts, key=SPLITS.index):
        pairs = zip(*(parts[split][name] for name in ("s1", "s2", "labels")), strict=True)
        for number, (premise, hypothesis, label) in enumerate(pairs, start=1):
            rows.append(RawExample(premise, label.strip(), split=split, query=hypothesis, id=f"{split}-{number}"))
    agreed = [row for row in rows if row.label != "-"]
    if dropped := len(rows) - len(agreed):
        notes.append(f"{dropped:,} pairs without an agreed label dropped")
    return RawCorpus("snli", agreed, ENTAILMENT, notes=tuple(notes))
