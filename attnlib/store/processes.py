"""Worker processes on this machine, behind `concurrent.futures.Executor`: for runs, and for whole notebooks.

Unlike `ProcessPoolExecutor` and Dask's `LocalCluster`, each worker has its own environment (its GPU, its one
thread) and its own process group, a worker that dies fails only the call it was busy with, and a script needs
no `if __name__ == "__main__"`: a worker is a fresh interpreter that imports what a call names.

Calls and answers are pickles on the worker's standard input and output, between processes of one program. The input
stays open as long as the driver lives: when it ends, however the driver ended, the call in progress gets a
KeyboardInterrupt, and the process ends soon after.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from attnlib.utils.errors import AttnlibError
from attnlib.utils.progress import SWITCH

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
DEVICE = "ATTNLIB_DEVICE"
"""Environment variable: the device of a worker, used by runs that name no device."""
TURNS = "ATTNLIB_TURNS"
"""Environment variable: a folder with a file for every call that may be under way at once, see `turns`."""
GRACE = 20.0
"""Seconds an interrupted call has to tidy up, such as a notebook to stop its kernel."""


class WorkerDied(AttnlibError):
    """A worker process ended in the middle of a call."""


def cores() -> int:
    """Cores this process may use; a batch system may limit them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def turns(folder: Path, count: int) -> dict[str, str]:
    """The environment of programs that share `count` turns: their workers together make no more calls at once.

    So one of two programs may have a worker for every core, and uses them all when the other has nothing to do.
    """
    for place in range(count):
        (folder / f"{place}.turn").touch()
    return {TURNS: str(folder)}


@contextmanager
def turn(stopped: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Hold one of the turns, where there are any; the system ends that of a process that dies."""
    folder = os.environ.get(TURNS)
    locks = [FileLock(place, thread_local=False) for place in sorted(Path(folder).glob("*.turn"))] if folder else []
    while locks:
        if stopped():
            raise WorkerDied("The executor was stopped.")
        for lock in locks:
            with suppress(Timeout):
                with lock.acquire(blocking=False):
                    yield
                return
        time.sleep(0.05)
    yield


class LocalExecutor(ThreadPoolExecutor):
    """One worker process for each environment in `slots`, started when first needed; a thread here waits for each.

    heard  called with what a function in a worker says by `tell`, before its result arrives
    log    a file for what workers print; None: this process's standard error
    """

    shared_disk = True

    def __init__(
        self,
        slots: Sequence[Mapping[str, str]],
        *,
        heard: Callable[[Any], None] = lambda said: None,
        log: Path | None = None,
    ) -> None:
        super().__init__(len(slots), thread_name_prefix="attnlib-worker")
        self.room = len(slots) + 1
        self._heard, self._log = heard, log
        self._lock = threading.Lock()
        self._free = [dict(slot) for slot in slots]
        self._here = threading.local()
        self._living: set[_Worker] = set()
        self._stopped = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Call a function that a fresh interpreter can import."""
        return super().submit(self._call, pickle.dumps((fn, args, kwargs)))

    def _call(self, data: bytes) -> Any:
        """In a thread of the pool: hand a call to the thread's own worker, when it is this program's turn."""
        here = self._here
        with turn(lambda: self._stopped):
            with self._lock:
                if self._stopped:
                    raise WorkerDied("The executor was stopped.")
                if not hasattr(here, "slot"):
                    here.slot, here.worker = self._free.pop(), None
                if here.worker not in self._living:
                    here.worker = _Worker(here.slot, self._log)
                    self._living.add(here.worker)
            try:
                return here.worker.call(data, self._heard)
            except WorkerDied:
                with self._lock:
                    self._living.discard(here.worker)
                here.worker.close()
                raise

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after the calls already submitted, or without those not yet begun."""
        super().shutdown(wait, cancel_futures=cancel_futures)
        if not wait:
            threading.Thread(target=self.shutdown, daemon=True).start()
            return
        with self._lock:
            workers, self._living = self._living, set()
        for worker in workers:
            worker.close()

    def kill(self, grace: float = 0.0) -> None:
        """End the workers now; calls under way fail with WorkerDied.

        grace  seconds to give them first: a call is interrupted, and may still return a result
        """
        super().shutdown(wait=False, cancel_futures=True)
        with self._lock:
            self._stopped = True
            workers = list(self._living)
        for worker in workers if grace else ():
            worker.interrupt()
        for worker in workers:
            worker.end(grace)
        self.shutdown()


class _Worker:
    """The driver's end of one worker process."""

    def __init__(self, slot: Mapping[str, str], log: Path | None) -> None:
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        with open(log or os.devnull, "ab") as errors:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", "from attnlib.store.processes import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors if log else None,
                env={**os.environ, **ONE_THREAD, SWITCH: "0", "PYTHONPATH": path, **slot},
                start_new_session=True,  # Ctrl-C reaches the driver alone, which then ends its workers
            )

    def call(self, data: bytes, heard: Callable[[Any], None]) -> Any:
        """Send a call, wait for what it returns or raises."""
        with suppress(OSError, ValueError):  # it died before it had read everything, or its input was closed
            _write(self.process.stdin, pickle.dumps(data))
        while (answer := _read(self.process.stdout)) is not None:
            kind, value = answer
            if kind == "returned":
                return value
            if kind == "raised":
                raise value
            heard(value)
        raise WorkerDied(_epitaph(self.process.wait()))

    def interrupt(self) -> None:
        """End its input, which is what happens when the driver is gone."""
        with suppress(OSError):
            self.process.stdin.close()

    def end(self, grace: float = 10.0) -> None:
        """End the process by ending its input; after `grace` seconds by force, and its process group with it."""
        if grace:
            self.interrupt()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(grace)
        if self.process.poll() is None:
            with suppress(OSError):
                if os.name == "posix":
                    os.killpg(self.process.pid, signal.SIGKILL)
                else:
                    self.process.kill()
            self.process.wait()

    def close(self) -> None:
        """End the process when no call waits for it."""
        self.end()
        self.process.stdout.close()


