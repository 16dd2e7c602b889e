"""What happens in the process that runs one notebook, which `reports.execute` starts.

One process per notebook, since papermill runs that share a process race for ports (papermill#511).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from attnlib.store.processes import tell
from attnlib.utils import files
from attnlib.utils.extras import needs
from attnlib.utils.files import hint

Emit = Callable[[dict[str, Any]], None]
SAVE_EVERY = 5.0
"""Seconds between saves of a notebook that is running: what a kill may cost."""


def run(notebook: str, parameters: dict[str, Any], folder: Path, emit: Emit = tell) -> dict[str, Any]:
    """Run the notebook; one more try when the kernel is lost before its first code cell is done.

    Returns the status (`done`, `failed` or `interrupted`), and where and why it ended. `emit` gets the current
    cell and their total, and a note on a second try.
    """
    for attempt in (1, 2):
        progress = Progress(folder / "run.ipynb", emit)
        try:
            _papermill(notebook, parameters, progress)
        except KeyboardInterrupt:
            return {"status": "interrupted", **progress.place()}
        except Exception as error:
            if attempt == 1 and progress.code_done == 0 and _kernel_lost(error):
                emit({"note": f"{type(error).__name__}: {error}"})
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
        self.saved = 0.0

    def attach(self, manager: Any) -> None:
        """Hook into papermill's execution manager."""
        start, complete, complete_all = manager.cell_start, manager.cell_complete, manager.notebook_complete
        self.total = len(manager.nb.cells)

        def cell_start(cell: Any, cell_index: int | None = None, **options: Any) -> None:
            self.cell, self.source = (cell_index or 0) + 1, cell.source
            self.emit({"cell": self.cell, "total": self.total})
            start(cell, cell_index, **options)

        def cell_complete(cell: Any, cell_index: int | None = None, **options: Any) -> None:
            complete(cell, cell_index, **options)
            self.code_done += cell.cell_type == "code" and cell.get("execution_count") is not None

        def save(*, now: bool = False, **options: Any) -> None:
            # papermill saves before and after every cell: seconds, once the figures of a report are in it
            if now or time.monotonic() - self.saved >= SAVE_EVERY:
                self.save(options.get("nb") or manager.nb)
                manager.last_save_time = manager.now()

        def notebook_complete(**options: Any) -> None:
            complete_all(**options)
            save(now=True, **options)

        manager.cell_start, manager.cell_complete, manager.save = cell_start, cell_complete, save
        manager.notebook_complete = notebook_complete
        save(now=True)

    def save(self, notebook: Any) -> None:
        """A kill at any moment leaves a readable notebook."""
        for key in ("input_path", "output_path"):  # paths of this machine stay private
            notebook.metadata.get("papermill", {}).pop(key, None)
        files.write(self.path, needs("nbformat", "notebooks").writes(notebook))
        self.saved = time.monotonic()

    def place(self, error: Exception | None = None) -> dict[str, Any]:
        """Where the run stood."""
        index = getattr(error, "cell_index", None)
        cell = self.cell if index is None else index + 1
        return {"cell": cell, "total": self.total, "source": getattr(error, "source", None) or self.source}


def _papermill(notebook: str, parameters: dict[str, Any], progress: Progress) -> None:
    nbformat, engines = needs("nbformat", "notebooks"), needs("papermill.engines", "notebooks")

    class Engine(engines.NBClientEngine):
        @classmethod
        def execute_managed_notebook(cls, nb_man: Any, kernel_name: str, **options: Any) -> Any:
            progress.attach(nb_man)
            return super().execute_managed_notebook(nb_man, kernel_name, **options)

    engines.papermill_engines.register("attnlib", Engine)
    needs("papermill.execute", "notebooks").execute_notebook(
        nbformat.read(notebook, as_version=4),
        None,  # saved by `progress`: papermill itself writes in place
        parameters=parameters,
        engine_name="attnlib",
        kernel_name="python3",
        start_timeout=300,  # on a busy machine a minute is not enough, nor are four seconds for late outputs
        iopub_timeout=120,
        progress_bar=False,  # and no cwd: `-p corpus reviews.csv` means a file in the user's folder
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
