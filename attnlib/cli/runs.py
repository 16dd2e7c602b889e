"""`attnlib runs`: look at the store and clean it."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

import click

from attnlib.store.entries import Store
from attnlib.utils.text import duration, filesize


@click.group()
def runs() -> None:
    """Finished runs in ATTNLIB_STORE: list them, free their space.

    \b
    attnlib runs list
    attnlib runs gc --stale --older-than 30 --dry-run
    """


@runs.command("list")
def list_() -> None:
    """One line per run: key, what it is, how long it took, its size and age."""
    store = Store()
    rows = _rows(store)
    for row in rows:
        click.echo(row["line"])
    click.echo(f"{len(rows)} runs ({filesize(sum(row['size'] for row in rows))}) in {store.root}")


@runs.command()
@click.option("--older-than", type=float, metavar="DAYS", help="Remove runs finished more days ago than this.")
@click.option("--stale", "outdated", is_flag=True, help="Remove runs made by another version of the kit.")
@click.option("--dry-run", is_flag=True, help="Preview deletions; remove nothing.")
def gc(older_than: float | None, outdated: bool, dry_run: bool) -> None:
    """Remove old or outdated runs."""
    from attnlib.store.sources import KIT  # a user's own parts are not known here

    store = Store()
    rows = _rows(store)
    limit = math.inf if older_than is None else older_than * 86400
    doomed = [row for row in rows if row["age"] > limit or (outdated and row["code"] != KIT)]
    verb = "would be removed" if dry_run else "removed"
    for row in doomed:
        click.echo(f"{verb}: {row['line']}")
    if not dry_run:
        for row in doomed:
            store.remove(row["key"])
    size = filesize(sum(row["size"] for row in doomed))
    click.echo(f"{len(doomed)} runs ({size}) {verb} in {store.root}")


def _rows(store: Store) -> list[dict[str, Any]]:
    """Finished runs, the newest first. A damaged one is removed with a warning."""
    rows = []
    for entry, spec, environment in store.described():
        age = (datetime.now(UTC) - datetime.fromisoformat(environment["finished"])).total_seconds()
        task = " ".join([spec["task"].rpartition(".")[2], *map(str, spec["columns"].values())])
        took = f"{duration(environment['seconds'])}, {filesize(entry.size)}, {duration(age)} ago"
        line = f"{entry.key[:12]}  {task:<60}  {took}"
        code = spec["code"].get("attnlib")
        rows.append({"key": entry.key, "code": code, "size": entry.size, "age": age, "line": line})
    return sorted(rows, key=lambda row: row["age"])
