"""Reading folders, zips, wheels and tars alike, and trusting none of them.

Members are streamed: nothing is written to disk unless `extract` is asked, and then only below the folder
named. Absolute names, names that climb out (`..`), links, devices, repeated names, encrypted members and
members larger than the limits are refused. The limits count the bytes that really come out, not those that
the archive declares.
"""

from __future__ import annotations

import io
import lzma
import re
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from attnlib.utils import files
from attnlib.utils.errors import DataError

MEMBER_LIMIT = 2 * 1024**3
"""Bytes one member may hold; more is taken for a decompression bomb."""
TOTAL_LIMIT = 8 * 1024**3
"""Bytes that one reading of an archive may give."""
CHUNK = 256 * 1024
TO_UTF8 = "Save the file as UTF-8 (for example: iconv -f latin1 -t utf-8)."
_PLAIN = re.compile(r"(?!\.)[\w.-]+(?:/(?!\.)[\w.-]+)*")
"""Names that need no second look; an archive may hold fifty thousand."""

Wanted = Callable[[str], bool]
Member = tuple[str, Callable[[], IO[bytes]]]


def safe_name(name: str, archive: Path) -> str:
    """The member's name as a relative POSIX path, or an error where it points outside the archive.

    >>> safe_name("./docs/a.txt", Path("x.tar"))
    'docs/a.txt'
    """
    if _PLAIN.fullmatch(name):
        return name
    plain = name.replace("\\", "/")
    path = PurePosixPath(plain)
    outside = path.is_absolute() or PureWindowsPath(name).drive or ".." in path.parts or "\0" in name
    if outside or not path.parts:
        raise DataError(
            f"{archive}: the member {name!r} points outside the archive, so the archive is refused. "
            "Get it again from its publisher, or unpack and inspect it yourself and give the folder."
        )
    return str(path)


def read_members(
    path: str | Path,
    wanted: Wanted | None = None,
    *,
    member_limit: int = MEMBER_LIMIT,
    total_limit: int = TOTAL_LIMIT,
    hint: str = "",
) -> Iterator[tuple[str, bytes]]:
    """Name and content of every wanted file of a folder, zip, wheel or tar (plain, gz, bz2, xz).

    Files of a folder come sorted by name, members of an archive in the archive's order. `hint` is what to do
    where a limit is exceeded.
    """
    path = Path(path)
    total = 0
    with _members(path) as members:
        for name, opened in members:
            if wanted is not None and not wanted(name):
                continue
            with _readable(path, name), opened() as stream:
                data = limited(stream, member_limit, path, name, hint=hint)
            total += len(data)
            if total > total_limit:
                raise DataError(_bomb(path, total_limit, hint))
            yield name, data


def read_member(path: str | Path, name: str, *, limit: int = MEMBER_LIMIT) -> bytes:
    """The content of one named member."""
    for _, data in read_members(path, lambda found: found == name, member_limit=limit):
        return data
    raise DataError(f"{path}: holds no file {name!r}. It is not the file it should be, or of another version.")


def extract(path: str | Path, prefix: str, folder: str | Path) -> Path:
    """Write the members below `prefix` into `folder`, which appears whole or not at all.

    `prefix` itself is dropped from the names: `extract("m.whl", "pkg/model", out)` gives `out/config.json`.
    """
    path, folder, prefix = Path(path), Path(folder), prefix.rstrip("/") + "/"
    work = files.working(folder)
    try:
        count = written = 0
        with _members(path) as members:
            for name, opened in members:
                if not name.startswith(prefix):
                    continue
                target = work / name[len(prefix) :]
                target.parent.mkdir(parents=True, exist_ok=True)
                with _readable(path, name), opened() as stream, target.open("wb") as out:
                    written += _copy(stream, out, MEMBER_LIMIT, path, name)
                if written > TOTAL_LIMIT:
                    raise DataError(_bomb(path, TOTAL_LIMIT, ""))
                count += 1
        if not count:
            raise DataError(f"{path}: holds no file below {prefix!r}.")
        files.replace(work, folder)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return folder


