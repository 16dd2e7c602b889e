"""Waiting for other processes on a machine that may be busy: patiently, but not forever."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

PATIENCE = 180
"""Seconds that a loaded machine may take; nothing depends on it but the end of a test that hangs."""


def wait_until(condition: Callable[[], bool], what: str) -> None:
    for _ in range(PATIENCE * 20):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(f"{what} did not happen within {PATIENCE} s")


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
