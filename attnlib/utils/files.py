"""Files and folders that are whole or absent, and what to say when a disk is full or read-only.

A folder that takes long to fill is made next to its place, as `<name>.part-<host>-<process>-<number>`, and renamed
when it is complete.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from contextlib import suppress
from pathlib import Path

from attnlib.utils.errors import ConfigError
from attnlib.utils.text import filesize

FAILED = ".failed"
"""Ending of the folder that keeps a run which failed or was interrupted, next to the last complete one."""
UNFINISHED = re.compile(r"(?P<name>.+)\.(?P<kind>part|old)-(?P<host>[0-9a-f]{8})-(?P<process>\d+)(-\w+)?")
"""Names of folders in the making, and of those just replaced."""


def write(path: Path, content: str | bytes) -> None:
    """Write next to it, then rename: readers see the earlier content or the new one."""
    part = path.with_name(f"{path.name}.{os.getpid()}-{secrets.token_hex(3)}.tmp")  # others may write it too
    try:
        part.write_bytes(content.encode() if isinstance(content, str) else content)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def working(target: Path) -> Path:
    """A new folder next to `target` to work in. What dead processes left there is removed first."""
    target = target.resolve()  # a link stays one, and leads to the new folder
    target.parent.mkdir(parents=True, exist_ok=True)
    clear(target.parent)
    folder = _beside(target, "part")
    folder.mkdir()
    return folder


def replace(folder: Path, target: Path) -> None:
    """Put a complete folder in the place of `target`.

    A process killed between the two renames leaves the earlier folder next to its place; `clear` puts it back.
    """
    target = target.resolve()
    old = _beside(target, "old")
    with suppress(FileNotFoundError):
        target.rename(old)
    try:
        folder.rename(target)
    except OSError:
        if old.exists() and not target.exists():
            old.rename(target)
        raise
    finally:
        shutil.rmtree(old, ignore_errors=True)


def sha256(path: Path) -> str:
    """The SHA-256 of a file's contents, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def host() -> str:
    """Eight digits that stand for this machine: containers may share a name, but number their processes apart."""
    try:
        processes = os.readlink("/proc/self/ns/pid")
    except OSError:  # not Linux
        processes = ""
    return hashlib.sha256(f"{socket.gethostname()} {processes}".encode()).hexdigest()[:8]


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f"{target.name}.{kind}-{host()}-{os.getpid()}-{secrets.token_hex(3)}")


def clear(parent: Path) -> None:
    """Remove the folders that dead processes of this machine left in `parent`; one just replaced comes back."""
    for folder in sorted(parent.glob("*.*-*-*")):
        found = UNFINISHED.fullmatch(folder.name)
        if found is None or found["host"] != host() or _alive(int(found["process"])):
            continue
        place = parent / found["name"]
        if found["kind"] == "old" and not place.exists():
            folder.rename(place)
        else:
            shutil.rmtree(folder, ignore_errors=True)


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass
    return True


def check_writable(folder: Path) -> None:
    """Try to write where `folder` is or would be, and leave nothing behind; an OSError says why that fails."""
    place = _existing(folder)
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    with tempfile.TemporaryFile(dir=place, buffering=0) as file:
        file.write(b"x" * 4096)


def check_out(folder: Path) -> None:
    """Refuse --out where it cannot be written, before anything runs; nothing is made."""
    try:
        check_writable(folder)
    except OSError as error:
        raise ConfigError(f"--out: {trouble(error, folder, 'name a folder you may write to')}") from None


def trouble(error: OSError, folder: Path, remedy: str) -> str:
    """Why a folder cannot be written, and what to do. `remedy` ends the sentence: `choose another with --out`."""
    why = error.strerror or str(error)
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        why = f"the disk is full ({filesize(shutil.disk_usage(_existing(folder)).free)} are free)"
    return f"{folder} cannot be written: {why}. To continue, {remedy}."


def _existing(folder: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    folder = folder.absolute()
    return next(place for place in (folder, *folder.parents) if os.path.lexists(place))
