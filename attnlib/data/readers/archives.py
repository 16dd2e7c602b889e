"""Folders, zips, wheels, tars and packed files (gz, bz2, xz) read in the same way, and none of them trusted.

Members are streamed: only `extract` writes to disk, and only below the folder it is
given. Absolute names, names that climb out (`..`), links, devices, repeated names, encrypted members and
members larger than the limits are refused. A small file can unpack to more than the machine holds, so the limits
count the bytes that really come out, not those that the archive declares. For files that users give the limit is
1,024 MiB, or as many MiB as the variable ATTNLIB_UNPACK_LIMIT says.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from attnlib.utils.errors import ConfigError, DataError, first_line

MEMBER_LIMIT = 2 * 1024**3
"""Bytes one member may hold; more is taken for a decompression bomb."""
TOTAL_LIMIT = 8 * 1024**3
"""Bytes that one pass over an archive may give."""
VARIABLE = "ATTNLIB_UNPACK_LIMIT"
LIMIT = 1024
"""MiB that a user's file may unpack to, unless the variable says otherwise."""
CHUNK = 256 * 1024
TO_UTF8 = "Save the file as UTF-8 (for example: iconv -f latin1 -t utf-8)."
PACKED = (".gz", ".bz2", ".xz", ".zip")
DAMAGED = (EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError, NotImplementedError)
"""What the standard library raises on damaged archives; a stream raises OSError too, and so does a full disk."""
BROKEN = (OSError, *DAMAGED)
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_ZIP = b"PK\x03\x04"
_PLAIN = re.compile(r"(?!\.)[\w.-]+(?:/(?!\.)[\w.-]+)*")
"""Names that need no further check; an archive may hold fifty thousand."""

Wanted = Callable[[str], bool]
Opened = Callable[[], IO[bytes]]
Entry = tuple[str, bool, Opened | None]
"""A member as the archive has it: name, whether it is a plain file or folder, how to open it (None: a folder)."""


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
                data = _limited(stream, member_limit, f"{path}: {name!r}", hint)
            total += len(data)
            if total > total_limit:
                raise DataError(_bomb(path, total_limit, hint))
            yield name, data


def read_member(path: str | Path, name: str) -> bytes:
    """The content of one named member."""
    for _, data in read_members(path, lambda found: found == name):
        return data
    raise DataError(f"{path}: holds no file {name!r}. It is not the file it should be, or of another version.")


def extract(path: str | Path, prefix: str, folder: Path) -> None:
    """Write the members below `prefix` into `folder`; a `folder` of `cached` then appears whole or not at all.

    `prefix` itself is dropped from the names: `extract("m.whl", "pkg/model", out)` gives `out/config.json`.
    """
    path, prefix = Path(path), prefix.rstrip("/") + "/"
    count = written = 0
    with _members(path) as members:
        for name, opened in members:
            if not name.startswith(prefix):
                continue
            target = folder / name[len(prefix) :]
            target.parent.mkdir(parents=True, exist_ok=True)
            with _readable(path, name), opened() as stream, target.open("wb") as out:
                written += _copy(stream, out, MEMBER_LIMIT, f"{path}: {name!r}")
            if written > TOTAL_LIMIT:
                raise DataError(_bomb(path, TOTAL_LIMIT))
            count += 1
    if not count:
        raise DataError(f"{path}: holds no file below {prefix!r}.")


def unpack_limit() -> int:
    """Bytes that a packed file of a user may give."""
    value = os.environ.get(VARIABLE, "").strip() or str(LIMIT)
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"{VARIABLE} must be a whole number of MiB, 1 at least; got {value!r}.")
    return int(value) * 2**20


def raise_limit() -> str:
    """What to do about a file that is meant to be so large."""
    return f"If you trust it, raise the limit of {unpack_limit() // 2**20:,} MiB: {VARIABLE}=8192."


def unpacked_name(path: Path) -> str:
    """The name without the suffix of a packer, in lower case: `Reviews.csv.gz` is `reviews.csv`."""
    name = path.name.lower()
    return next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)


