"""Files that users give, plain or packed (gz, bz2, xz, zip), read with a limit on what comes out.

A small file can unpack to more than the machine holds. What is unpacked is counted while it is read, and reading
stops at the limit: 1,024 MiB, or as many MiB as the variable ATTNLIB_UNPACK_LIMIT says.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import zlib
from pathlib import Path, PurePosixPath
from typing import IO

from attnlib.data.readers.archives import limited, read_members
from attnlib.utils.errors import ConfigError, DataError, first_line

VARIABLE = "ATTNLIB_UNPACK_LIMIT"
LIMIT = 1024
"""MiB that a file may unpack to, unless the variable says otherwise."""
PACKED = (".gz", ".bz2", ".xz", ".zip")
_OPENERS = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ\0": lzma.open}
_ZIP = b"PK\x03\x04"
_BROKEN = (OSError, EOFError, zlib.error, lzma.LZMAError)


def unpack_limit() -> int:
    """Bytes that a packed file may give."""
    value = os.environ.get(VARIABLE, "").strip() or str(LIMIT)
    if not value.isdecimal() or int(value) < 1:
        raise ConfigError(f"{VARIABLE} must be a whole number of MiB, 1 at least; got {value!r}.")
    return int(value) * 2**20


def unpacked_name(path: Path) -> str:
    """The name without the ending of a packer, in lower case: `Reviews.csv.gz` is `reviews.csv`."""
    name = path.name.lower()
    return next((name.removesuffix(ending) for ending in PACKED if name.endswith(ending)), name)


def open_packed(path: Path) -> IO[bytes]:
    """The file as a stream of plain bytes, whatever it is packed with (zip excepted); no limit applies."""
    with path.open("rb") as file:
        start = file.read(6)
    opener = next((opener for magic, opener in _OPENERS.items() if start.startswith(magic)), None)
    return path.open("rb") if opener is None else opener(path, "rb")


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
            return limited(stream, unpack_limit(), path, path.name, hint=raise_limit())
    except _BROKEN as error:
        raise DataError(
            f"{path.name} cannot be read ({first_line(error)}): it is broken, cut off or not what its name says. "
            "Get it again, or unpack it yourself and give the plain file."
        ) from None
    except MemoryError:
        raise DataError(f"{path.name} does not fit in the memory of this machine. Give a part of it.") from None


def raise_limit() -> str:
    """What to do about a file that is meant to be so large."""
    return f"If you trust it, raise the limit of {unpack_limit() // 2**20:,} MiB: {VARIABLE}=8192."


def _from_zip(path: Path, endings: tuple[str, ...]) -> bytes:
    if not path.name.lower().endswith(".zip"):
        raise DataError(
            f"{path.name} is a zip or an Excel workbook, not what its name says. Save the table as csv, or name "
            "the file .csv.zip if it is a zip with a csv in it."
        )

    def table(name: str) -> bool:
        plain = PurePosixPath(name)
        hidden = any(part.startswith((".", "__MACOSX")) for part in plain.parts)
        return not hidden and plain.name.lower().endswith(endings)

    names: list[str] = []

    def wanted(name: str) -> bool:
        if table(name):
            names.append(name)
        return table(name) and len(names) == 1

    found = list(
        read_members(path, wanted, member_limit=unpack_limit(), total_limit=unpack_limit(), hint=raise_limit())
    )
    if len(names) != 1:
        said = f"{len(names)} tables ({', '.join(names[:5])})" if names else "no table"
        raise DataError(
            f"{path.name} holds {said}; one is needed ({', '.join(endings)}). Unpack it and give the file."
        )
    return found[0][1]
