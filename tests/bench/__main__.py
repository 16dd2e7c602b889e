"""Run benchmarks, print each row as it is measured: `python -m tests.bench [--history FILE] [name …]`.

Every row is also added to a table that can be plotted over commits, by default `tests/bench/history.csv`.
"""

from __future__ import annotations

import argparse
import csv
import os
import pkgutil
import platform
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import asdict, fields
from datetime import UTC, datetime
from importlib import import_module, metadata
from pathlib import Path

from attnlib.utils.errors import UnknownName
from attnlib.utils.paths import ROOT
from tests import bench
from tests.bench import BENCHES, Row

HEADER = ("what", "setting", "ours", "baseline", "ratio", "goal", "memory", "baseline's")
WIDTHS = (60, 44, 9, 9, 8, 11, 9, 10)
HISTORY = Path(__file__).with_name("history.csv")


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 where a goal is missed, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    parser.add_argument("--history", type=Path, default=HISTORY, help=f"table to add the rows to; {HISTORY.name}")
    options = parser.parse_args(arguments)
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name != "__main__":
            import_module(f"{bench.__name__}.{module.name}")
    try:
        chosen = {name: BENCHES[name] for name in options.names or sorted(BENCHES)}
    except UnknownName as error:
        print(error, file=sys.stderr)
        return 2
    here, reached = circumstances(), True
    print(line(HEADER))
    for name, run in chosen.items():
        start = time.perf_counter()
        for row in run():
            print(line(_cells(row)), flush=True)
            remember(options.history, [{**here, "bench": name, **asdict(row)}])
            reached &= row.reached
        print(f"{name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
    return 0 if reached else 1


def circumstances() -> dict[str, str | int]:
    """What a row was measured with: date, commit (with a + where files differ from it), versions, cores."""
    commit = _git("rev-parse", "--short", "HEAD")
    versions = {name: metadata.version(name) for name in ("torch", "captum")}
    return {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "commit": commit + "+" * bool(_git("status", "--porcelain", "--untracked-files=no")),
        "python": platform.python_version(),
        **versions,
        "cores": os.cpu_count() or 1,
    }


def remember(path: Path, rows: Iterable[dict]) -> None:
    """Add rows to a csv file, with a header where it is new."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", newline="", encoding="utf-8") as file:
        names = ["date", "commit", "python", "torch", "captum", "cores", "bench", *(f.name for f in fields(Row))]
        writer = csv.DictWriter(file, names)
        if not file.tell():
            writer.writeheader()
        writer.writerows(rows)


def line(cells: Iterable[str]) -> str:
    """Cells in columns of fixed width, since later rows are not known yet."""
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, WIDTHS, strict=True)).rstrip()


def _cells(row: Row) -> tuple[str, ...]:
    goal = "" if row.goal is None else f"{row.goal:g}" + ("" if row.reached else " missed")
    memory = ("" if held is None else f"{held / 2**20:,.0f} MB" for held in (row.memory, row.baseline_memory))
    return row.what, row.setting, f"{row.ours:.3g} s", f"{row.baseline:.3g} s", f"{row.ratio:.2f}", goal, *memory


def _git(*arguments: str) -> str:
    told = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
