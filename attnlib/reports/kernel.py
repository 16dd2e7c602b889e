"""What happens in the process that runs one notebook, which `reports.execute` starts.

One process per notebook, since kernels that share a process race for ports (papermill#511).
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
            _execute(notebook, parameters, progress)
        except KeyboardInterrupt:
            return {"status": "interrupted", **progress.place}
        except Exception as error:
            if attempt == 1 and progress.code_done == 0 and _kernel_lost(error):
                emit({"note": f"{type(error).__name__}: {error}"})
                continue
            return {"status": "failed", **progress.place, "error": _describe(error)}
        return {"status": "done"}
    raise AssertionError("the second attempt always returns")


class Progress:
    """Counts cells and keeps the notebook on disk as it grows, whole at every moment."""

    def __init__(self, path: Path, emit: Emit) -> None:
        self.path, self.emit = path, emit
        self.cell = self.code_done = self.total = 0
        self.source = ""
        self.saved = float("-inf")

    def start(self, notebook: Any, index: int) -> None:
        """A cell begins."""
        self.cell, self.total, self.source = index + 1, len(notebook.cells), notebook.cells[index].source
        self.emit({"cell": self.cell, "total": self.total})
        self.save(notebook)

    def save(self, notebook: Any, *, now: bool = False) -> None:
        """A kill at any moment leaves a readable notebook. With all its figures in it, that takes a second."""
        if now or time.monotonic() - self.saved >= SAVE_EVERY:
            files.write(self.path, needs("nbformat", "notebooks").writes(notebook))
            self.saved = time.monotonic()

    @property
    def place(self) -> dict[str, Any]:
        """Where the run stood."""
        return {"cell": self.cell, "total": self.total, "source": self.source}


def _execute(path: str, parameters: dict[str, Any], progress: Progress) -> None:
    """Run every cell, with the parameters injected after their defaults, as papermill writes them.

    The kernel works in the user's folder: `-p corpus reviews.csv` means a file there.
    """
    nbclient, nbformat = needs("nbclient", "notebooks"), needs("nbformat", "notebooks")
    notebook = nbformat.v4.upgrade(nbformat.read(path, as_version=4))
    if parameters:
        translate = needs("papermill.translators", "notebooks").translate_parameters
        source = translate("python3", "python", parameters, "Parameters")
        injected = nbformat.v4.new_code_cell(source, metadata={"tags": ["injected-parameters"]})
        tags = [cell.metadata.get("tags", ()) for cell in notebook.cells]
        notebook.cells.insert(next(k for k, own in enumerate(tags) if "parameters" in own) + 1, injected)

    class Client(nbclient.NotebookClient):
        def process_message(self, *args: Any) -> Any:
            output = super().process_message(*args)
            progress.save(notebook)
            return output

    client = Client(
        notebook,
        kernel_name="python3",
        startup_timeout=300,  # on a busy machine a minute is not enough, nor are four seconds for late outputs
        iopub_timeout=120,
        raise_on_iopub_timeout=True,
        record_timing=False,
    )
    try:
        with client.setup_kernel():
            for index, cell in enumerate(notebook.cells):
                progress.start(notebook, index)
                client.execute_cell(cell, index)
                progress.code_done += cell.cell_type == "code" and cell.execution_count is not None
            client.set_widgets_metadata()
    finally:
        progress.save(notebook, now=True)


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
