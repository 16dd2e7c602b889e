"""Running notebooks: what a run leaves behind, whatever happens to it."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import yaml
from bs4 import BeautifulSoup

from attnlib.reports import execute
from attnlib.reports import kernel as worker
from attnlib.reports.plan import plans
from attnlib.utils import files
from attnlib.utils.errors import ConfigError
from tests.patience import PATIENCE, alive, wait_until


def test_a_run_writes_its_folder(finished: Path) -> None:
    names = sorted(p.relative_to(finished).as_posix() for p in finished.rglob("*") if p.is_file())
    assert names == [
        "claims.json",
        "figures/first.pdf",
        "figures/first.png",
        "figures/first.svg",
        "figures/second.pdf",
        "figures/second.png",
        "figures/second.svg",
        "params.yaml",
        "report.html",
        "run.ipynb",
        "run.json",
        "short.json",
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


def test_the_notebook_ran_with_the_values_in_their_declared_types(finished: Path) -> None:
    cells = json.loads((finished / "run.ipynb").read_text())["cells"]
    texts = [text for cell in cells for output in cell.get("outputs", ()) for text in output.get("text", ())]
    assert "<script>alert(2)</script> other:0:0.01:[0, 1, 2]\n" in texts


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
    seen = execute.environment(tmp_path, "local", 3)
    assert seen["ATTNLIB_OUT"] == str(tmp_path)
    assert (seen["ATTNLIB_EXECUTOR"], seen["ATTNLIB_JOBS"]) == ("local", "3")
    assert execute.environment(tmp_path, "local", 1)["ATTNLIB_EXECUTOR"] == "serial"
    assert execute.environment(tmp_path, "dask:tcp://a:1", None)["ATTNLIB_JOBS"] == "", "nothing of the shell's"


@pytest.mark.parametrize(
    ("executor", "jobs", "count", "shared"),
    [
        ("serial", None, 5, (1, None)),
        ("dask:tcp://a:1", None, 5, (1, None)),
        ("local", 4, 1, (1, 4)),
        ("local", 4, 2, (2, 4)),
        ("local", 2, 8, (2, 2)),
        ("local", 8, 3, (3, 6)),
        ("local", 1, 8, (1, 1)),
        ("local", None, 1, (1, None)),
    ],
)
def test_local_shares_its_processes_among_notebooks(
    executor: str, jobs: int | None, count: int, shared: tuple[int, int | None]
) -> None:
    assert execute.share(executor, jobs, count) == shared


def test_an_interrupted_run_keeps_what_is_there_and_leaves_no_kernel(series: Path) -> None:
    (one,) = plans(["90_demo"], "smoke", [("wait", "300")])
    out, stop, ended = series / "reports", threading.Event(), []
    runner = threading.Thread(target=lambda: ended.append(execute.run(one, out, "serial", 1, stop=stop)))
    runner.start()
    header = f"90_demo/{one.folder}.part-{files.host()}-{os.getpid()}-*/header.json"
    try:
        wait_until(lambda: [*out.glob(header)] or not runner.is_alive(), "the number that the kernel writes")
        kernel = json.loads(next(out.glob(header)).read_text())["process"]
        assert alive(kernel)
    finally:
        stop.set()
        runner.join(PATIENCE)
    (outcome,) = ended
    assert outcome.status == "interrupted"
    wait_until(lambda: not alive(kernel), "the end of the kernel")
    assert (outcome.cell, outcome.total) == (6, 15), "the cell with the wait, after the injected one"
    assert "This run was interrupted in cell 6 of 15" in outcome.report.read_text()
    assert [p.name for p in outcome.folder.parent.iterdir()] == [f"{one.folder}.failed"]


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
    assert "seed 0" in outcome.report.read_text()
    assert json.loads((old / "claims.json").read_text()) == []


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
    folders = [
        plans(["91_short"], "smoke", texts, name)[0].folder
        for texts, name in (
            ([], None),
            ([("seed", "0")], None),
            ([("seed", "5")], None),
            ([("seed", "6")], None),
            ([("seed", "6")], "six"),
            ([], "again"),
        )
    ]
    assert folders[:2] == ["smoke", "smoke"], "a value that the profile has anyway changes nothing"
    assert folders[4:] == ["smoke-six", "smoke-again"]
    assert len(set(folders)) == 5
    assert all(re.fullmatch(r"smoke-[0-9a-f]{6}", folder) for folder in folders[2:4])
    (by_profile,) = plans(["90_demo"], "cpu", [("rate", "0.01")])
    assert by_profile.folder == "cpu", "compared with the profile, not with the notebook's defaults"
    (back,) = plans(["90_demo"], "cpu", [("rate", "0.001")])
    assert back.folder != "cpu", "a notebook's default is a change where the profile says otherwise"


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a.failed", "-x", "x" * 65, "ä"])
def test_a_name_that_is_no_folder_is_refused(series: Path, name: str) -> None:
    with pytest.raises(ConfigError, match="--name takes"):
        plans(["91_short"], "smoke", [], name)


def test_a_name_may_not_be_that_of_a_profile(series: Path) -> None:
    file = series / "params" / "90_demo" / "cpu-long.yaml"
    file.write_text("seed: 3\n")
    with pytest.raises(ConfigError, match="profile 'cpu-long'"):
        plans(["90_demo"], "cpu", [], "long")


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
    assert "what I wrote" in outcome.report.read_text()


class DeadKernelError(RuntimeError):
    """Named as nbclient's."""


