"""Worker processes on this machine, behind `concurrent.futures.Executor`.

Unlike `ProcessPoolExecutor`, each worker has an environment of its own (its GPU, its one thread), a worker that
dies fails only the call it was busy with, workers end at once when the driver is gone, and a script needs no
`if __name__ == "__main__"`: a worker is a fresh interpreter that imports what a call names.
"""

from __future__ import annotations

import os
import pickle
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from typing import Any, BinaryIO

from attnlib.utils.errors import AttnlibError
from attnlib.utils.progress import SWITCH

ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


class WorkerDied(AttnlibError):
    """A worker process ended in the middle of a call."""


class LocalExecutor(Executor):
    """One worker process for each environment in `slots`, started when first needed."""

    shared_disk = True

    def __init__(self, slots: Sequence[Mapping[str, str]]) -> None:
        self.room = len(slots) + 1
        self._calls: queue.SimpleQueue[tuple[Future, bytes] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._closed = False
        self._killed = False
        self._living: set[_Worker] = set()
        self._threads = [
            threading.Thread(target=self._serve, args=(dict(slot),), name="attnlib-worker", daemon=True)
            for slot in slots
        ]
        for thread in self._threads:
            thread.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Call a function that a fresh interpreter can import."""
        if self._closed:
            raise RuntimeError("This executor has been shut down.")
        future: Future = Future()
        self._calls.put((future, pickle.dumps((fn, args, kwargs))))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after the calls already submitted, or without those not yet begun."""
        self._closed = True
        if cancel_futures:
            self._drain()
        for _ in self._threads:
            self._calls.put(None)
        if wait:
            for thread in self._threads:
                thread.join()

    def kill(self) -> None:
        """End the workers now; calls under way fail with WorkerDied."""
        self._killed = True
        self.shutdown(wait=False, cancel_futures=True)
        with self._lock:
            for worker in self._living:
                worker.process.kill()
        for thread in self._threads:
            thread.join(timeout=30)

    def _drain(self) -> None:
        while True:
            try:
                call = self._calls.get_nowait()
            except queue.Empty:
                return
            if call is not None:
                call[0].cancel()

    def _serve(self, slot: dict[str, str]) -> None:
        worker: _Worker | None = None
        while (call := self._calls.get()) is not None:
            future, data = call
            if not future.set_running_or_notify_cancel():
                continue
            try:
                worker = worker or self._start(slot)
                future.set_result(worker.call(data))
            except WorkerDied as error:
                worker = self._end(worker)
                future.set_exception(error)
            except BaseException as error:
                future.set_exception(error)
        self._end(worker)

    def _start(self, slot: dict[str, str]) -> _Worker:
        with self._lock:
            if self._killed:
                raise WorkerDied("The executor was stopped.")
            worker = _Worker(slot)
            self._living.add(worker)
            return worker

    def _end(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._living.discard(worker)
            worker.close()


class _Worker:
    """The driver's end of one worker process."""

    def __init__(self, slot: Mapping[str, str]) -> None:
        path = os.pathsep.join(p or os.getcwd() for p in sys.path)
        environment = {**os.environ, **ONE_THREAD, SWITCH: "0", "PYTHONPATH": path, **slot}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "attnlib.store.processes"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches the driver alone, which then ends its workers
        )

    def call(self, data: bytes) -> Any:
        """Send a call, wait for what it returns or raises."""
        try:
            _send(self.process.stdin, data)
            answer = _receive(self.process.stdout)
        except OSError:
            answer = None
        if answer is None:
            raise WorkerDied(_epitaph(self.process.wait()))
        succeeded, value = pickle.loads(answer)
        if succeeded:
            return value
        raise value

    def close(self) -> None:
        """End the process: it leaves when its input ends."""
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                stream.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def _epitaph(code: int) -> str:
    if code == -signal.SIGKILL:
        return "A worker process was killed (signal 9). Often memory ran out: use fewer jobs, or smaller batches."
    if code < 0:
        return f"A worker process died of signal {-code} ({signal.Signals(-code).name})."
    return f"A worker process ended by itself with status {code}."


def _send(stream: BinaryIO, data: bytes) -> None:
    stream.write(struct.pack("<Q", len(data)))
    stream.write(data)
    stream.flush()


def _receive(stream: BinaryIO) -> bytes | None:
    """The next message, or None at the end, also in the middle of a message."""
    head = stream.read(8)
    if len(head) < 8:
        return None
    (size,) = struct.unpack("<Q", head)
    data = stream.read(size)
    return data if len(data) == size else None


def _listen(calls: queue.SimpleQueue[bytes]) -> None:
    while (data := _receive(sys.stdin.buffer)) is not None:
        calls.put(data)
    os._exit(0)  # the driver is gone, or done with this worker


def main() -> None:
    """The worker's side: calls on standard input, answers on standard output, until the input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a run prints must not mix with the answers
    calls: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(calls,), daemon=True).start()
    while True:
        data = calls.get()
        try:
            fn, args, kwargs = pickle.loads(data)
            answer = pickle.dumps((True, fn(*args, **kwargs)))
        except Exception as error:
            try:
                answer = pickle.dumps((False, error))
                pickle.loads(answer)  # some errors can be written but not read back
            except Exception:
                answer = pickle.dumps((False, RuntimeError(f"{type(error).__name__}: {error}")))
        try:
            _send(answers, answer)
        except OSError:
            os._exit(1)


if __name__ == "__main__":
    main()
