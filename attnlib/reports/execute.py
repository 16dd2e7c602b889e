"""Run notebooks: each in its own process, its results swapped in as a whole when it ends.

A run works in a folder next to its place, `OUT/<notebook>/<profile>` (with its own parameters
`<profile>-<digest>`, or `<profile>-<name>`), and takes that place when it is complete. One that failed or was
interrupted goes to `<place>.failed` instead, so an earlier report stays until there is a better one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, CancelledError, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attnlib.reports import kernel
from attnlib.reports.plan import Plan
from attnlib.store.processes import GRACE, LocalExecutor, WorkerDied, cores, turns
from attnlib.utils import files, paths
from attnlib.utils.errors import AttnlibError


class OutError(AttnlibError, OSError):
    """The folder of reports cannot be written."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `done`, `failed` or `interrupted`."""

    plan: Plan
    status: str
    folder: Path
    seconds: float
    cell: int = 0
    total: int = 0
    source: str = ""
    error: str = ""

    @property
    def report(self) -> Path:
        return self.folder / "report.html"


@dataclass
class Running:
    """What a watcher may read while a notebook runs."""

    plan: Plan
    cell: int = 0
    total: int = 0
    started: float | None = None
    note: str = ""

    def hear(self, event: dict[str, Any]) -> None:
        """Progress reported by the notebook's process."""
        for name, value in event.items():
            setattr(self, name, value)


def environment(folder: Path, executor: str, jobs: int | None) -> dict[str, str]:
    """The kernel's environment, in addition to every worker's: where to write, how to distribute trainings."""
    if executor == "local" and jobs == 1:
        executor = "serial"  # the same, without a second process to start
    return {
        "ATTNLIB_JOBS": str(jobs or ""),
        "ATTNLIB_OUT": str(folder),
        "ATTNLIB_EXECUTOR": executor,
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel of this environment, not one of the user's others
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),  # a kernel finds its own packages
    }


def run(
    plan: Plan,
    out: Path,
    executor: str,
    jobs: int | None,
    *,
    state: Running | None = None,
    stop: threading.Event | None = None,
    shared: Mapping[str, str] | None = None,
) -> Outcome:
    """Run one notebook and write its folder. `stop` interrupts it; what is done by then is kept.

    shared  environment of notebooks that run side by side and take turns (`processes.turns`)
    """
    state, stop = state or Running(plan), stop or threading.Event()
    target = place(plan, out)
    failed = target.with_name(target.name + files.FAILED)
    folder: Path | None = None
    try:
        folder = files.working(target)
        date, state.started = datetime.now(UTC), time.monotonic()
        slot = {**environment(folder, executor, jobs), **(shared or {})}
        slot |= {"ATTNLIB_STORE": str(paths.rehearsals())} if plan.rehearsal else {}
        result = _supervise(plan, folder, slot, state, stop)
        seconds = time.monotonic() - state.started
        _finish(plan, folder, result, date, seconds)
        done = result["status"] == "done"
        files.replace(folder, target if done else failed)
    except OSError as error:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        kept = " The earlier report is kept." if target.exists() else ""
        raise OutError(files.trouble(error, target, "choose another folder with --out") + kept) from error
    if done:
        shutil.rmtree(failed, ignore_errors=True)
    details = {key: result[key] for key in ("cell", "total", "source", "error") if key in result}
    return Outcome(plan, result["status"], target if done else failed, seconds, **details)


def place(plan: Plan, out: Path) -> Path:
    """Where the complete report of a run goes."""
    return out / plan.notebook.name / plan.folder


def check_out(plans: list[Plan], out: Path) -> None:
    """Refuse a folder of reports that cannot be written, before anything runs; nothing is made."""
    for folder in dict.fromkeys([out, *(place(plan, out) for plan in plans)]):
        files.check_out(folder)


def _supervise(
    plan: Plan, folder: Path, slot: dict[str, str], state: Running, stop: threading.Event
) -> dict[str, Any]:
    """Run the notebook in its own process; how it ended, where, and why."""
    log = folder / "log.txt"
    pool = LocalExecutor([slot], heard=state.hear, log=log)
    call = pool.submit(kernel.run, str(plan.notebook.path), plan.changed, folder)
    while not wait([call], timeout=0.1).done:
        if stop.is_set():
            pool.kill(GRACE)
    pool.shutdown()
    try:
        return call.result()
    except (WorkerDied, CancelledError) as error:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
        status = "interrupted" if stop.is_set() else "failed"
        tail = "\n".join(lines[-5:])
        return {"status": status, "cell": state.cell, "total": state.total, "error": f"{error} {tail}".strip()}
    finally:
        log.unlink(missing_ok=True)


