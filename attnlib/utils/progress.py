"""One progress bar for every long loop, and a silent twin for saved notebooks."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterable, Iterator, Sized
from contextlib import contextmanager
from typing import Any, TypeVar

from tqdm import tqdm

T = TypeVar("T")
SWITCH = "ATTNLIB_PROGRESS"
"""Environment variable: `0` silences every bar (set for batch runs of notebooks), `1` forces them."""

DELAY = 1.0
"""Seconds a loop may take without a bar."""

_open = threading.local()
"""How many bars this thread has open."""


class Line(tqdm):
    """A bar that is not drawn before its delay, not even by `set_postfix`, and is cleared once it was drawn."""

    def refresh(self, *args: Any, **options: Any) -> bool | None:
        begun = getattr(self, "start_t", None)
        if begun is not None and self._time() < begun + self.delay:
            return None
        self.delay = 0
        return super().refresh(*args, **options)


def visible() -> bool:
    """Whether bars are drawn: the switch decides, else whether somebody is watching."""
    watched = sys.stderr.isatty() or _in_notebook()
    return os.environ.get(SWITCH, "1" if watched else "0") not in ("0", "off", "false", "")


def progress(items: Iterable[T], label: str, *, total: int | None = None, unit: str = "it") -> Iterator[T]:
    """Iterate over `items` behind a bar named `label`."""
    if total is None and isinstance(items, Sized):
        total = len(items)
    with bar(label, total=total, unit=unit) as line:
        for item in items:
            yield item
            line.update()


@contextmanager
def bar(label: str, *, total: int | None = None, unit: str = "it", **options: Any) -> Iterator[Line]:
    """A bar to be advanced by hand: `with bar("download", total=n, unit="B") as line: line.update(k)`.

    A bar inside another one is silent, since a notebook keeps a line of output for each. It is plain text, as the
    widget bar is saved frozen (tqdm#1120), on standard output in a notebook, where standard error is a red block.
    """
    depth = getattr(_open, "bars", 0)
    options |= {"leave": False, "dynamic_ncols": True, "delay": DELAY, "disable": depth > 0 or not visible()}
    file = sys.stdout if _in_notebook() else sys.stderr
    line = Line(desc=label, total=total, unit=unit, file=file, **options)
    _open.bars = depth + 1
    try:
        yield line
    finally:
        _open.bars -= 1
        line.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
