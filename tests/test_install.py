"""What `pip install .` brings: the package, its data, and the notebooks with their parameters."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from click.testing import CliRunner

from attnlib.cli.main import main
from attnlib.reports.plan import copy_out
from attnlib.studies.study import planned
from attnlib.utils import paths

SOURCES = ("attnlib", "notebooks", "params", "pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
BUILD = """
import sys
from setuptools import build_meta
out = sys.argv[1]  # a build puts arguments of its own there
build_meta.build_sdist(out)
build_meta.build_wheel(out)
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist of this checkout, built from a copy: building writes beside."""
    if int(version("setuptools").partition(".")[0]) < 77:  # not imported: it would replace distutils
        pytest.skip("the build needs setuptools 77, which a build of pip's own fetches")
    copy, out = tmp_path_factory.mktemp("checkout"), tmp_path_factory.mktemp("dist")
    for name in SOURCES:
        source = paths.ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, copy / name)
    (copy / "notebooks" / ".ipynb_checkpoints").mkdir(exist_ok=True)
    (copy / "notebooks" / ".ipynb_checkpoints" / "00-checkpoint.ipynb").write_text("{}")
    subprocess.run([sys.executable, "-c", BUILD, str(out)], cwd=copy, capture_output=True, check=True)
    return out


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the installed package alone. A wheel without extensions installs by unpacking."""
    target = tmp_path_factory.mktemp("site")
    (wheel,) = built.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(target)
    return target


def expected(below: str) -> set[str]:
    """Files of the checkout, relative to it."""
    files = [p for p in (paths.ROOT / below).rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    names = {p.relative_to(paths.ROOT).as_posix() for p in files}
    return {name for name in names if "/." not in name}


def test_the_wheel_holds_all_of_the_package_and_the_series(built: Path) -> None:
    (wheel,) = built.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    assert expected("attnlib") <= names
    assert {f"attnlib/series/{name}" for name in expected("notebooks") | expected("params")} <= names
    assert not [name for name in names if "checkpoint" in name or name.startswith(("notebooks", "params", "tests"))]


def test_the_sdist_holds_what_the_wheel_is_built_from(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert expected("attnlib") | expected("notebooks") | expected("params") | {"setup.py"} <= names
    assert not [name for name in names if "checkpoint" in name]


def attnlib(installed: Path, folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """The command of the installed package, called in `folder`."""
    hidden = {"ATTNLIB_NOTEBOOKS", "ATTNLIB_OUT"}
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    env |= {"PYTHONPATH": str(installed), "ATTNLIB_STORE": str(folder / "store")}
    command = [sys.executable, "-P", "-m", "attnlib", *args]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)


def test_the_installed_command_has_its_notebooks_anywhere(installed: Path, tmp_path: Path) -> None:
    listed = attnlib(installed, tmp_path, "list", "notebooks")
    assert listed.returncode == 0, listed.stderr
    assert "00_quickstart" in listed.stdout
    assert "profiles: smoke, cpu, paper" in listed.stdout
    planned = attnlib(installed, tmp_path, "run", "00_quickstart", "--profile", "cpu", "--dry-run")
    assert planned.returncode == 0, planned.stderr
    assert "writes reports/00_quickstart/cpu" in planned.stdout
    assert [path.name for path in tmp_path.iterdir()] in ([], ["store"]), "a dry run writes no report"


def test_notebooks_are_copied_out_to_edit(installed: Path, tmp_path: Path) -> None:
    said = attnlib(installed, tmp_path, "notebooks", "mine")
    assert said.returncode == 0, said.stderr
    assert f"ATTNLIB_NOTEBOOKS={tmp_path / 'mine' / 'notebooks'}" in said.stdout
    copied = {p.relative_to(tmp_path / "mine").as_posix() for p in (tmp_path / "mine").rglob("*") if p.is_file()}
    assert copied == expected("notebooks") | expected("params")


def test_a_copy_has_parameters_of_its_own_and_is_not_overwritten(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    copy_out(mine)
    profile = mine / "params" / "00_quickstart" / "cpu.yaml"
    profile.write_text("epochs: 17\n")
    (one,) = planned([str(mine / "notebooks" / "00_quickstart.ipynb")], "cpu", [])
    assert one.changed == {"epochs": 17}
    refused = CliRunner().invoke(main, ["notebooks", str(mine)])
    assert refused.exit_code == 2
    assert "notebooks is there already" in refused.output
    assert profile.read_text() == "epochs: 17\n"
    assert CliRunner().invoke(main, ["notebooks", str(mine), "--force"]).exit_code == 0
    assert profile.read_text() == (paths.params() / "00_quickstart" / "cpu.yaml").read_text()


def test_a_copied_notebook_writes_next_to_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ATTNLIB_NOTEBOOKS", raising=False)
    series = tmp_path / "site" / "attnlib" / "series"
    (series / "notebooks").mkdir(parents=True)
    (tmp_path / "mine" / "notebooks").mkdir(parents=True)
    monkeypatch.setattr(paths, "SERIES", series)
    assert paths.notebooks() == series / "notebooks"
    monkeypatch.chdir(tmp_path / "mine" / "notebooks")
    assert paths.workplace() == tmp_path / "mine"
    monkeypatch.chdir(tmp_path)
    assert paths.workplace() == tmp_path