def _finish(plan: Plan, folder: Path, result: dict[str, Any], date: datetime, seconds: float) -> None:
    import yaml

    from attnlib.reports import render, series

    parameters = yaml.safe_dump(plan.values, sort_keys=False, allow_unicode=True) if plan.values else "{}\n"
    files.write(folder / "params.yaml", parameters)
    if not (folder / "claims.json").exists():
        files.write(folder / "claims.json", "[]\n")
    notebook = folder / "run.ipynb"
    if not notebook.exists():  # ended before its first cell began
        shutil.copyfile(plan.notebook.path, notebook)
    header = folder / "header.json"
    said = json.loads(header.read_bytes()) if header.exists() else {}
    header.unlink(missing_ok=True)
    record = {
        "notebook": plan.notebook.name,
        "title": plan.notebook.title,
        "profile": plan.profile,
        "status": result["status"],
        "date": date.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "header": said,
        "versions": series.versions(),
        "commit": commit(),
        "parameters": plan.values,
        "changed": sorted(plan.changed),
        "own": sorted(plan.own),
        "name": plan.name,
        "rehearsal": list(plan.rehearsal),
        "cell": result.get("cell"),
        "total": result.get("total"),
        "error": result.get("error"),
    }
    files.write(folder / "run.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    files.write(folder / "report.html", render.report(folder))
    if plan.rehearsal:  # its report shows the claims, under a banner; nothing may count them
        files.write(folder / "claims.json", "[]\n")


def commit() -> str | None:
    """The checkout's commit, with a plus when files differ from it; None outside a checkout."""
    if not (paths.ROOT / ".git").exists():
        return None
    words = "describe --always --abbrev=10 --exclude=* --dirty=+"
    try:
        answer = subprocess.run(
            ["git", "--no-optional-locks", "-C", str(paths.ROOT), *words.split()],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return answer.stdout.strip() or None


def share(executor: str, jobs: int | None, count: int) -> tuple[int, int | None]:
    """How many notebooks run in parallel, and how many processes each may use for its own trainings.

    `local` has `jobs` processes (None: one per core) for all of them, which take turns; each notebook may use
    twice its part, so that nothing idles while one of them draws, or is the last.
    A notebook that runs alone without `jobs` decides for itself, since it knows the GPUs.
    """
    if executor != "local":
        return 1, None
    total = jobs or cores()
    side_by_side = max(1, min(total, count))
    return side_by_side, jobs if side_by_side == 1 else min(total, -(-2 * total // side_by_side))


def run_all(
    plans: list[Plan],
    out: Path,
    executor: str,
    jobs: int | None,
    watch: Callable[[list[Running], list[Outcome]], None],
) -> list[Outcome]:
    """Run every plan; one that fails does not stop the others. Ctrl-C stops all and keeps what is there.

    Notebooks that read the reports of others (`Notebook.last`) start when all others have ended. One that computes
    in its own process (`Notebook.first`) starts before the others, which fill the rest of the cores meanwhile; at
    the end it would keep one core busy and the others idle.
    """
    from attnlib.reports import series

    stop, outcomes = threading.Event(), []
    states = [Running(plan) for plan in plans]
    check_out(plans, out)
    out.mkdir(parents=True, exist_ok=True)
    failure: BaseException | None = None

    def one(state: Running, inner: int | None, shared: Mapping[str, str]) -> Outcome | None:
        if stop.is_set():
            return None
        outcome = run(state.plan, out, executor, inner, state=state, stop=stop, shared=shared)
        outcomes.append(outcome)
        return outcome

    for last in (False, True):
        chosen = [state for state in states if state.plan.notebook.last is last and not stop.is_set()]
        side_by_side, inner = share(executor, jobs, len(chosen))
        with tempfile.TemporaryDirectory(prefix="attnlib-") as folder, ThreadPoolExecutor(side_by_side) as pool:
            shared = turns(Path(folder), jobs or cores()) if side_by_side > 1 else {}
            chosen.sort(key=lambda state: not state.plan.notebook.first)
            pending = {pool.submit(one, state, inner, shared) for state in chosen}
            while pending:
                try:
                    done, pending = wait(pending, timeout=0.5, return_when=FIRST_COMPLETED)
                    for future in done:
                        if future.result() is not None:
                            files.write(out / "index.html", series.index(out))
                    watch(states, outcomes)
                except BaseException as error:
                    if failure is not None and isinstance(error, KeyboardInterrupt):
                        continue  # already stopping; the worker is killed when its time is over
                    failure = failure or error
                    stop.set()
    if isinstance(failure, KeyboardInterrupt):
        watch(states, outcomes)
    elif failure is not None:
        raise failure
    return outcomes
