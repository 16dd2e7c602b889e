"""Speed and memory, as ratios to a plain way of doing the same work.

`python -m tests.bench` runs every benchmark, `python -m tests.bench training` some. A benchmark is a function in
a module of this package that yields Rows:

    @bench("training")
    def training() -> Iterator[Row]:
        yield compare("fit", "lstm on SST-like texts", ours, baseline, goal=2.5)
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from attnlib.utils.registry import Registry

Bench = Callable[[], Iterable["Row"]]
BENCHES: Registry[Bench] = Registry("benchmark")
bench = BENCHES.register


@dataclass(frozen=True)
class Row:
    """ours, baseline: median seconds of processor time; ratio: baseline / ours; goal: the ratio asked for, if any;
    memory, baseline_memory: bytes either way holds at its peak beyond what the process held before, None where
    unknown."""

    what: str
    setting: str
    ours: float
    baseline: float
    ratio: float
    goal: float | None = None
    memory: int | None = None
    baseline_memory: int | None = None

    @property
    def reached(self) -> bool:
        return self.goal is None or self.ratio >= self.goal


def compare(
    what: str,
    setting: str,
    ours: Callable[[], object],
    baseline: Callable[[], object],
    *,
    goal: float | None = None,
    repeats: int = 3,
    work: tuple[float, float] = (1.0, 1.0),
) -> Row:
    """Time both ways in turn, so that whatever else the machine does hits both; medians of `repeats`.

    work  what either call gets done (tokens, say), where it is not the same: the ratio is of work a second
    """
    # both also warm up: the first call pays for imports and caches
    memory, plain_memory = peak_memory(ours), peak_memory(baseline)
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(repeats):
        for way, found in zip((ours, baseline), times, strict=True):
            found.append(seconds(way))
    mine, plain = (statistics.median(found) for found in times)
    ratio = statistics.median(b / o for o, b in zip(*times, strict=True)) * work[0] / work[1]
    return Row(what, setting, mine, plain, ratio, goal, memory, plain_memory)


def seconds(call: Callable[[], object]) -> float:
    """Processor time of one call: what else the machine does counts less than on the clock."""
    gc.collect()
    start = time.process_time()
    call()
    return time.process_time() - start


def peak_memory(call: Callable[[], object]) -> int | None:
    """Bytes by which the resident memory grows at most during a call; None where the system does not tell."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak (Linux)
    except OSError:
        call()
        return None
    before = _status("VmRSS")
    call()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) * 1024
    raise LookupError(field)
