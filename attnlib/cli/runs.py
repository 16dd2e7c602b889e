"""`attnlib runs`: look at the store and clean it."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import click

from attnlib.cli import examples
from attnlib.store.entries import Store
from attnlib.utils.errors import ConfigError
from attnlib.utils.text import duration, filesize

UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
store_option = click.option(
    "--store", "root", type=click.Path(path_type=Path), help="Folder of the store; default: ATTNLIB_STORE."
)


@click.group("runs", epilog=examples("runs"))
def runs() -> None:
    """Finished runs: list them, show one, free their space."""


@runs.command("list")
@store_option
@click.option("--task", default="", help="Only tasks whose name contains this.")
def list_(root: Path | None, task: str) -> None:
    """One line per run: key, what it is, how long it took, its size and age."""
    store = Store(root)
    rows = [row for row in _rows(store) if task in row["task"]]
    widths = [max((len(row["cells"][k]) for row in rows), default=0) for k in range(5)]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row["cells"], widths, strict=True)).rstrip())
    click.echo(f"{len(rows)} runs, {filesize(sum(row['size'] for row in rows))} in {store.root}")


@runs.command()
@click.argument("key")
@store_option
def show(key: str, root: Path | None) -> None:
    """All about the run whose key starts with KEY, after checking every file."""
    entry = Store(root).find(key)
    entry.verify()
    spec = entry.spec
    click.echo(f"{entry.key}\n{entry.folder}")
    for title, value in (("run", spec["run"]), ("environment", entry.environment)):
        click.echo(f"{title}: {json.dumps(value, indent=2, ensure_ascii=False)}")
    click.echo("files:")
    for name, (size, digest) in sorted(entry.files.items()):
        click.echo(f"  {name}  {filesize(size)}  sha256 {digest[:12]}")
    for name in entry.frame_names:
        rows, columns = entry.frame(name).shape
        click.echo(f"frame {name}: {rows:,} rows, {columns} columns")
    changed = stale(spec)
    if changed:
        click.echo(f"made by different code ({', '.join(changed)}): the same run would be computed again")


@runs.command()
@store_option
@click.option("--older-than", metavar="AGE", help="Remove runs finished longer ago than this: 12h, 30d, 8w.")
@click.option("--stale", "outdated", is_flag=True, help="Remove runs made by code that has changed since.")
@click.option("--dry-run", is_flag=True, help="Preview deletions; remove nothing.")
def gc(root: Path | None, older_than: str | None, outdated: bool, dry_run: bool) -> None:
    """Remove what killed runs left behind; on demand also old and outdated runs."""
    limit = None if older_than is None else datetime.now(UTC) - parse_age(older_than)
    store = Store(root)
    doomed = []
    if limit is not None or outdated:
        for row in _rows(store):
            old = limit is not None and row["finished"] < limit
            if old or (outdated and stale(row["spec"])):
                doomed.append(row)
    size = sum(row["size"] for row in doomed)
    verb = "would be removed" if dry_run else "removed"
    for row in doomed:
        click.echo(f"{verb}: {'  '.join(row['cells'])}")
        if not dry_run:
            store.remove(row["key"])
    click.echo(f"{len(doomed)} runs {verb}, {filesize(size)} in {store.root}")


def stale(spec: dict[str, Any]) -> list[str]:
    """What has changed since the run was made: the kit or its task; parts of a notebook are not known here."""
    from attnlib.store.keys import UNCACHED
    from attnlib.store.sources import KIT, NoSource, source_of
    from attnlib.store.specs import resolve

    changed = []
    for name, then in spec["code"].items():
        try:
            now = KIT if name == "attnlib" else source_of(resolve(name)).digest if ":" in name else then
        except (ConfigError, ImportError, NoSource):
            now = ""
        if now != then or then.startswith(UNCACHED):
            changed.append(name)
    return changed if "attnlib" in spec["code"] else [spec["task"]]


def parse_age(text: str) -> timedelta:
    """`30d` -> 30 days."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhdw])", text.strip())
    if found is None:
        raise ConfigError(f"An age is a number and s, m, h, d or w, such as 30d; got {text!r}.")
    return timedelta(**{UNITS[found[2]]: float(found[1])})


def _rows(store: Store) -> list[dict[str, Any]]:
    """Finished runs, the newest first. A damaged one is removed with a warning."""
    rows = []
    for entry, spec, environment in store.described():
        finished = datetime.fromisoformat(environment["finished"])
        what = " ".join(str(value) for value in spec["columns"].values())
        age = duration((datetime.now(UTC) - finished).total_seconds())
        cells = [
            entry.key[:12],
            f"{spec['task'].rpartition('.')[2]} {what}".strip(),
            duration(environment["seconds"]),
        ]
        cells += [filesize(entry.size), f"{age} ago"]
        row = {"key": entry.key, "task": spec["task"], "spec": spec, "size": entry.size, "finished": finished}
        rows.append({**row, "cells": cells})
    return sorted(rows, key=lambda row: row["finished"], reverse=True)