def open_packed(path: Path) -> IO[bytes]:
    """The file as a stream of plain bytes, however it is packed (except zip); no limit applies."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), Path.open)
    return opener(path, "rb")


def read_packed(path: Path, endings: tuple[str, ...]) -> bytes:
    """All bytes of a file, unpacked. A zip must hold one file with one of the `endings`."""
    try:
        with path.open("rb") as file:
            start = file.read(6)
        if start.startswith(_ZIP):
            return _from_zip(path, endings)
        if not start.startswith(tuple(_OPENERS)):
            return path.read_bytes()
        with open_packed(path) as stream:
            return _limited(stream, unpack_limit(), path, raise_limit())
    except BROKEN as error:
        raise DataError(
            f"{path.name} cannot be read ({first_line(error)}): it is broken, cut off or not what its name says. "
            "Get it again, or unpack it yourself and give the plain file."
        ) from None
    except MemoryError:
        raise DataError(f"{path.name} does not fit in the memory of this machine. Give a part of it.") from None


def gunzipped(data: bytes, where: str) -> bytes:
    """The content of a gzipped member."""
    try:
        with gzip.open(io.BytesIO(data)) as stream:
            return _limited(stream, MEMBER_LIMIT, where)
    except BROKEN as error:
        raise DataError(f"{where}: broken gzip ({error}). Get the file again.") from None


def decode(data: bytes, where: str, encoding: str = "utf-8", advice: str = TO_UTF8) -> str:
    """Text of `data`, or an error that names the file, the line and the byte that does not fit."""
    try:
        return data.decode("utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise DataError(
            f"{where}, line {line:,}: byte 0x{data[error.start]:02x} is not {encoding}. {advice}"
        ) from None


def safe_name(name: str, archive: Path) -> str:
    """The member's name as a relative POSIX path, or an error where it points outside the archive.

    >>> safe_name("./docs/a.txt", Path("x.tar"))
    'docs/a.txt'
    """
    if _PLAIN.fullmatch(name):
        return name
    path = PurePosixPath(name.replace("\\", "/"))
    outside = path.is_absolute() or PureWindowsPath(name).drive or ".." in path.parts or "\0" in name
    if outside or not path.parts:
        raise DataError(
            f"{archive}: the member {name!r} points outside the archive, so the archive is refused. "
            "Get it again from its publisher, or unpack and inspect it yourself and give the folder."
        )
    return str(path)


@contextmanager
def _members(path: Path) -> Iterator[Iterator[tuple[str, Opened]]]:
    """The files of a folder or archive, their names checked."""
    if not path.exists():
        raise DataError(
            f"{path}: no such file or folder. Give path= the folder or archive as its publisher lays it out."
        )
    if path.is_dir():
        found = (file for file in sorted(path.rglob("*")) if file.is_file())
        yield ((file.relative_to(path).as_posix(), lambda file=file: file.open("rb")) for file in found)
    elif zipfile.is_zipfile(path):
        with _readable(path, "the list of members"):
            archive = zipfile.ZipFile(path)
        with archive:
            yield _checked(_zip_entries(archive, path), path)
    else:
        try:
            archive = tarfile.open(path, mode="r|*")  # noqa: SIM115  (closed below; the stream mode reads once)
        except BROKEN as error:
            raise DataError(
                f"{path}: neither a folder nor a zip nor a tar (plain, gz, bz2, xz) that can be read: {error}"
            ) from None
        with archive:
            yield _checked(_tar_entries(archive, path), path)


def _checked(entries: Iterator[Entry], path: Path) -> Iterator[tuple[str, Opened]]:
    """The files among the entries; whatever no honest archive holds is refused."""
    seen: set[str] = set()
    for written, plain, opened in entries:
        name = safe_name(written, path)
        if not plain:
            raise DataError(f"{path}: the member {name!r} is a link or a device; refused.")
        if opened is None:
            continue
        if name in seen:
            raise DataError(f"{path}: holds {name!r} twice; refused, since the two may differ.")
        seen.add(name)
        yield name, opened


def _zip_entries(archive: zipfile.ZipFile, path: Path) -> Iterator[Entry]:
    for info in archive.infolist():
        if info.flag_bits & 1:
            raise DataError(f"{path}: the member {info.filename!r} is encrypted; unpack the archive yourself.")
        plain = stat.S_IFMT(info.external_attr >> 16) in (0, stat.S_IFREG, stat.S_IFDIR)
        yield info.filename, plain, None if info.is_dir() else lambda info=info: archive.open(info)


def _tar_entries(archive: tarfile.TarFile, path: Path) -> Iterator[Entry]:
    while True:
        with _readable(path, "the list of members"):
            info = archive.next()
        if info is None:
            return
        archive.members = []  # a stream is read once: remembering 50,000 members only costs memory
        if info.isdir() and PurePosixPath(info.name) == PurePosixPath("."):
            continue  # the archive's own root, as in `tar -C folder .`
        opened = None if info.isdir() else lambda info=info: archive.extractfile(info)
        yield info.name, info.isdir() or info.isreg(), opened


def _from_zip(path: Path, endings: tuple[str, ...]) -> bytes:
    """The one table of a zip; what systems hide in archives (`__MACOSX`, `.DS_Store`) does not count."""
    if not path.name.lower().endswith(".zip"):
        raise DataError(
            f"{path.name} is a zip or an Excel workbook, not what its name says. Save the table as csv, or name "
            "the file .csv.zip if it is a zip with a csv in it."
        )
    names: list[str] = []

    def wanted(name: str) -> bool:
        hidden = any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)
        if hidden or not name.lower().endswith(endings):
            return False
        names.append(name)
        return len(names) == 1

    limit = unpack_limit()
    found = list(read_members(path, wanted, member_limit=limit, total_limit=limit, hint=raise_limit()))
    if len(names) != 1:
        said = f"{len(names)} tables ({', '.join(names[:5])})" if names else "no table"
        raise DataError(
            f"{path.name} holds {said}; one is needed ({', '.join(endings)}). Unpack it and give the file."
        )
    return found[0][1]


@contextmanager
def _readable(path: Path, name: str) -> Iterator[None]:
    try:
        yield
    except DAMAGED as error:
        raise DataError(
            f"{path}: broken or cut off while reading {name!r} ({error}). Get the file again."
        ) from None


def _limited(stream: IO[bytes], limit: int, what: object, hint: str = "") -> bytes:
    """All bytes of a stream; more than `limit` are refused as soon as they arrive."""
    data = io.BytesIO()
    _copy(stream, data, limit, what, hint)
    return data.getvalue()


def _copy(stream: IO[bytes], out: IO[bytes], limit: int, what: object, hint: str = "") -> int:
    written = 0
    while chunk := stream.read(CHUNK):
        written += len(chunk)
        if written > limit:
            raise DataError(_bomb(what, limit, hint))
        out.write(chunk)
    return written


def _bomb(what: object, limit: int, hint: str = "") -> str:
    return f"{what} unpacks to more than {limit:,} bytes; refused as a decompression bomb. {hint}".strip()
