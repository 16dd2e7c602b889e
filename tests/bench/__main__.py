"""Run benchmarks and print one table: `python -m tests.bench [--json FILE] [name …]`."""

from __future__ import annotations

import argparse
import json
import pkgutil
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path

from attnlib.utils.errors import UnknownName
from tests import bench
from tests.bench import BENCHES, Row

HEADER = ("what", "setting", "ours", "baseline", "ratio", "goal", "memory")


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 where a goal is missed, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("names", nargs="*", help="benchmarks to run; all by default")
    parser.add_argument("--json", type=Path, help="also write the rows to this file, e.g. reports/bench.json")
    options = parser.parse_args(arguments)
    for module in pkgutil.iter_modules(bench.__path__):
        if module.name != "__main__":
            import_module(f"{bench.__name__}.{module.name}")
    try:
        chosen = {name: BENCHES[name] for name in options.names or sorted(BENCHES)}
    except UnknownName as error:
        print(error, file=sys.stderr)
        return 2
    rows: list[Row] = []
    for name, run in chosen.items():
        print(f"{name} …", file=sys.stderr, flush=True)
        rows += run()
    print(table(rows))
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    return 0 if all(row.reached for row in rows) else 1


def table(rows: Iterable[Row]) -> str:
    """The rows as aligned text."""
    cells = [HEADER, *(_cells(row) for row in rows)]
    widths = [max(len(row[k]) for row in cells) for k in range(len(HEADER))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
    return "\n".join(line.rstrip() for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    goal = "" if row.goal is None else f"{row.goal:g}" + ("" if row.reached else " missed")
    memory = "" if row.memory is None else f"{row.memory / 2**20:,.0f} MB"
    return row.what, row.setting, f"{row.ours:.3g} s", f"{row.baseline:.3g} s", f"{row.ratio:.2f}", goal, memory


if __name__ == "__main__":
    sys.exit(main())
