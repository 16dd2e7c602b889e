"""Every example that `--help` or the README gives is run: notebooks as dry runs."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import click
import pytest
from click.testing import CliRunner

from attnlib.cli.main import main
from attnlib.store.entries import Store
from attnlib.store.specs import canonical
from attnlib.utils.paths import ROOT

SHOWN = "3fa9c1"
"""The key that examples show."""


def commands(command: click.Command = main) -> Iterator[click.Command]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from commands(inner)


def examples() -> list[str]:
    """Lines that start with `attnlib`, of every help text and of the README's shell blocks."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    texts = [command.help or "" for command in commands()]
    texts += re.findall(r"^```sh\n(.*?)^```", readme, flags=re.MULTILINE | re.DOTALL)
    found = [line.strip() for text in texts for line in text.splitlines() if line.strip().startswith("attnlib ")]
    return list(dict.fromkeys(shlex.join(shlex.split(line, comments=True)) for line in found))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where a user might stand: a table of reviews, a store with one finished run."""
    home = tmp_path_factory.mktemp("user")
    rows = "".join(f"a fine film number {k},yes\na dull film number {k},no\n" for k in range(60))
    (home / "reviews.csv").write_text("Review,Liked\n" + rows)
    spec = {"task": "attnlib.training.fit:fit", "kind": "fit", "columns": {}, "run": {}, "identity": {}, "code": {}}
    made = {"finished": "2026-01-01T00:00:00+00:00", "seconds": 1.0}
    files = {"spec.json": canonical(spec).encode(), "environment.json": canonical(made).encode()}
    Store(home / "store").put(SHOWN.ljust(64, "0"), files)
    return home


def test_there_are_examples() -> None:
    found = examples()
    assert len(found) > 15
    assert {line.split()[1] for line in found} == set(main.commands), "every command has one"


@pytest.mark.parametrize("line", examples())
def test_an_example_runs(line: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ATTNLIB_STORE", str(folder / "store"))
    monkeypatch.setattr("attnlib.store.grid.outlook", lambda grid, **_: f"{len(list(grid))} runs")
    arguments = shlex.split(line)[1:]
    if arguments[0] == "audit":
        card = SimpleNamespace(save=Path, exit_code=0)
        monkeypatch.setattr(import_module("attnlib.auditing.run"), "audit", lambda *_, **__: card)
    if arguments[0] == "gallery":
        monkeypatch.setattr(import_module("attnlib.reports.series"), "gallery", lambda *_: [])
    if arguments[0] == "run" and "--dry-run" not in arguments:
        arguments.append("--dry-run")
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, f"{line}\n{result.output}"
    assert result.output.strip()
    assert "  writes " in result.output or arguments[0] != "run"
    assert not (folder / "reports").exists()
