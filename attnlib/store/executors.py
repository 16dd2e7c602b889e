"""Executors: where runs are computed. All of them are `concurrent.futures.Executor`s.

serial         in this process, one after the other
local          worker processes on this machine, one torch thread each; several per GPU where they fit
dask:ADDRESS   any Dask cluster: `dask:tcp://host:8786`, or `dask:scheduler.json` for a scheduler file

In addition to `submit` and `shutdown`, an executor here has `room` (how many calls to keep in flight: all workers
busy, and something waiting for the first that is free), `shared_disk` (whether workers see the driver's files) and
`kill()` (stop now).
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

from attnlib.store.processes import DEVICE, LocalExecutor, cores
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs

EXECUTORS = ("serial", "local", "dask:ADDRESS")
CONTEXT_MEMORY = 600 * 2**20
"""Bytes a CUDA process holds before it has any tensor."""
RUN_MEMORY = 2 * 2**30
"""Bytes assumed for a run on a GPU where none was measured yet."""


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
        if not wait or cancel_futures:
            self.client.cancel(list(self._futures))
        self.client.close()

    def kill(self) -> None:
        """Cancel what was submitted."""
        self.shutdown(wait=False, cancel_futures=True)


def make_executor(
    name: str = "serial",
    *,
    jobs: int | None = None,
    devices: Sequence[str] | None = None,
    jobs_per_device: int | None = None,
    memory_per_run: int = RUN_MEMORY,
) -> Executor:
    """An executor by name, as `check_executor` takes it.

    jobs             most worker processes in total; None: one per core, or what fits on the GPUs
    devices          what local workers use, such as ("cuda:0", "cuda:1") or ("cpu",); None: every GPU, else the CPU
    jobs_per_device  workers that share one GPU; None: as many as its free memory holds, a run taking
                     `memory_per_run` bytes
    """
    check_executor(name, jobs)
    if name == "serial":
        return SerialExecutor()
    if name != "local":
        return DaskExecutor(name.partition(":")[2])
    devices = devices if devices is not None else find_devices()
    return LocalExecutor(
        plan_slots(devices, jobs=jobs, jobs_per_device=jobs_per_device, memory_per_run=memory_per_run)
    )


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
    """Every CUDA device, else the one device that `auto` means."""
    import torch

    from attnlib.utils.device import resolve

    return [f"cuda:{k}" for k in range(torch.cuda.device_count())] or [resolve("auto").type]


def free_memory(device: str) -> int:
    """Bytes free on a CUDA device."""
    import torch

    return torch.cuda.mem_get_info(torch.device(device))[0]


def plan_slots(
    devices: Sequence[str],
    *,
    jobs: int | None = None,
    jobs_per_device: int | None = None,
    memory_per_run: int = RUN_MEMORY,
    free: Callable[[str], int] = free_memory,
    n_cores: int | None = None,
    visible: str | None = None,
) -> list[dict[str, str]]:
    """One environment per worker. A worker on a GPU sees that GPU alone, under the name `cuda`.

    A GPU takes as many workers as runs fit in its free memory with each process's own context; in total no more
    workers than cores, though at least one per GPU. `visible` is the outer CUDA_VISIBLE_DEVICES, whose
    entries `cuda:k` counts.
    """
    if not devices:
        raise ConfigError("devices is empty; give at least one, such as ('cpu',) or ('cuda:0',).")
    if jobs_per_device is not None and jobs_per_device < 1:
        raise ConfigError(f"jobs_per_device must be 1 or more; got {jobs_per_device}.")
    n_cores = n_cores or cores()
    visible = os.environ.get("CUDA_VISIBLE_DEVICES") if visible is None else visible
    gpus = [d for d in devices if d.startswith("cuda")]
    others = [d for d in devices if not d.startswith("cuda")]
    if not gpus:
        return [_slot(others[k % len(others)], visible) for k in range(jobs or n_cores)]
    fair = max(1, n_cores // len(gpus))
    rooms = []
    for device in gpus:
        fits = jobs_per_device or min(free(device) // (memory_per_run + CONTEXT_MEMORY), fair)
        rooms.append(max(1, fits))
    # One worker on every GPU before a second on any, so that few jobs spread out.
    order = [d for turn in range(max(rooms)) for d, room in zip(gpus, rooms, strict=True) if turn < room]
    return [_slot(device, visible) for device in [*order, *others][:jobs]]


def _slot(device: str, visible: str | None) -> dict[str, str]:
    kind, _, index = device.partition(":")
    if kind != "cuda":
        return {DEVICE: device, **({"CUDA_VISIBLE_DEVICES": ""} if kind == "cpu" else {})}
    number = int(index or 0)
    outer = visible.split(",") if visible else [str(k) for k in range(number + 1)]
    if number >= len(outer):
        raise ConfigError(f"There is no device {device!r}: CUDA_VISIBLE_DEVICES={visible!r} shows {len(outer)}.")
    return {DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": outer[number].strip()}


def measured_memory(environments: Sequence[Mapping[str, Any]]) -> int:
    """Bytes a run needs on a GPU, with a tenth to spare, from those measured; RUN_MEMORY where none was."""
    peaks = [e["peak_gpu_memory"] for e in environments if e.get("peak_gpu_memory")]
    return int(max(peaks) * 1.1) if peaks else RUN_MEMORY
