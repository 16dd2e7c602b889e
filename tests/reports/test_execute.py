"""Running notebooks: what a run leaves behind, whatever happens to it."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup

from attnlib.reports import execute
from attnlib.reports.plan import plans
from attnlib.utils import files
from attnlib.utils.errors import ConfigError
from tests.patience import PATIENCE, alive, wait_until


def test_a_run_writes_its_folder(finished: Path) -> None:
    names = sorted(p.relative_to(finished).as_posix() for p in finished.rglob("*") if p.is_file())
    assert names == [
        "claims.json",
        "figures/first.svg",
        "figures/second.svg",
        "params.yaml",
        "report.html",
        "run.ipynb",
        "run.json",
        "short.json",
        "tables/texts.csv",
        "tables/texts.parquet",
    ]
    assert [p.name for p in finished.parent.iterdir()] == [finished.name], "no working folder stays"
    parameters = yaml.safe_load((finished / "params.yaml").read_text())
    assert parameters["corpus"] == "other"
    assert parameters["seeds"] == [0, 1, 2]
    assert parameters["encoder"] == "lstm", "every parameter is there, not only what differs"
    assert pd.read_parquet(finished / "tables" / "texts.parquet").shape == (2, 2)
    assert [claim["verdict"] for claim in json.loads((finished / "claims.json").read_text())][2:] == [
        "not reproduced",
        "undetermined",
    ]


def test_the_record_of_a_run_holds_no_path_of_the_machine(finished: Path) -> None:
    record = json.loads((finished / "run.json").read_text())
    assert record["status"] == "done"
    assert record["header"]["sizes"] == {"train": 1234}
    assert {"attnlib", "Python", "torch"} <= set(record["versions"])
    for name in ("run.json", "run.ipynb", "report.html"):
        assert str(finished.parent.parent.parent) not in (finished / name).read_text()


def test_the_kernel_sees_where_to_write_and_how_to_spread_trainings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ATTNLIB_JOBS", "7")
    monkeypatch.delenv("ATTNLIB_OUT", raising=False)

    def seen(executor: str, jobs: int | None) -> tuple[str, ...]:
        with execute.environment(tmp_path, executor, jobs):
            return tuple(os.environ[f"ATTNLIB_{name}"] for name in ("OUT", "EXECUTOR", "JOBS"))

    assert seen("local", 3) == (str(tmp_path), "local", "3")
    assert seen("local", 1)[1] == "serial"
    assert seen("dask:tcp://a:1", None)[2] == "", "nothing of the shell's"
    assert os.environ["ATTNLIB_JOBS"] == "7"
    assert "ATTNLIB_OUT" not in os.environ


def test_ctrl_c_keeps_what_is_there_and_leaves_no_kernel(series: Path) -> None:
    out = series / "reports"
    demo = series / "notebooks" / "90_demo.ipynb"
    demo.write_text(demo.read_text().replace("wait: float = 0.0", "wait: float = 300.0"))
    command = [sys.executable, "-m", "attnlib", "run", "all", "--out", str(out)]
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    header = "90_demo/smoke.part-*/header.json"
    try:
        wait_until(lambda: [*out.glob(header)] or started.poll() is not None, "the number that the kernel writes")
        kernel = json.loads(next(out.glob(header)).read_text())["process"]
        assert alive(kernel)
    finally:
        started.send_signal(signal.SIGINT)
        said = started.communicate(timeout=PATIENCE)[1]
    assert started.returncode == 130
    assert "interrupted in cell 5 of 14" in said, "the cell with the wait"
    wait_until(lambda: not alive(kernel), "the end of the kernel")
    assert [p.name for p in (out / "90_demo").iterdir()] == ["smoke.failed"]
    assert not (out / "91_short").exists(), "nothing starts after that"
    page = (out / "90_demo" / "smoke.failed" / "report.html").read_text()
    assert "This run was interrupted in cell 5 of 14" in page


def test_a_new_run_replaces_the_old_whole(series: Path) -> None:
    (one,) = plans(["91_short"], "smoke", [])
    old = series / "reports" / "91_short" / "smoke"
    old.mkdir(parents=True)
    (old / "stale.txt").write_text("from an earlier run")
    abandoned = old.with_name(f"smoke-ab12cd.part-{files.host()}-999999999")
    foreign = old.with_name("smoke.part-00000000-999999999")
    for folder in (abandoned, foreign, old.with_name("smoke.failed")):
        folder.mkdir()
    outcome = execute.run(one, series / "reports", "serial", 1)
    assert outcome.status == "done"
    assert outcome.folder == old
    assert not (old / "stale.txt").exists()
    left = {p.name for p in old.parent.iterdir()}
    assert left == {"smoke", foreign.name}, "what a killed process left goes, and the failure before this success"
    assert "seed 0" in (outcome.folder / "report.html").read_text()


def test_a_failed_run_leaves_the_good_report_and_stands_beside_it(series: Path, finished: Path) -> None:
    out = series / "reports"
    good = Path(shutil.copytree(finished, out / "91_short" / "smoke"))
    before = (good / "report.html").read_bytes()
    path = series / "notebooks" / "91_short.ipynb"
    path.write_text(path.read_text().replace("print('seed', seed)", "1 / 0"))
    (again,) = plans(["91_short"], "smoke", [])
    (bad,) = execute.run_all([again], out, "serial", 1, lambda *_: None)
    assert bad.status == "failed"
    assert bad.folder == good.with_name("smoke.failed")
    assert (good / "report.html").read_bytes() == before
    cards = BeautifulSoup((out / "index.html").read_text(), "html.parser").select(".runs > li")
    assert [(card["class"], card.a["href"]) for card in cards] == [
        (["done"], "91_short/smoke/report.html"),
        (["failed"], "91_short/smoke.failed/report.html"),
    ]
    assert "failed in cell 2 of 2" in cards[1].get_text(" ", strip=True)


def test_a_run_with_other_parameters_has_a_folder_of_its_own(series: Path) -> None:
    same, five, six = (plans(["91_short"], "smoke", [("seed", seed)])[0].folder for seed in "056")
    assert same == "smoke", "a value that the profile has anyway changes nothing"
    assert five != six
    assert re.fullmatch(r"smoke-[0-9a-f]{6}", five)
    (by_profile,) = plans(["90_demo"], "cpu", [("rate", "0.01")])
    assert by_profile.folder == "cpu", "compared with the profile, not with the notebook's defaults"
    (back,) = plans(["90_demo"], "cpu", [("rate", "0.001")])
    assert back.folder != "cpu", "a notebook's default is a change where the profile says otherwise"


def test_a_relative_path_means_the_file_beside_the_user(
    series: Path, write_notebook: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    cells = [("code", "file: str = ''", ["parameters"]), ("code", "print(open(file).read())", [])]
    write_notebook(series / "notebooks" / "95_reads.ipynb", cells)
    (series / "elsewhere").mkdir()
    (series / "elsewhere" / "mine.csv").write_text("what I wrote")
    monkeypatch.chdir(series / "elsewhere")
    (one,) = plans(["95_reads"], "smoke", [("file", "mine.csv")])
    outcome = execute.run(one, series / "reports", "serial", 1)
    assert "what I wrote" in (outcome.folder / "report.html").read_text()


def test_a_kernel_that_dies_is_a_failed_run_and_shows_what_was_done(series: Path, write_notebook: Any) -> None:
    kill = "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)"
    write_notebook(series / "notebooks" / "94_dies.ipynb", [("code", "print('before')", []), ("code", kill, [])])
    (one,) = plans(["94_dies"], "smoke", [])
    outcome = execute.run(one, series / "reports", "serial", 1)
    assert (outcome.status, outcome.cell, outcome.total) == ("failed", 2, 2)
    assert "The kernel died" in outcome.error
    report = (outcome.folder / "report.html").read_text()
    assert "before" in report
    assert "This run failed in cell 2 of 2" in report
    assert "papermill" not in (outcome.folder / "run.ipynb").read_text(), (
        "no path of the machine, no cells of its own"
    )


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that end well without a kernel."""

    def ended(plan: Any, file: Path) -> dict[str, str]:
        shutil.copyfile(plan.notebook.path, file)
        return {"status": "done"}

    monkeypatch.setattr(execute, "_execute", ended)


@pytest.mark.usefixtures("quick")
def test_a_full_disk_keeps_the_earlier_report_and_leaves_no_half_one(series: Path, monkeypatch) -> None:
    (one,) = plans(["91_short"], "smoke", [])
    good = execute.run(one, series / "reports", "serial", 1)
    before = (good.folder / "report.html").read_bytes()

    def full(path: Path, text: str) -> None:
        path.write_text(text[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(ConfigError, match=r"is full.*--out.*earlier report is kept"):
        execute.run_all([one], series / "reports", "serial", 1, lambda *_: None)
    assert (good.folder / "report.html").read_bytes() == before
    assert [p.name for p in good.folder.parent.iterdir()] == ["smoke"]
