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
    """A bar that is not drawn before its delay, not even by `set_postfix`, and is cleared once it was drawn.

    tqdm's own `refresh` ignores the delay, and its `close` clears only what `update` drew: a short loop with a
    postfix would leave a bar at 0% behind.
    """

    def refresh(self, *args: Any, **options: Any) -> bool | None:
        begun = getattr(self, "start_t", None)
        if begun is not None and self._time() < begun + self.delay:
            return None
        self.delay = 0
        return super().refresh(*args, **options)


def visible() -> bool:
    """Whether bars are drawn: the switch decides, else whether somebody is watching."""
    setting = os.environ.get(SWITCH)
    if setting is not None:
        return setting not in ("0", "off", "false", "")
    return sys.stderr.isatty() or _in_notebook()


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

    Only the outermost loop of a thread has a bar: a bar inside another one is silent, since a notebook keeps a line
    of output for each bar it ever showed. A plain text bar everywhere: the widget bar is saved frozen at 0% in
    executed notebooks (tqdm#1120). In a notebook it goes to standard output, since standard error is shown as a red
    block even when it was cleared.
    """
    depth = getattr(_open, "bars", 0)
    line = Line(
        desc=label,
        total=total,
        unit=unit,
        disable=depth > 0 or not visible(),
        leave=False,
        dynamic_ncols=True,
        delay=DELAY,
        file=sys.stdout if _in_notebook() else sys.stderr,
        **options,
    )
    _open.bars = depth + 1
    try:
        yield line
    finally:
        _open.bars -= 1
        line.close()


def _in_notebook() -> bool:
    shell = sys.modules.get("IPython")
    return shell is not None and type(shell.get_ipython()).__name__ == "ZMQInteractiveShell"
