"""Run notebooks: each in a process of its own, its results swapped in whole when it ends.

A run works in a folder beside its place, `OUT/<notebook>/<profile>` (with parameters of its own
`<profile>-<digest>`, or `<profile>-<name>`), and takes that place when it is complete. One that failed or was
interrupted goes to `<place>.failed` instead, so an earlier report stays until there is a better one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from attnlib.reports.plan import Plan
from attnlib.utils import files, paths
from attnlib.utils.errors import AttnlibError, ConfigError

GRACE = 20.0
"""Seconds an interrupted notebook has to stop its kernel."""


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


def environment(folder: Path, executor: str, jobs: int | None) -> dict[str, str]:
    """What the kernel sees: one torch thread, no progress bars, where to write, how to spread trainings."""
    shared = {key: value for key, value in os.environ.items() if key != "ATTNLIB_JOBS"}
    if executor == "local" and jobs == 1:
        executor = "serial"  # the same, without a second process to start
    return {
        **shared,
        **({"ATTNLIB_JOBS": str(jobs)} if jobs else {}),
        "OMP_NUM_THREADS": "1",
        "ATTNLIB_PROGRESS": "0",
        "ATTNLIB_OUT": str(folder),
        "ATTNLIB_EXECUTOR": executor,
        "JUPYTER_PREFER_ENV_PATH": "1",  # the kernel of this environment, not one of the user's others
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }


def run(
    plan: Plan,
    out: Path,
    executor: str,
    jobs: int | None,
    *,
    state: Running | None = None,
    stop: threading.Event | None = None,
) -> Outcome:
    """Run one notebook and write its folder. `stop` interrupts it; what is done by then is kept."""
    state, stop = state or Running(plan), stop or threading.Event()
    target = place(plan, out)
    failed = target.with_name(target.name + files.FAILED)
    folder: Path | None = None
    try:
        folder = files.working(target)
        date, state.started = datetime.now(UTC), time.monotonic()
        result = _supervise(plan, folder, environment(folder, executor, jobs), state, stop)
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
        try:
            files.check_writable(folder)
        except OSError as error:
            raise ConfigError(f"--out: {files.trouble(error, folder, 'name a folder you may write to')}") from None


def _supervise(
    plan: Plan, folder: Path, env: dict[str, str], state: Running, stop: threading.Event
) -> dict[str, Any]:
    log = folder / "log.txt"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "attnlib.reports.kernel", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=env,
            start_new_session=True,  # Ctrl-C in the terminal reaches us alone; we tell the worker
        )
    assert process.stdin
    assert process.stdout
    job = {"notebook": str(plan.notebook.path), "parameters": plan.changed}
    process.stdin.write(json.dumps(job).encode() + b"\n")
    process.stdin.flush()
    ended = threading.Event()
    threading.Thread(target=_stopper, args=(process, stop, ended), daemon=True).start()
    result: dict[str, Any] | None = None
    for line in process.stdout:
        event = json.loads(line)
        state.cell, state.total = event.get("cell", state.cell), event.get("total", state.total)
        state.note = event.get("retry", state.note)
        result = event.get("end", result)
    process.wait()
    ended.set()
    process.stdin.close()
    process.stdout.close()
    if result is None:
        tail = "\n".join(log.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])
        reason = f"The process of the notebook ended with code {process.returncode}. {tail}".strip()
        result = {"status": "interrupted" if stop.is_set() else "failed", "error": reason}
        result |= {"cell": state.cell, "total": state.total}
    log.unlink()
    return result


def _stopper(process: subprocess.Popen[bytes], stop: threading.Event, ended: threading.Event) -> None:
    while not ended.wait(0.1):
        if stop.is_set():
            assert process.stdin
            process.stdin.close()
            try:
                process.wait(GRACE)
            except subprocess.TimeoutExpired:
                process.kill()
            return


def _finish(plan: Plan, folder: Path, result: dict[str, Any], date: datetime, seconds: float) -> None:
    import yaml

    from attnlib.reports import facts, render

    parameters = yaml.safe_dump(plan.values, sort_keys=False, allow_unicode=True) if plan.values else "{}\n"
    files.write(folder / "params.yaml", parameters)
    if not (folder / "claims.json").exists():
        files.write(folder / "claims.json", "[]\n")
    notebook = folder / "run.ipynb"
    if not notebook.exists():  # ended before papermill began
        shutil.copyfile(plan.notebook.path, notebook)
    header = folder / "header.json"
    said = json.loads(header.read_text(encoding="utf-8")) if header.exists() else {}
    header.unlink(missing_ok=True)
    record = {
        "notebook": plan.notebook.name,
        "title": plan.notebook.title,
        "profile": plan.profile,
        "status": result["status"],
        "date": date.isoformat(timespec="seconds"),
        "seconds": round(seconds, 1),
        "header": said,
        "versions": facts.versions(),
        "commit": commit(),
        "parameters": plan.values,
        "changed": sorted(plan.changed),
        "own": sorted(plan.own),
        "name": plan.name,
        "cell": result.get("cell"),
        "total": result.get("total"),
        "error": result.get("error"),
    }
    files.write(folder / "run.json", json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    files.write(folder / "report.html", render.report(folder))


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


def parse_executor(text: str) -> str:
    """`serial`, `local` or `dask:ADDRESS`, or an error."""
    from attnlib.utils.errors import unknown

    if text in ("serial", "local"):
        return text
    kind, _, address = text.partition(":")
    if kind != "dask":
        raise ConfigError(unknown("executor", text, ["serial", "local", "dask:ADDRESS"]))
    if not address:
        raise ConfigError("Executor 'dask' needs the scheduler's address, as in dask:tcp://localhost:8786.")
    return text


def share(executor: str, jobs: int | None, count: int) -> tuple[int, int | None]:
    """How many notebooks run side by side, and how many processes each may use for its own trainings.

    `local` shares `jobs` processes (None: one a core) out: first among the notebooks, what is left within them.
    A notebook that runs alone without `jobs` decides for itself, since it knows the GPUs.
    """
    if executor != "local":
        return 1, None
    total = jobs or _cores()
    side_by_side = max(1, min(total, count))
    return side_by_side, jobs if side_by_side == 1 else total // side_by_side


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_all(
    plans: list[Plan],
    out: Path,
    executor: str,
    jobs: int | None,
    watch: Callable[[list[Running], list[Outcome]], None],
) -> list[Outcome]:
    """Run every plan; one that fails does not stop the others. Ctrl-C stops all and keeps what is there."""
    from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait

    from attnlib.reports import series

    stop, outcomes = threading.Event(), []
    side_by_side, inner = share(executor, jobs, len(plans))
    states = [Running(plan) for plan in plans]
    check_out(plans, out)
    out.mkdir(parents=True, exist_ok=True)

    def one(state: Running) -> Outcome | None:
        if stop.is_set():
            return None
        outcome = run(state.plan, out, executor, inner, state=state, stop=stop)
        outcomes.append(outcome)
        return outcome

    with ThreadPoolExecutor(side_by_side) as pool:
        pending = {pool.submit(one, state) for state in states}
        failure: BaseException | None = None
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
    if failure is not None and not isinstance(failure, KeyboardInterrupt):
        raise failure
    if failure is not None:
        watch(states, outcomes)
    return outcomes
