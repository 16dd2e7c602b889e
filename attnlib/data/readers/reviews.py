"""Reviews and news as their publishers lay them out: SST trees, aclImdb, ERASER movies, Yelp, AG News."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, chain

import numpy as np

from attnlib.data.readers.base import choice, csv_rows, files, lines, listed, one_each
from attnlib.data.splits import SEED
from attnlib.data.types import SPLITS, RawCorpus, RawExample
from attnlib.utils.errors import DataError

POLARITY = ("negative", "positive")
FIVE = ("very negative", "negative", "neutral", "positive", "very positive")
NEWS = ("world", "sports", "business", "sci/tech")
"""In the order of AG's numbers, 1 to 4."""
YELP = {"Business Category": "category", "Review Stars": "stars"}
_LEAF = re.compile(r"\([0-4] ([^()\s]+)\)")
_ROOT = re.compile(r"\(([0-4]) ")
_NOT_KERAS = re.compile(r"[!-&(-/:-@\[-`{-~]")
"""Signs that separate words for Keras, from whose copy of IMDB Jain & Wallace count lengths: all but the
apostrophe, so that a line break counts as a word, "br"."""


@listed("sst")
def sst(path: str | None = None, *, classes: int = 2) -> RawCorpus:
    """train.txt, dev.txt and test.txt, one tree per line; the label is the root's.

    classes  2: without the neutral sentences, {0, 1} negative and {3, 4} positive (Jain & Wallace); 5: all

    Words as in Jain & Wallace: "-LRB-" deleted, "-RRB-" and every non-word sign a space, lower case.
    """
    choice("sst", "classes", classes, (2, 5))
    found = one_each(files(path, "sst", "sst", r"(?:^|/)(?P<key>train|dev|test)\.txt$"), "sst", SPLITS)
    rows = []
    for split, (where, text) in found.items():
        for number, line in ((number, line.strip()) for number, line in lines(text) if line.strip()):
            root, words = _ROOT.match(line), _LEAF.findall(line)
            if root is None or not words or line.count("(") != line.count(")"):
                raise DataError(
                    f"{where}, line {number}: not a tree such as '(3 (2 good) (2 film))' with labels 0 to 4; got "
                    f"{line[:60]!r}."
                )
            label = int(root[1])
            if classes == 5 or label != 2:
                name = FIVE[label] if classes == 5 else POLARITY[label > 2]
                rows.append(RawExample(" ".join(words), name, split=split, id=f"{split}-{number}"))
    return RawCorpus("sst", rows, FIVE if classes == 5 else POLARITY)


@listed("aclimdb")
def aclimdb(path: str | None = None, *, labels: str = "polarity", split: str = "official") -> RawCorpus:
    """aclImdb/{train,test}/{pos,neg}/ID_STARS.txt, as a folder or in a tar; unlabelled reviews are passed over.

    labels  "polarity", or "stars": 1 to 4 and 7 to 10, as in the file names
    split   "official", or "jain_wallace": reviews of fewer than 400 words, of which train and dev have 80% and 20%
            of the train half (17,212 and 4,304) and test has 4,363 of the test half
    """
    choice("aclimdb", "labels", labels, ("polarity", "stars"))
    choice("aclimdb", "split", split, ("official", "jain_wallace"))
    rows = []
    pattern = r"(?:^|/)(?P<split>train|test)/(?P<side>pos|neg)/(?P<id>[^/]+)\.txt$"
    for where, match, text in files(path, "imdb", "aclimdb", pattern):
        part, side, name = match["split"], match["side"], re.fullmatch(r"\d+_(\d+)", match["id"])
        stars = int(name[1]) if name else 0
        if not 1 <= stars <= 10 or (stars > 5) != (side == "pos"):
            raise DataError(f"{where}: a {side} review is called NUMBER_STARS.txt, with stars to match.")
        if split == "jain_wallace" and len(_NOT_KERAS.sub(" ", text).split()) >= 400:
            continue
        label = str(stars) if labels == "stars" else POLARITY[stars > 5]
        rows.append(RawExample(text.replace("<br />", " "), label, split=part, id=f"{part}/{side}/{match['id']}"))
    notes = ("line breaks (<br />) and punctuation removed, as in the version Jain & Wallace used",)
    if split == "jain_wallace":
        rows = _drawn(rows)
        notes += ("reviews of fewer than 400 words; sizes as in Jain & Wallace, the draw is ours",)
    classes = tuple(sorted({row.label for row in rows}, key=int)) if labels == "stars" else POLARITY
    return RawCorpus("aclimdb", rows, classes, notes=notes)


