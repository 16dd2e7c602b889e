"""Run notebooks, one after the other, by papermill: results are swapped in as a whole when a run ends.

A run works in a folder next to its place, `OUT/<notebook>/<profile>` (with its own parameters
`<profile>-<digest>`), and takes that place when it is complete. One that failed or was interrupted goes to
`<place>.failed` instead, so an earlier report stays until there is a better one.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attnlib import __version__
from attnlib.reports.plan import Plan
from attnlib.store.executors import THREADS
from attnlib.utils import extras, files, paths
from attnlib.utils.errors import ConfigError
from attnlib.utils.extras import needs
from attnlib.utils.progress import SWITCH


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `done`, `failed` or `interrupted`; `cell` of `total` is where it stood."""

    plan: Plan
    status: str
    folder: Path
    seconds: float
    cell: int = 0
    total: int = 0
    error: str = ""


@contextmanager
def environment(folder: Path, executor: str, jobs: int | None) -> Iterator[None]:
    """What a kernel started within finds in its environment: where to write, how to distribute trainings.

    One thread: trainings have the other cores.
    """
    before = dict(os.environ)
    os.environ.update(
        {
            **dict.fromkeys(THREADS, "1"),
            "ATTNLIB_JOBS": str(jobs or ""),
            "ATTNLIB_OUT": str(folder),
            "ATTNLIB_EXECUTOR": "serial" if executor == "local" and jobs == 1 else executor,
            "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel of this environment, not one of the user's others
            "PYDEVD_DISABLE_FILE_VALIDATION": "1",
            SWITCH: "0",
        }
    )
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def run(plan: Plan, out: Path, executor: str = "local", jobs: int | None = None) -> Outcome:
    """Run one notebook and write its folder. What is done when Ctrl-C ends it is kept."""
    target = out / plan.notebook.name / plan.folder
    failed = target.with_name(target.name + files.FAILED)
    folder: Path | None = None
    try:
        folder = files.working(target)
        date, started = datetime.now(UTC), time.monotonic()
        with environment(folder, executor, jobs):
            ended = _execute(plan, folder / "run.ipynb")
        ended["seconds"] = round(time.monotonic() - started, 1)
        _finish(plan, folder, ended, date)
        done = ended["status"] == "done"
        files.replace(folder, target if done else failed)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        kept = " The earlier report is kept." if target.exists() else ""
        raise ConfigError(files.trouble(error, target, "choose another folder with --out") + kept) from error
    if done:
        shutil.rmtree(failed, ignore_errors=True)
    return Outcome(plan, folder=target if done else failed, **ended)


def run_all(
    plans: Sequence[Plan], out: Path, executor: str, jobs: int | None, tell: Callable[[Outcome], None]
) -> list[Outcome]:
    """Run every plan, one after the other, each on all cores; one that fails does not stop the others, Ctrl-C does.

    `tell` hears of each that has ended.
    """
    from attnlib.reports import series

    out.mkdir(parents=True, exist_ok=True)
    outcomes = []
    for plan in plans:
        outcomes.append(run(plan, out, executor, jobs))
        files.write(out / "index.html", series.index(out))
        tell(outcomes[-1])
        if outcomes[-1].status == "interrupted":
            break
    return outcomes


def _execute(plan: Plan, file: Path) -> dict[str, Any]:
    """Run the notebook into `file`, which grows with each cell; how it ended, where, and why.

    The kernel works in the user's folder: `-p corpus reviews.csv` means a file there.
    """
    papermill, nbformat = needs("papermill", "notebooks"), needs("nbformat", "notebooks")
    status, error = "done", ""
    try:
        papermill.execute_notebook(
            str(plan.notebook.path),
            str(file),
            plan.injected,
            kernel_name="python3",
            progress_bar={"desc": plan.notebook.name, "leave": False} if sys.stderr.isatty() else False,
            start_timeout=300,  # on a busy machine a minute is not enough, nor are four seconds for late outputs
            iopub_timeout=120,
            extra_arguments=["--log-level=ERROR"],
        )
    except KeyboardInterrupt:
        status = "interrupted"
    except papermill.PapermillExecutionError as failure:
        status, error = "failed", f"{failure.ename}: {failure.evalue}"
    except Exception as failure:
        if isinstance(failure, OSError) and failure.errno:
            raise
        status, error = "failed", f"{type(failure).__name__}: {failure}"
        if type(failure).__name__ == "DeadKernelError":
            error = "The kernel died. Most often the memory was used up: take a smaller profile, or fewer --jobs."
    if not file.exists():  # ended before its first cell began
        shutil.copyfile(plan.notebook.path, file)
    notebook = nbformat.read(file, as_version=4)
    own = "papermill-error-cell-tag"  # of cells that papermill adds where a notebook failed
    notebook.cells = [cell for cell in notebook.cells if own not in cell.metadata.get("tags", ())]
    notebook.metadata.pop("papermill", None)  # with the paths of this machine
    timed = [cell.metadata.pop("papermill", {}) for cell in notebook.cells]
    files.write(file, nbformat.writes(notebook))
    if status == "done":
        return {"status": status}
    begun = [number for number, one in enumerate(timed, start=1) if one.get("start_time")]
    return {"status": status, "cell": max(begun, default=0), "total": len(timed), "error": error}


def _finish(plan: Plan, folder: Path, ended: dict[str, Any], date: datetime) -> None:
    """Write what is said about the run, `params.yaml` and `run.json`, and its report."""
    import yaml

    from attnlib.reports import render

    files.write(folder / "params.yaml", yaml.safe_dump(plan.values, sort_keys=False, allow_unicode=True))
    header = folder / "header.json"  # what the notebook said of the run becomes part of its record
    said = json.loads(header.read_bytes()) if header.exists() else {}
    header.unlink(missing_ok=True)
    record = {
        "notebook": plan.notebook.name,
        "title": plan.notebook.title,
        "profile": plan.profile,
        "date": date.isoformat(timespec="seconds"),
        "header": said,
        "versions": {"attnlib": __version__, "Python": platform.python_version()}
        | extras.versions("torch", "numpy", "transformers"),
        "commit": commit(),
        "parameters": plan.values,
        "changed": sorted(plan.changed),
        "own": sorted(plan.own),
        **ended,
    }
    files.write(folder / "run.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    files.write(folder / "report.html", render.report(folder))


def commit() -> str | None:
    """The checkout's commit, with a plus when files differ from it; None outside a checkout."""
    if not (paths.ROOT / ".git").exists():
        return None
    words = "describe --always --abbrev=10 --exclude=* --dirty=+".split()
    command = ["git", "--no-optional-locks", "-C", str(paths.ROOT), *words]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None
