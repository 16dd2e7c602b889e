"""What the readers of publishers' own layouts share: finding the files, lines and csv rows with their numbers."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath

from attnlib.data.corpora import find_source
from attnlib.data.readers.archives import MEMBER_LIMIT, decode, limited, read_members
from attnlib.utils.errors import ConfigError, DataError

ARCHIVES = (".zip", ".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2")
LONGEST_CELL = 2**31 - 1


def files(
    path: str | Path | None, folder: str, corpus: str, pattern: str
) -> Iterator[tuple[str, re.Match[str], str]]:
    """Where it was found, the match of its name, and the text of every file whose path matches `pattern`.

    `path` is a folder, an archive, or a folder that holds one archive; `folder` is where the corpus lies in the
    development data. The pattern is searched in the POSIX path relative to the folder or archive; gzipped
    files are opened.
    """
    source = find_source(path, folder, corpus)
    if source.is_file() and not source.name.endswith(ARCHIVES):
        raise DataError(
            f"{corpus}: {source} is a single file. Give path= the folder that holds it, or an archive "
            f"({', '.join(ARCHIVES)})."
        )
    wanted = re.compile(pattern)
    none = True
    for place in (source, *_archives_in(source)):
        prefix = f"{place}/" if place.is_dir() else f"{place}, "
        for name, data in read_members(place, lambda n: wanted.search(n) is not None):
            none = False
            where = prefix + name
            if name.endswith(".gz"):
                data = _gunzip(data, where)
            yield where, wanted.search(name), decode(data, where)
        if not none:
            return
    raise DataError(
        f"{corpus}: {source} holds no file that looks like /{pattern}/. Found: {_shown(source)}. "
        "Give path= the folder or archive as its publisher lays it out."
    )


def one_each(
    found: Iterator[tuple[str, re.Match[str], str]], corpus: str, needed: Sequence[str]
) -> dict[str, tuple[str, str]]:
    """By the pattern's group `key`: where a file is and its text; each key once, all the needed ones."""
    result: dict[str, tuple[str, str]] = {}
    for where, match, text in found:
        key = match["key"]
        if key in result:
            raise DataError(
                f"{corpus}: both {result[key][0]} and {where} look like {key!r}. Give path= just one of them."
            )
        result[key] = (where, text)
    absent = [key for key in needed if key not in result]
    if absent:
        have = ", ".join(where for where, _ in result.values())
        raise DataError(f"{corpus}: no file for {', '.join(absent)}; found only {have}.")
    return result


def lines(text: str) -> Iterator[tuple[int, str]]:
    """Number (from 1) and content of every line. Only line feeds end a line: texts hold stranger separators."""
    rows = text.split("\n")
    if rows and not rows[-1]:
        rows.pop()
    for number, line in enumerate(rows, start=1):
        yield number, line.removesuffix("\r")


def csv_rows(text: str, where: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the line on which it ends, and cells of every csv row; blank rows are passed over."""
    csv.field_size_limit(LONGEST_CELL)
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise DataError(f"{where}, line {reader.line_num}: not proper csv ({error}).") from None


def choice(corpus: str, option: str, value: object, allowed: Sequence[object]) -> None:
    """Refuse a value of an option that is not among the allowed."""
    if value not in allowed or isinstance(value, bool):
        shown = ", ".join(map(repr, allowed))
        raise ConfigError(f"{corpus}: {option} must be one of {shown}; got {value!r}.")


def _archives_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return [p for p in sorted(folder.iterdir()) if p.name.endswith(ARCHIVES) and p.is_file()]


def _gunzip(data: bytes, where: str) -> bytes:
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            return limited(stream, MEMBER_LIMIT, Path(where), Path(where).name)
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{where}: broken gzip ({error}). Get the file again.") from None


def _shown(source: Path) -> str:
    if not source.is_dir():
        return PurePosixPath(source.name).name
    names = sorted(p.name for p in source.iterdir())
    return ", ".join(names[:8]) + (", …" if len(names) > 8 else "") if names else "nothing"