def decode(data: bytes, where: str, encoding: str = "utf-8", advice: str = TO_UTF8) -> str:
    """Text of `data`, or an error that names the file, the line and the byte that does not fit."""
    try:
        return data.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}, line {line:,}: byte 0x{data[error.start]:02x} is not {encoding}. {advice}"
        ) from None


@contextmanager
def _members(path: Path) -> Iterator[Iterator[Member]]:
    if not path.exists():
        raise DataError(
            f"{path}: no such file or folder. Give path= the folder or archive as its publisher lays it out."
        )
    if path.is_dir():
        yield _folder_members(path)
    elif zipfile.is_zipfile(path):
        with _readable(path, "the list of members"):
            archive = zipfile.ZipFile(path)
        with archive:
            yield _zip_members(archive, path)
    else:
        try:
            archive = tarfile.open(path, mode="r|*")  # noqa: SIM115  (closed below; the stream mode reads once)
        except (tarfile.TarError, lzma.LZMAError, EOFError, OSError, zlib.error) as error:
            raise DataError(
                f"{path}: neither a folder nor a zip nor a tar (plain, gz, bz2, xz) that can be read: {error}"
            ) from None
        with archive:
            yield _tar_members(archive, path)


def _folder_members(folder: Path) -> Iterator[Member]:
    for file in sorted(folder.rglob("*")):
        if file.is_file():
            yield file.relative_to(folder).as_posix(), lambda file=file: file.open("rb")


def _zip_members(archive: zipfile.ZipFile, path: Path) -> Iterator[Member]:
    seen: set[str] = set()
    for info in archive.infolist():
        name = safe_name(info.filename, path)
        kind = stat.S_IFMT(info.external_attr >> 16)
        if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
            raise DataError(f"{path}: the member {name!r} is a link or a device; refused.")
        if info.flag_bits & 1:
            raise DataError(f"{path}: the member {name!r} is encrypted; unpack the archive yourself.")
        if not info.is_dir():
            yield _once(name, seen, path), lambda info=info: archive.open(info)


def _tar_members(archive: tarfile.TarFile, path: Path) -> Iterator[Member]:
    seen: set[str] = set()
    while True:
        with _readable(path, "the list of members"):
            info = archive.next()
        if info is None:
            return
        # the archive's own root, as in `tar -C folder .`
        if info.isdir() and PurePosixPath(info.name) == PurePosixPath("."):
            continue
        name = safe_name(info.name, path)
        archive.members = []  # a stream is read once: remembering 50,000 members only costs memory
        if info.isdir():
            continue
        if not info.isreg():
            raise DataError(f"{path}: the member {name!r} is a link or a device; refused.")
        yield _once(name, seen, path), lambda info=info: archive.extractfile(info)


def _once(name: str, seen: set[str], path: Path) -> str:
    if name in seen:
        raise DataError(f"{path}: holds {name!r} twice; refused, since the two may differ.")
    seen.add(name)
    return name


@contextmanager
def _readable(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except (
        zipfile.BadZipFile,
        tarfile.TarError,
        zlib.error,
        lzma.LZMAError,
        EOFError,
        NotImplementedError,
    ) as error:
        raise DataError(
            f"{path}: broken or cut off while reading {name!r} ({error}). Get the file again."
        ) from None


def limited(stream: IO[bytes], limit: int, path: Path, name: str, *, hint: str = "") -> bytes:
    """All bytes of a stream; more than `limit` is refused as soon as they come."""
    data = io.BytesIO()
    _copy(stream, data, limit, path, name, hint)
    return data.getvalue()


def _copy(stream: IO[bytes], out: IO[bytes], limit: int, path: Path, name: str, hint: str = "") -> int:
    written = 0
    while chunk := stream.read(CHUNK):
        written += len(chunk)
        if written > limit:
            raise DataError(_bomb(path if name == path.name else f"{path}: {name!r}", limit, hint))
        out.write(chunk)
    return written


def _bomb(what: object, limit: int, hint: str) -> str:
    return f"{what} unpacks to more than {limit:,} bytes; refused as a decompression bomb. {hint}".strip()
