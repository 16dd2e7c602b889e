"""Executors: where runs are computed. All of them are `concurrent.futures.Executor`s.

serial         in this process, one after the other
local          worker processes on this machine: one per core with one torch thread, or one per GPU
dask:ADDRESS   any Dask cluster: `dask:tcp://host:8786`, or `dask:scheduler.json` for a scheduler file

In addition to `submit` and `shutdown`, an executor here has `room` (how many calls to keep in flight),
`shared_disk` (whether workers see the driver's files) and `kill()` (stop now).
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import BrokenExecutor, Executor, Future
from pathlib import Path
from typing import Any

from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.progress import SWITCH

EXECUTORS = ("serial", "local", "dask:ADDRESS")
DEVICE = "ATTNLIB_DEVICE"
"""Environment variable: the device of a worker, used by runs that name no device."""
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
QUIET = {**dict.fromkeys(THREADS, "1"), SWITCH: "0"}


def cores() -> int:
    """Cores this process may use; a batch system may limit them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class SerialExecutor(Executor):
    """Each call runs in `submit`, in this process."""

    shared_disk = True
    room = 1

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        future: Future = Future()
        future.set_running_or_notify_cancel()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:  # Ctrl-C passes through
            future.set_exception(error)
        return future

    def kill(self) -> None:
        """Nothing runs between calls."""


