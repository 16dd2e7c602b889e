"""What a hostile input must not do, seen by Python's own audit events: write, delete, run, connect or unpickle."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

_seen: list[tuple[str, str]] | None = None
_RUNS = (
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "pickle.find_class",
    "socket.connect",
)
_CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod")


def _hook(event: str, args: tuple) -> None:
    if _seen is None:
        return
    if event in _RUNS or event in _CHANGES:
        _seen.append((event, str(args[0])))
    elif event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
        _seen.append(("write", str(args[0])))


sys.addaudithook(_hook)


@contextlib.contextmanager
def harmless(folder: Path) -> Iterator[None]:
    """Nothing is run, connected or unpickled inside, and nothing outside `folder` is changed."""
    global _seen
    _seen = []
    try:
        yield
    finally:
        seen, _seen = _seen, None
    bad = [(event, what) for event, what in seen if event in _RUNS or not _within(what, folder)]
    assert not bad, bad


def _within(what: str, folder: Path) -> bool:
    if what == os.devnull or what.isdecimal():  # a number is a file that is open already
        return True
    return Path(what).resolve().is_relative_to(folder.resolve())


class Payload:
    """Unpickled, it leaves a file behind."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self) -> tuple:
        return os.system, (f"touch {self.canary}",)