def _drawn(rows: list[RawExample]) -> list[RawExample]:
    """Train and dev from the train half, test from the test half, in the proportions of Jain & Wallace."""
    rng = np.random.default_rng(SEED)
    halves = {half: [row for row in rows if row.split == half] for half in ("train", "test")}
    mixed = {half: [own[i] for i in rng.permutation(len(own))] for half, own in halves.items()}
    train, test = int(0.8 * len(mixed["train"])), min(4_363, len(mixed["test"]))
    parts = {"train": mixed["train"][:train], "dev": mixed["train"][train:], "test": mixed["test"][:test]}
    return [replace(row, split=split) for split, own in parts.items() for row in own]


@listed("yelp")
def yelp(path: str | None = None, *, labels: str = "stars") -> RawCorpus:
    """train.csv and test.csv, gzipped or not.

    labels  "stars" (five classes), or "category" where the file has it

    Two layouts: a header `text,label1,label2` with "Business Category: …" and "Review Stars: …"; or, as in
    Yelp Review Full, no header and the columns stars and text.
    """
    choice("yelp", "labels", labels, ("stars", "category"))
    pattern = r"(?:^|/)(?P<key>train|test)\.csv(?:\.gz)?$"
    found = one_each(files(path, "yelp", "yelp", pattern), "yelp", ("train", "test"))
    rows = []
    for split, (where, text) in found.items():
        for number, cells in _yelp_rows(text, where):
            if cells.get(labels) is None:
                raise DataError(f"{where}: has no column for the {labels}; load it with labels='stars'.")
            rows.append(RawExample(cells["text"], cells[labels], split=split, id=f"{split}-{number}"))
    return RawCorpus("yelp", rows, tuple("12345") if labels == "stars" else None)


def _yelp_rows(text: str, where: str) -> Iterator[tuple[int, dict[str, str]]]:
    header = None
    for number, row in csv_rows(text, where):
        if number == 1 and "text" in row:
            header = row
            continue
        place = f"{where}, line {number}"
        if len(row) != (2 if header is None else len(header)):
            raise DataError(f"{place}: {len(row)} columns instead of {', '.join(header or ('stars', 'text'))}.")
        if header is None:
            cells = {"stars": row[0], "text": row[1].replace("\\n", " ")}
        else:
            parts = (cell.partition(": ") for name, cell in zip(header, row, strict=True) if name != "text")
            cells = {YELP[kind]: value.strip() for kind, colon, value in parts if colon and kind in YELP}
            cells["text"] = row[header.index("text")]
        if "stars" in cells:
            if not re.fullmatch(r"[1-5](\.0+)?", cells["stars"]):
                raise DataError(f"{place}: stars are 1 to 5; got {cells['stars']!r}.")
            cells["stars"] = cells["stars"][0]
        yield number, cells