class LocalExecutor(Executor):
    """A worker process for each environment in `slots`: a loky pool of its own, so that one that dies fails no call
    but its own, and the next call gets a new one. A script needs no `if __name__ == "__main__"`."""

    shared_disk = True

    def __init__(self, slots: Sequence[Mapping[str, str]]) -> None:
        self.room = len(slots)
        self._slots = [{**QUIET, **slot} for slot in slots]
        self._pools: dict[int, Executor] = {}
        self._calls = [0] * len(slots)
        self._lock = threading.Lock()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Call a function in the worker that has the least to do."""
        with self._lock:
            slot = min(range(self.room), key=self._calls.__getitem__)
            self._calls[slot] += 1
        try:
            future = self._pool(slot).submit(fn, *args, **kwargs)
        except BrokenExecutor:
            del self._pools[slot]
            future = self._pool(slot).submit(fn, *args, **kwargs)
        future.add_done_callback(lambda _: self._ended(slot))
        return future

    def _pool(self, slot: int) -> Executor:
        from joblib.externals.loky import ProcessPoolExecutor

        if slot not in self._pools:
            self._pools[slot] = ProcessPoolExecutor(
                1, env=self._slots[slot], initializer=_begin, initargs=(os.getpid(),)
            )
        return self._pools[slot]

    def _ended(self, slot: int) -> None:
        with self._lock:
            self._calls[slot] -= 1

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the workers after the calls already submitted; at once where these are cancelled."""
        pools, self._pools = self._pools, {}
        for pool in pools.values():
            pool.shutdown(wait=wait, kill_workers=cancel_futures)

    def kill(self) -> None:
        """End the workers now."""
        self.shutdown(cancel_futures=True)


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
    """A Dask cluster. Workers need attnlib installed, one thread each, and no shared disk."""

    shared_disk = False

    def __init__(self, address: str, *, timeout: float = 30.0) -> None:
        self.address = address
        where: dict[str, Any] = {"address": address}
        if address.endswith(".json"):
            if not Path(address).is_file():
                raise ConfigError(
                    f"There is no scheduler file {address}. `dask scheduler --scheduler-file` writes it."
                )
            where = {"scheduler_file": address}
        try:
            self.client = needs("distributed", "cluster").Client(**where, timeout=timeout, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise AttnlibError(
                f"No Dask scheduler answers at {address!r} ({error}). Start one with `dask scheduler`, and workers "
                "with `dask worker ADDRESS --nthreads 1`."
            ) from error
        self._futures: set[Any] = set()
        threads = self._threads()
        if not threads:
            warnings.warn(f"The Dask cluster at {address} has no workers yet; runs wait for them.", stacklevel=2)
        if any(n > 1 for n in threads):
            warnings.warn(
                "Some Dask workers have several threads. Runs take turns in a process, so further threads idle: "
                "start workers with --nthreads 1 and more --nworkers.",
                stacklevel=2,
            )

    def _threads(self) -> list[int]:
        workers = self.client.scheduler_info(n_workers=-1).get("workers")
        if workers is None:
            raise AttnlibError(
                f"The Dask scheduler at {self.address!r} no longer answers. Finished runs are kept: start it again "
                "with `dask scheduler`, its workers with `dask worker`, and repeat the call."
            )
        return [worker["nthreads"] for worker in workers.values()]

    @property
    def room(self) -> int:
        """By the processes the cluster has now; a queue beyond them lets an adaptive cluster grow."""
        return 2 * len(self._threads()) + 8

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        remote = self.client.submit(fn, *args, **kwargs, pure=False)
        self._futures.add(remote)
        future: Future = Future()
        future.set_running_or_notify_cancel()

        def finish(done: Any) -> None:
            self._futures.discard(done)
            try:
                future.set_result(done.result())
            except BaseException as error:
                future.set_exception(error)
            done.release()

        remote.add_done_callback(finish)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Leave the cluster, which keeps running."""
        if (not wait or cancel_futures) and self._futures and self.client.status == "running":
            self.client.cancel(list(self._futures))
        self.client.close()

    def kill(self) -> None:
        """Cancel what was submitted."""
        self.shutdown(wait=False, cancel_futures=True)


def make_executor(
    name: str = "serial", *, jobs: int | None = None, devices: Sequence[str] | None = None
) -> Executor:
    """An executor by name, as `check_executor` takes it.

    jobs     most worker processes; None: one per core, or one per GPU
    devices  what local workers use, such as ("cuda:0", "cuda:1") or ("cpu",); None: every GPU, else the CPU
    """
    check_executor(name, jobs)
    if name == "serial":
        return SerialExecutor()
    if name != "local":
        return DaskExecutor(name.partition(":")[2])
    return LocalExecutor(slots(find_devices() if devices is None else devices, jobs))


def check_executor(name: str, jobs: int | None = None) -> None:
    """Refuse an unknown executor or a number of jobs that it cannot have; nothing is started."""
    kind, _, address = name.partition(":")
    if name not in ("serial", "local") and kind != "dask":
        raise UnknownName(unknown("executor", name, EXECUTORS))
    if kind == "dask" and not address:
        raise ConfigError(
            "dask: needs the address of a scheduler, such as dask:tcp://localhost:8786, or dask:scheduler.json."
        )
    if jobs is not None and jobs < 1:
        raise ConfigError(f"jobs must be 1 or more; got {jobs}.")
    if name == "serial" and jobs not in (None, 1):
        raise ConfigError(f"The serial executor does one thing at a time; got jobs={jobs}. Use 'local'.")


def find_devices() -> list[str]:
    """Every CUDA device, else the CPU."""
    import torch

    return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or ["cpu"]


def slots(devices: Sequence[str], jobs: int | None = None, visible: str | None = None) -> list[dict[str, str]]:
    """One environment per worker: a worker for each GPU, which sees that GPU alone, or for each core.

    `visible` is the outer CUDA_VISIBLE_DEVICES, whose entries `cuda:k` counts.
    """
    if not devices:
        raise ConfigError("devices is empty; give at least one, such as ('cpu',) or ('cuda:0',).")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if visible is None else visible
    if "cpu" in devices:
        return [{DEVICE: "cpu", "CUDA_VISIBLE_DEVICES": ""}] * (jobs or cores())
    return [_gpu(device, visible) for device in devices[:jobs]]


def _gpu(device: str, visible: str | None) -> dict[str, str]:
    kind, _, index = device.partition(":")
    number = int(index or 0)
    outer = visible.split(",") if visible else [str(k) for k in range(number + 1)]
    if kind != "cuda" or number >= len(outer):
        raise ConfigError(
            f"There is no device {device!r}; allowed: 'cpu', and 'cuda:0' to 'cuda:{len(outer) - 1}'."
        )
    return {DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": outer[number].strip()}
