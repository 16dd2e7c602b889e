"""The three lists of packages agree, and the set-up files say what they should."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from importlib import import_module
from importlib.metadata import packages_distributions
from pkgutil import walk_packages

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


def test_every_pin_is_exact() -> None:
    for pin in pins().values():
        assert re.fullmatch(r"==[0-9][0-9a-z.]*", str(pin.specifier)), f"{pin} is not an exact public version"


def test_requirements_and_pyproject_name_the_same_packages() -> None:
    assert set(pins()) == set(ranges())


def test_every_pin_lies_in_its_range() -> None:
    for name, pin in pins().items():
        version = next(iter(pin.specifier)).version
        assert ranges()[name].specifier.contains(version), f"{pin} is outside {ranges()[name]}"


def test_conda_environment_holds_the_same_pins() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    pip = next(d["pip"] for d in environment["dependencies"] if isinstance(d, dict))
    assert [p for p in pip if "==" in p] == [str(p) for p in pins().values()]
    assert f"python{PROJECT['requires-python']}" in environment["dependencies"]


def test_torch_is_installed_first() -> None:
    assert next(iter(pins())) == "torch"


def test_one_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert PROJECT["version"] == citation["version"] == __version__
    assert len(citation["references"]) == 5


TARGETS = "setup lab report reports gallery docs test nbval lint lowest calibrate bench clean"


@pytest.mark.parametrize("target", TARGETS.split())
def test_bare_make_lists_every_target(target: str) -> None:
    help_text = subprocess.run(["make", "-C", str(ROOT)], capture_output=True, text=True, check=True).stdout
    assert re.search(rf"make {target} ", help_text)


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


def test_every_module_can_be_imported_by_its_name() -> None:
    """`import attnlib.rankings.base as b` goes by attributes, which a function of a package's name would hide."""
    import attnlib

    hidden = []
    for module in walk_packages(attnlib.__path__, "attnlib."):
        package, _, name = module.name.rpartition(".")
        found = import_module(module.name)
        if getattr(import_module(package), name) is not found:
            hidden.append(module.name)
    assert not hidden