@listed("agnews")
def agnews(path: str | None = None, *, classes: int = 2, title: bool = False) -> RawCorpus:
    """train.csv (or a part of it, train_5k.csv) and test.csv: number of the class, title, description.

    classes  2: world and business (Jain & Wallace); 4: all
    title    whether to put the title before the description. A file with two columns (class, text) holds both
             in one: there is nothing to leave out, which is noted
    """
    choice("agnews", "classes", classes, (2, 4))
    pattern = r"(?:^|/)(?P<key>train|test)(?:_\w+)?\.csv(?:\.gz)?$"
    found = one_each(files(path, "ag_news", "agnews", pattern), "agnews", ("train", "test"))
    kept = ("world", "business") if classes == 2 else NEWS
    rows, notes = [], []
    for split, (where, text) in found.items():
        joined = 0
        for number, cells in csv_rows(text, where):
            # some copies carry a header: Class Index, Title, Description
            if number == 1 and not cells[0].strip().isdigit():
                continue
            place = f"{where}, line {number}"
            if len(cells) not in (2, 3):
                raise DataError(
                    f"{place}: {len(cells)} columns instead of class, title, description or class, text."
                )
            if (digit := cells[0].strip()) not in ("1", "2", "3", "4"):
                raise DataError(f"{place}: the class is a number from 1 (world) to 4 (sci/tech); got {digit!r}.")
            label = NEWS[int(digit) - 1]
            joined += len(cells) == 2
            words = cells[1:] if title or len(cells) == 2 else cells[2:]
            if label in kept:
                # the publisher writes a line break as a backslash
                clean = " ".join(words).replace("\\", " ")
                rows.append(RawExample(clean, label, split=split, id=f"{split}-{number}"))
        if joined and not title:
            notes.append(f"{split}: title and description are in one column, so the title is kept")
    return RawCorpus("agnews", rows, kept, notes=tuple(notes))


@listed("movies")
def movies(path: str | None = None) -> RawCorpus:
    """docs/ID (tokens between blanks, one sentence per line) and {train,val,test}.jsonl, as a folder or in a tar.

    Reviews of the validation set that train.jsonl holds too are removed from train.
    """
    docs: dict[str, str] = {}
    tables: dict[str, tuple[str, str]] = {}
    pattern = r"(?:^|/)(?:docs/(?P<doc>[^/]+)|(?P<split>train|val|test)\.jsonl)$"
    for where, match, text in files(path, "eraser_movies", "movies", pattern):
        if match["doc"]:
            docs[match["doc"]] = text
        else:
            tables[match["split"]] = (where, text)
    for split in ("train", "val", "test"):
        if split not in tables:
            raise DataError(
                f"movies: no {split}.jsonl among {len(docs)} documents and {', '.join(tables) or 'no table'}."
            )
    train, dev, test = (list(_annotated(*tables[split], docs)) for split in ("train", "val", "test"))
    held_out = {row.id for row in dev}
    kept = [row for row in train if row.id not in held_out]
    notes = ("rationales of test mark far more words than those of train: the annotation differs",)
    if removed := len(train) - len(kept):
        notes = (f"{removed} validation reviews removed from train, which lists them too", *notes)
    parts = zip(SPLITS, (kept, dev, test), strict=True)
    rows = [replace(row, split=split) for split, own in parts for row in own]
    return RawCorpus("movies", rows, POLARITY, notes=notes)


def _annotated(where: str, text: str, docs: dict[str, str]) -> Iterator[RawExample]:
    sides = {"NEG": "negative", "POS": "positive"}
    for number, line in lines(text):
        place = f"{where}, line {number}"
        try:
            entry = json.loads(line)
            name, side = entry["annotation_id"], entry["classification"]
            spans = [(e["docid"], e["start_token"], e["end_token"]) for group in entry["evidences"] for e in group]
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise DataError(f"{place}: not an ERASER annotation ({error!r}).") from None
        if side not in sides:
            raise DataError(f"{place}: classification must be NEG or POS; got {side!r}.")
        if name not in docs:
            raise DataError(f"{place}: there is no document docs/{name}.")
        sentences = [words for line in docs[name].split("\n") if (words := line.split())]
        tokens = tuple(chain.from_iterable(sentences))
        starts = tuple(accumulate(map(len, sentences[:-1]), initial=0)) if sentences else ()
        marks = [False] * len(tokens)
        for doc, start, end in spans:
            if doc != name or not 0 <= start <= end <= len(tokens):
                raise DataError(
                    f"{place}: evidence {start}:{end} of {doc!r} lies outside {name!r} ({len(tokens)} tokens)."
                )
            marks[start:end] = [True] * (end - start)
        yield RawExample(tokens=tokens, label=sides[side], rationale=tuple(marks), id=name, sentences=starts)
