"""The three lists of packages agree, the set-up files say what they should, and the lower bounds are true."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement

from attnlib import __version__
from attnlib.utils.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> dict[str, Requirement]:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    found = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    return {r.name.lower(): r for r in found}


def ranges() -> dict[str, Requirement]:
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    found = {Requirement(r).name.lower(): Requirement(r) for r in PROJECT["dependencies"] + extras}
    return {name: requirement for name, requirement in found.items() if name != "attnlib"}  # dev names the extras


def test_every_pin_is_exact_and_lies_in_its_range() -> None:
    assert set(pins()) == set(ranges())
    for name, pin in pins().items():
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", str(pin.specifier)), f"{pin} is not an exact public version"
        version = next(iter(pin.specifier)).version
        assert ranges()[name].specifier.contains(version), f"{pin} is outside {ranges()[name]}"


def test_conda_environment_holds_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    assert [p for p in pip if "==" in p] == [str(p) for p in pins().values()]
    assert next(iter(pins())) == "torch", "it is installed first"
    assert f"python{PROJECT['requires-python']}" in environment["dependencies"]


def test_one_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PROJECT["version"] == citation["version"] == __version__
    assert len(citation["references"]) == 5


TARGETS = "setup lab report reports gallery docs test nbval lint lowest calibrate bench clean"


def test_bare_make_lists_every_target() -> None:
    shown = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True).stdout
    assert not [target for target in TARGETS.split() if not re.search(rf"make {target} ", shown)]


def imported() -> set[str]:
    """Top-level names that the package imports anywhere, lazily too."""
    names: set[str] = set()
    for file in (ROOT / "attnlib").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    return names


def test_everything_imported_is_declared() -> None:
    """A package that another one happens to bring along is missing on the next machine."""
    providers = packages_distributions()
    foreign = {n for n in imported() if n not in sys.stdlib_module_names and n != "attnlib"}
    undeclared = {n for n in foreign if not {d.lower() for d in providers.get(n, [n])} & set(ranges())}
    assert not undeclared


PROGRAM = """
import importlib, pkgutil
import attnlib as al
for module in pkgutil.walk_packages(al.__path__, "attnlib."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
corpus = al.load_corpus("planted", n_train=120, n_dev=40, n_test=20)
fitted = al.fit(corpus, al.ModelConfig(embedding_size=16, hidden_size=16), al.TrainConfig(epochs=2))
assert al.load_model(fitted.save("saved")) == fitted
assert len(al.fraction_to_flip(fitted, corpus.test, "alpha")) == 20
"""


@pytest.mark.lowest
def test_import_train_erase_and_report_with_the_lowest_versions(tmp_path: Path) -> None:
    """Torch for Linux brings CUDA along (3 GB) unless pip's configuration names an index of processor builds."""
    extras = [r for extra in ("notebooks", "cluster", "hub") for r in PROJECT["optional-dependencies"][extra]]
    lowest = [r.replace(">=", "==") for r in PROJECT["dependencies"] + extras]
    python = tmp_path / "env" / "bin" / "python"
    env = {**os.environ, "PYTHONPATH": str(ROOT), "ATTNLIB_STORE": str(tmp_path / "store"), "OMP_NUM_THREADS": "1"}

    def run(*command: str | Path) -> None:
        done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{command[:4]}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"

    run(sys.executable, "-m", "venv", python.parent.parent)
    run(python, "-m", "pip", "install", "--quiet", "--no-cache-dir", "--only-binary", ":all:", *lowest)
    run(python, "-c", PROGRAM)
    run(python, "-m", "attnlib", "run", "00_quickstart", "--out", "reports")
    report = (tmp_path / "reports" / "00_quickstart" / "smoke" / "report.html").read_text(encoding="utf-8")
    assert "In short" in report