def attempts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, errors: list[Any], code_done: int = 0) -> tuple:
    events: list[dict] = []
    waiting = list(errors)

    def executed(notebook: str, parameters: dict, progress: worker.Progress) -> None:
        progress.code_done = code_done
        error = waiting.pop(0)
        if error is not None:
            raise error

    monkeypatch.setattr(worker, "_execute", executed)
    return worker.run("", {}, tmp_path, events.append), events, len(errors) - len(waiting)


def test_a_kernel_lost_at_the_start_is_tried_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, events, tries = attempts(monkeypatch, tmp_path, [DeadKernelError("Kernel died"), None])
    assert (result, tries) == ({"status": "done"}, 2)
    assert "Kernel died" in events[0]["note"]
    result, _, tries = attempts(monkeypatch, tmp_path, [DeadKernelError("Kernel died")] * 3)
    assert (result["status"], tries) == ("failed", 2)
    assert "memory" in result["error"]


@pytest.mark.parametrize(("every", "saves"), [(0.0, 8), (1e9, 2)])
def test_a_running_notebook_is_saved_now_and_then_and_at_its_end(
    monkeypatch, tmp_path, write_notebook, every, saves
) -> None:
    """When a cell begins and with each of its outputs, at most every so often; whatever the clock, at the end."""
    write_notebook(tmp_path / "three.ipynb", [("code", f"print('out' + 'put', {k})", []) for k in range(3)])
    monkeypatch.setattr(worker, "SAVE_EVERY", every)
    written: list[str] = []
    monkeypatch.setattr(files, "write", lambda path, text: written.append(text))
    assert worker.run(str(tmp_path / "three.ipynb"), {}, tmp_path, lambda event: None) == {"status": "done"}
    assert len(written) == saves if every else len(written) >= saves
    assert "output 2" not in written[0]
    assert "output 2" in written[-1], "nothing is missing at the end"


def test_other_failures_are_not_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    result, _, tries = attempts(monkeypatch, tmp_path, [DeadKernelError("Kernel died"), None], code_done=1)
    assert (result["status"], tries) == ("failed", 1), "work was done already"
    result, _, tries = attempts(monkeypatch, tmp_path, [ValueError("in the notebook"), None])
    assert (result["error"], tries) == ("ValueError: in the notebook", 1)


def test_a_process_that_dies_without_a_word_is_a_failed_run(series: Path, write_notebook: Any) -> None:
    kill = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    write_notebook(series / "notebooks" / "94_dies.ipynb", [("code", "print('before')", []), ("code", kill, [])])
    (one,) = plans(["94_dies"], "smoke", [])
    outcome = execute.run(one, series / "reports", "serial", 1)
    assert outcome.status == "failed"
    assert "killed (signal 9)" in outcome.error
    report = outcome.report.read_text()
    assert "before" in report, "what was done is shown"
    assert "This run failed in cell 2 of 2" in report


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs that end well without a kernel."""
    monkeypatch.setattr(execute, "_supervise", lambda *_: {"status": "done"})


@pytest.mark.usefixtures("quick")
def test_a_full_disk_keeps_the_earlier_report_and_leaves_no_half_one(series: Path, monkeypatch) -> None:
    (one,) = plans(["91_short"], "smoke", [])
    good = execute.run(one, series / "reports", "serial", 1)
    before = good.report.read_bytes()

    def full(path: Path, text: str) -> None:
        path.write_text(text[:10])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(files, "write", full)
    with pytest.raises(execute.OutError, match=r"is full.*--out.*earlier report is kept"):
        execute.run_all([one], series / "reports", "serial", 1, lambda *_: None)
    assert good.report.read_bytes() == before
    assert [p.name for p in good.folder.parent.iterdir()] == ["smoke"]


def test_a_report_on_a_disk_that_is_really_full(series: Path, write_notebook: Any, small_disk: Path) -> None:
    cells = [
        ("code", "import os", []),
        ("code", "open(os.environ['ATTNLIB_OUT'] + '/big', 'w').write('x' * 3**14)", []),
    ]
    write_notebook(series / "notebooks" / "96_big.ipynb", cells)
    (one,) = plans(["96_big"], "smoke", [])
    with pytest.raises(execute.OutError, match=f"the disk {small_disk} is full"):
        execute.run(one, small_disk / "reports", "serial", 1)
    assert list((small_disk / "reports" / "96_big").iterdir()) == []
