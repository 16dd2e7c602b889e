"""The lower bounds of pyproject.toml are true: everything at its lowest, in an environment of its own.

Torch for Linux brings CUDA along (3 GB) unless pip's own configuration names an index of processor builds.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from attnlib.utils.paths import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("notebooks", "cluster", "hub")
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
    lowest = [r.replace(">=", "==") for r in PROJECT["dependencies"]]
    lowest += [r.replace(">=", "==") for extra in EXTRAS for r in PROJECT["optional-dependencies"][extra]]
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
