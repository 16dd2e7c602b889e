"""The process that runs one notebook: `python -m attnlib.reports.kernel FOLDER`, started by `reports.execute`.

One process a notebook, since papermill runs that share a process race for ports (papermill#511). The job comes as
one line of JSON on standard input; what happens goes out as lines of JSON on standard output. Standard input stays
open as long as the parent lives: when it closes, the notebook is interrupted, so that no kernel outlives its run.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnlib.utils.files import hint

Emit = Callable[[dict[str, Any]], None]


def main() -> None:
    """Read the job, run it, report it."""
    events = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8", buffering=1)
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # whatever else prints must not mix with the events
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a run in the background inherits it ignored
    job = json.loads(sys.stdin.readline())
    threading.Thread(target=_interrupt_when_alone, daemon=True).start()
    result = run(job, Path(sys.argv[1]), lambda event: print(json.dumps(event), file=events, flush=True))
    events.write(json.dumps({"end": result}) + "\n")
    events.flush()
    os._exit(0)  # the thread that waits for standard input must not hold the process back


def run(job: dict[str, Any], folder: Path, emit: Emit) -> dict[str, Any]:
    """Run the notebook; one more try when the kernel is lost before its first code cell is done."""
    for attempt in (1, 2):
        progress = Progress(folder / "run.ipynb", emit)
        try:
            _papermill(job, progress)
        except KeyboardInterrupt:
            return {"status": "interrupted", **progress.place()}
        except Exception as error:
            if attempt == 1 and progress.code_done == 0 and _kernel_lost(error):
                emit({"retry": f"{type(error).__name__}: {error}"})
                continue
            return {"status": "failed", **progress.place(error), "error": _describe(error)}
        return {"status": "done"}
    raise AssertionError("the second attempt always returns")


class Progress:
    """Counts cells and keeps the notebook on disk as it grows, whole at every moment."""

    def __init__(self, path: Path, emit: Emit) -> None:
        self.path, self.emit = path, emit
        self.cell = self.code_done = self.total = 0
        self.source = ""

    def attach(self, manager: Any) -> None:
        """Hook into papermill's execution manager."""
        start, complete = manager.cell_start, manager.cell_complete
        self.total = len(manager.nb.cells)

        def cell_start(cell: Any, cell_index: int | None = None, **options: Any) -> None:
            self.cell, self.source = (cell_index or 0) + 1, cell.source
            self.emit({"cell": self.cell, "total": self.total})
            start(cell, cell_index, **options)

        def cell_complete(cell: Any, cell_index: int | None = None, **options: Any) -> None:
            complete(cell, cell_index, **options)
            self.code_done += cell.cell_type == "code" and cell.get("execution_count") is not None

        def save(**options: Any) -> None:
            self.save(options.get("nb") or manager.nb)
            manager.last_save_time = manager.now()

        manager.cell_start, manager.cell_complete, manager.save = cell_start, cell_complete, save
        save()

    def save(self, notebook: Any) -> None:
        """Write beside, then rename: a kill at any moment leaves a readable notebook."""
        import nbformat

        for key in ("input_path", "output_path"):  # paths of this machine are nobody's business
            notebook.metadata.get("papermill", {}).pop(key, None)
        part = self.path.with_suffix(".tmp")
        part.write_text(nbformat.writes(notebook), encoding="utf-8")
        part.replace(self.path)

    def place(self, error: Exception | None = None) -> dict[str, Any]:
        """Where the run stood."""
        index = getattr(error, "cell_index", None)
        cell = self.cell if index is None else index + 1
        return {"cell": cell, "total": self.total, "source": getattr(error, "source", None) or self.source}


def _papermill(job: dict[str, Any], progress: Progress) -> None:
    import nbformat
    from papermill.engines import NBClientEngine, papermill_engines
    from papermill.execute import execute_notebook

    class Engine(NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            progress.attach(nb_man)
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    papermill_engines.register("attnlib", Engine)
    execute_notebook(
        nbformat.read(job["notebook"], as_version=4),
        None,  # saved by `progress`: papermill itself writes in place
        parameters=job["parameters"],
        engine_name="attnlib",
        kernel_name="python3",
        start_timeout=300,  # on a busy machine a minute is not enough, nor are four seconds for late outputs
        iopub_timeout=120,
        progress_bar=False,  # and no cwd: `-p corpus reviews.csv` means the file beside the user
    )


def _kernel_lost(error: Exception) -> bool:
    names = {cls.__name__ for cls in type(error).__mro__}
    return bool(names & {"DeadKernelError", "ZMQError", "TimeoutError"}) or "Kernel died" in str(error)


def _describe(error: Exception) -> str:
    name = getattr(error, "ename", None)
    if name is not None:
        return f"{name}: {error.evalue}{hint(error.evalue)}"
    if type(error).__name__ == "DeadKernelError":
        return "The kernel died. Most often the memory was used up: take a smaller profile, or fewer --jobs."
    return f"{type(error).__name__}: {error}{hint(str(error))}"


def _interrupt_when_alone() -> None:
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGINT)


if __name__ == "__main__":
    main()
