"""Executors: where runs are computed. All of them are `concurrent.futures.Executor`s.

serial         in this process, one after the other
local          worker processes on this machine: one per GPU, or one per core with one torch thread
dask:ADDRESS   any Dask cluster: `dask:tcp://host:8786`, or `dask:scheduler.json` for a scheduler file

In addition, an executor here has `room` (how many calls to keep in flight) and `shared_disk` (whether workers see
the driver's files).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.progress import SWITCH

EXECUTORS = ("serial", "local", "dask:ADDRESS")
EXECUTOR, JOBS = "ATTNLIB_EXECUTOR", "ATTNLIB_JOBS"
"""Environment variables by which a batch run of notebooks says where their grids are computed."""
DEVICE = "ATTNLIB_DEVICE"
"""Environment variable: the device of a worker, used by runs that name no device."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def cores() -> int:
    """Cores this process may use; a batch system may limit them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SerialExecutor(Executor):
    """Each call runs in `submit`, in this process."""

    shared_disk = True
    room = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # Ctrl-C passes through
            future.set_exception(error)
        return future


class LocalExecutor(Executor):
    """A worker process for each environment in `slots`: a loky pool of its own, so that one that dies fails no call
    but its own, and the next call gets a new one. A script needs no `if __name__ == "__main__"`."""

    shared_disk = True

    def __init__(self, slots: Sequence[Mapping[str, str]]) -> None:
        self.room = len(slots)
        self._slots = [{**dict.fromkeys(THREADS, "1"), SWITCH: "0", **slot} for slot in slots]
        self._pools: dict[int, Executor] = {}
        self._last: dict[int, Future] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        slot = min(range(self.room), key=lambda k: k in self._last and not self._last[k].done())
        try:
            future = self._pool(slot).submit(fn, *args, **kwargs)
        except BrokenExecutor:
            del self._pools[slot]
            future = self._pool(slot).submit(fn, *args, **kwargs)
        self._last[slot] = future
        return future

    def _pool(self, slot: int) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        if slot not in self._pools:
            begin = {"initializer": _begin, "initargs": (os.getpid(),)}
            self._pools[slot] = ProcessPoolExecutor(1, env=self._slots[slot], **begin)
        return self._pools[slot]

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after the calls already submitted; at once where these are cancelled."""
        for pool in self._pools.values():
            pool.shutdown(wait=wait, kill_workers=cancel_futures)


def _begin(driver: int) -> None:
    """In a new worker: leave Ctrl-C to the driver, and end with it, however it ends."""
    from joblib.externals.loky import process_executor

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    process_executor._MAX_MEMORY_LEAK_SIZE = sys.maxsize  # a corpus in memory is no leak

    def watch() -> None:
        while os.getppid() == driver:
            time.sleep(0.5)
        os._exit(1)

    if os.name == "posix":  # elsewhere a process keeps its dead parent's number
        threading.Thread(target=watch, daemon=True).start()


class DaskExecutor(Executor):
    """A Dask cluster, whose workers have attnlib installed and one thread each."""

    shared_disk = False

    def __init__(self, address: str, *, timeout: float = 30.0) -> None:
        self.address = address
        where = {"scheduler_file" if address.endswith(".json") else "address": address}
        if "scheduler_file" in where and not os.path.isfile(address):
            raise self._silent("there is no such file")
        try:
            self.client = needs("distributed", "cluster").Client(**where, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise self._silent(str(error)) from error
        self.submit = self.client.get_executor(pure=False).submit

    @property
    def room(self) -> int:
        """A queue beyond the workers of now lets an adaptive cluster grow."""
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:
            raise self._silent("it did before")
        return 2 * len(workers) + 8

    def _silent(self, why: str) -> AttnlibError:
        how = "Start one with `dask scheduler`, and workers with `dask worker ADDRESS --nthreads 1`"
        return AttnlibError(
            f"No Dask scheduler answers at {self.address!r} ({why}). {how}. Finished runs are kept."
        )

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which keeps running."""
        self.client.close()


def make_executor(name: str | None = None, *, jobs: int | None = None) -> Executor:
    """An executor by name, None: what `attnlib run` said, else serial; with at most `jobs` worker processes."""
    if name is None:
        name = os.environ.get(EXECUTOR, "serial")
        jobs = jobs or (int(os.environ.get(JOBS) or 0) or None if name == "local" else None)
    check_executor(name, jobs)
    if name == "serial":
        return SerialExecutor()
    return LocalExecutor(slots(jobs)) if name == "local" else DaskExecutor(name.partition(":")[2])


def check_executor(name: str, jobs: int | None = None) -> None:
    """Refuse an unknown executor or a number of jobs that it cannot have; nothing is started."""
    if name not in ("serial", "local") and not name.startswith("dask:"):
        raise UnknownName(unknown("executor", name, EXECUTORS))
    if jobs is not None and (jobs < 1 or (name == "serial" and jobs > 1)):
        raise ConfigError(f"jobs must be 1 or more, and 1 for the serial executor; got {name} with jobs={jobs}.")


def slots(jobs: int | None = None) -> list[dict[str, str]]:
    """One environment per worker: a worker for each GPU, which sees that GPU alone, or else for each core."""
    import torch

    count = torch.cuda.device_count()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", ",".join(map(str, range(count))))
    if not count or not visible:
        return [{DEVICE: "cpu", "CUDA_VISIBLE_DEVICES": ""}] * (jobs or cores())
    return [{DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": gpu} for gpu in visible.split(",")[:count][:jobs]]