def _epitaph(code: int) -> str:
    if code == -signal.SIGKILL:
        return "A worker process was killed (signal 9). Often memory ran out: use fewer jobs, or smaller batches."
    if code < 0:
        return f"A worker process died of signal {-code} ({signal.Signals(-code).name})."
    return f"A worker process ended by itself with status {code}."


def _write(stream: BinaryIO, message: bytes) -> None:
    stream.write(message)
    stream.flush()


def _read(stream: BinaryIO) -> Any:
    """The next message, or None at the end, also in the middle of a message."""
    try:
        return pickle.load(stream)
    except (EOFError, pickle.UnpicklingError):
        return None


# The worker's side

_answers: BinaryIO | None = None


def tell(said: Any) -> None:
    """Send something to the driver in the middle of a call: `heard` gets it. Does nothing outside a worker."""
    if _answers is not None:
        _write(_answers, pickle.dumps(("said", said)))


def main() -> None:
    """Calls on standard input, answers on standard output, until the input ends."""
    global _answers
    _answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a run prints must not mix with the answers
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background inherits it ignored
    calls: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
    with suppress(KeyboardInterrupt, OSError):
        threading.Thread(target=_listen, args=(calls,), daemon=True).start()
        while (call := calls.get()) is not None:
            _write(_answers, _answer(call))
    os._exit(0)  # no thread of a run keeps the process alive


def _listen(calls: queue.SimpleQueue[bytes | None]) -> None:
    while (call := _read(sys.stdin.buffer)) is not None:
        calls.put(call)  # as bytes still: what it names is imported where it is called
    calls.put(None)  # the driver is gone, or done with this worker
    if os.name == "posix":
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        time.sleep(GRACE)
    os._exit(0)


def _answer(call: bytes) -> bytes:
    """Make a call; what it returned or raised, as a message."""
    try:
        fn, args, kwargs = pickle.loads(call)
        return pickle.dumps(("returned", fn(*args, **kwargs)))
    except Exception as error:
        try:
            answer = pickle.dumps(("raised", error))
            pickle.loads(answer)  # some errors can be written but not read back
        except Exception:
            answer = pickle.dumps(("raised", RuntimeError(f"{type(error).__name__}: {error}")))
        return answer
