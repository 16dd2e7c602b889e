"""Executors: the same results wherever runs are computed, though workers die and drivers are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from dataclasses import dataclass, field
from pathlib import Path
from unittest.mock import Mock

import pandas as pd
import pytest

from attnlib.config import DataConfig
from attnlib.store.entries import Store
from attnlib.store.executors import DEVICE, DaskExecutor, LocalExecutor, SerialExecutor, cores, make_executor, slots
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName
from tests.patience import PATIENCE, alive, wait_until

TESTS = Path(__file__).parents[1]


def executions(path: Path) -> Counter[str]:
    return Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()


# Names and devices


def test_executors_by_name() -> None:
    assert isinstance(make_executor("serial"), SerialExecutor)
    with pytest.raises(UnknownName, match="Did you mean 'local'"):
        make_executor("locla")
    with pytest.raises(ConfigError, match="jobs must be 1 or more"):
        make_executor("local", jobs=0)
    with pytest.raises(ConfigError, match="1 for the serial executor"):
        make_executor("serial", jobs=2)
    with pytest.raises(UnknownName, match="dask:ADDRESS"):
        make_executor("dask")
    with pytest.raises(AttnlibError, match=r"No Dask scheduler answers at 'nowhere\.json'"):
        make_executor("dask:nowhere.json")
    with pytest.raises(AttnlibError, match=r"No Dask scheduler answers at 'tcp://127\.0\.0\.1:1'"):
        DaskExecutor("tcp://127.0.0.1:1", timeout=0.5)


def test_a_scheduler_that_is_gone_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Mock()
    client.scheduler_info.return_value = {"workers": {"a": {"nthreads": 1}}}
    monkeypatch.setattr("distributed.Client", lambda **_: client)
    executor = DaskExecutor("tcp://head:8786")
    assert executor.room == 10
    client.scheduler_info.return_value = {"type": "Scheduler"}  # all that a client knows which lost its scheduler
    with pytest.raises(AttnlibError, match=r"'tcp://head:8786' .*Finished runs are kept"):
        executor.room  # noqa: B018


@pytest.fixture
def pool() -> Iterator[LocalExecutor]:
    pool = make_executor("local", jobs=2)
    yield pool
    pool.shutdown(cancel_futures=True)


def test_a_worker_for_every_core_or_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    assert make_executor("local").room == cores()
    assert slots(3) == [{DEVICE: "cpu", "CUDA_VISIBLE_DEVICES": ""}] * 3
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-ab")
    assert slots() == [{DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": gpu} for gpu in ("5", "GPU-ab")]
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    assert slots(1) == [{DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": "0"}]


def test_workers_have_their_environment_and_one_thread() -> None:
    pool = LocalExecutor([{DEVICE: "cuda", "CUDA_VISIBLE_DEVICES": "7"}])
    shown = [pool.submit(os.getenv, name).result(PATIENCE) for name in (DEVICE, "CUDA_VISIBLE_DEVICES")]
    assert shown == ["cuda", "7"]
    assert pool.submit(os.getenv, "OMP_NUM_THREADS").result(PATIENCE) == "1"
    assert pool.submit(os.getpid).result(PATIENCE) != os.getpid()
    pool.shutdown()


def test_a_dead_worker_fails_its_own_call_alone(pool: LocalExecutor) -> None:
    doomed, fine = pool.submit(os._exit, 3), pool.submit(abs, -1)
    with pytest.raises(BrokenExecutor):
        doomed.result(PATIENCE)
    assert fine.result(PATIENCE) == 1
    assert [pool.submit(abs, -k).result(PATIENCE) for k in range(4)] == list(range(4))


def test_kill_ends_calls_under_way(pool: LocalExecutor) -> None:
    pids = [call.result(PATIENCE) for call in [pool.submit(os.getpid) for _ in range(2)]]
    busy = pool.submit(time.sleep, 600)
    wait_until(busy.running, "the call's start")
    pool.shutdown(cancel_futures=True)
    with pytest.raises(RuntimeError, match="shutdown"):
        busy.result(PATIENCE)
    wait_until(lambda: not any(map(alive, pids)), "the end of the workers")


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_workers_end_with_a_killed_driver(tmp_path: Path) -> None:
    """Also those of a script without `if __name__ == "__main__"`."""
    script = tmp_path / "driver.py"
    script.write_text(
        "import os, time\nfrom attnlib.store.executors import make_executor\n"
        "pool = make_executor('local', jobs=1)\n"
        "print(pool.submit(os.getpid).result(), flush=True)\npool.submit(time.sleep, 600)\ntime.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE) as driver:
        pid = int(driver.stdout.readline())
        driver.kill()
    wait_until(lambda: not alive(pid), "the end of the worker")


@pytest.mark.gpu
def test_runs_on_every_gpu_agree_with_the_cpu(tmp_path: Path, monkeypatch) -> None:
    import torch

    monkeypatch.delenv("CUDA_VISIBLE_DEVICES")
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    import grid_tasks

    fits = [grid_tasks.small_fit(seed) for seed in range(4)]
    runs = [MeasureSpec.of(grid_tasks.accuracy, fit) for fit in fits]
    on_gpu = run_grid(runs, store=tmp_path / "gpu", executor="local").complete()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    on_cpu = run_grid(runs, store=tmp_path / "cpu", executor="local").complete()
    assert {on_gpu.entry(f).environment["device"].split(":")[0] for f in fits} == {"cuda"}
    both = on_gpu.frame().merge(on_cpu.frame(), on=["seed", "metric"])
    assert (both["value_x"] - both["value_y"]).abs().max() < 0.05


# The whole: killed at random moments, and on a cluster that loses a worker


DRIVER = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from attnlib.store.grid import run_grid
    from grid_tasks import example_runs
    run_grid(example_runs(4), store=sys.argv[2], executor="local", jobs=2).complete()
    print("complete", flush=True)
"""


@pytest.mark.slow
def test_a_grid_killed_at_random_moments_resumes_to_the_same_frames(tmp_path: Path) -> None:
    import grid_tasks

    runs = grid_tasks.example_runs(4)
    whole = run_grid(runs, store=tmp_path / "whole").complete()
    (tmp_path / "log").unlink()
    total = len(runs) + 4  # measures, and models for four of them
    chance = random.Random(5)
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(DRIVER))
    store = Store(tmp_path / "store")
    kills = 0
    for _ in range(40):
        # A moment is a number of finished runs and a fraction of a second, whatever the machine's speed.
        goal = len(list(store)) + chance.randint(2, 6)
        command = [sys.executable, script, TESTS, store.root]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as driver:
            while driver.poll() is None and len(list(store)) < goal:
                time.sleep(0.01)
            time.sleep(chance.random() * 0.2)
            driver.kill()
            out = driver.stdout.read()
        if driver.returncode != -signal.SIGKILL:
            break
        kills += 1
    assert out.strip() == "complete"
    assert kills >= 2
    resumed = run_grid(runs, store=store)
    assert (resumed.cached, resumed.computed) == (len(runs), 0)
    for name in ("accuracy", "square"):
        pd.testing.assert_frame_equal(resumed.frame(name), whole.frame(name), check_exact=True)
    done = executions(tmp_path / "log")
    assert set(done) == {f"accuracy {k}" for k in range(4)} | {str(k) for k in range(8)}
    again = sum(done.values()) - len(done)
    in_flight = 2
    assert again <= kills * in_flight
    assert len(list(store)) == total
    assert not list((store.root / "tmp").iterdir())


@dataclass
class Cluster:
    """A Dask scheduler and its workers, each a process of its own on loopback."""

    folder: Path
    scheduler: subprocess.Popen | None = None
    workers: list[subprocess.Popen] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.folder / "scheduler.json")

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def start(self, workers: int) -> Cluster:
        """A scheduler and so many workers."""
        self.scheduler = self._dask("scheduler", "--port", "0")
        wait_until(Path(self.address).is_file, "the scheduler's start")
        for _ in range(workers):
            self.add_worker()
        return self

    def add_worker(self) -> None:
        name = f"w{len(self.workers)}"
        where = ["--name", name, "--local-directory", str(self.folder / name)]
        self.workers.append(self._dask("worker", "--nthreads", "1", "--no-nanny", *where))

    def stop(self) -> None:
        processes = [p for p in (self.scheduler, *self.workers) if p is not None]
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()

    def _dask(self, kind: str, *options: str) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", kind, "--scheduler-file", self.address, "--host", "127.0.0.1"]
        paths = os.pathsep.join([str(TESTS), *sys.path])
        environment = {**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "GRID_LOG": str(self.log)}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return subprocess.Popen([*command, "--no-dashboard", *options], cwd=self.folder, env=environment, **quiet)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    shared = Cluster(tmp_path_factory.mktemp("dask"))
    try:
        yield shared.start(2)
    finally:
        shared.stop()


@pytest.fixture
def own_cluster(tmp_path: Path) -> Iterator[Cluster]:
    """One that a test may wreck; not started yet."""
    own = Cluster(tmp_path / "own")
    own.folder.mkdir()
    yield own
    own.stop()


@pytest.mark.slow
def test_models_and_corpora_handed_over_travel_to_dask_workers(tmp_path: Path, cluster: Cluster) -> None:
    import grid_tasks

    from attnlib.data import load_corpus

    mine = load_corpus("planted", limit=30)
    fit = grid_tasks.small_fit(0).replace(data=DataConfig(corpus="mine"))
    runs = [MeasureSpec.of(grid_tasks.accuracy, fit), MeasureSpec.of(grid_tasks.accuracy, fit, split="dev")]
    options = {"executor": f"dask:{cluster.address}", "corpora": {"mine": mine}}
    result = run_grid(runs[:1], store=tmp_path / "store", **options).complete()
    more = run_grid(runs, store=tmp_path / "store", **options).complete()  # the model goes to a worker, as bytes
    assert (more.cached, more.computed, more.models) == (1, 1, 0)
    here = run_grid(runs, store=tmp_path / "here", corpora={"mine": mine}).complete()
    assert result.models == 1
    pd.testing.assert_frame_equal(more.frame(), here.frame(), check_exact=True)


@pytest.mark.slow
def test_dask_workers_get_rankings_that_only_the_driver_has(tmp_path: Path, cluster: Cluster) -> None:
    import grid_tasks

    import attnlib as al
    from attnlib.rankings.base import method

    code = "@method(summary='mine')\ndef of_the_driver(case):\n    return SIGN * case.trace.alpha\n"
    exec(code, {"__name__": "__main__", "method": method, "SIGN": -1})  # as a cell of a notebook
    run = MeasureSpec.of(al.erasure_curves, grid_tasks.small_fit(), ranking="of_the_driver")
    there = run_grid([run], store=tmp_path / "there", executor=f"dask:{cluster.address}").complete()
    here = run_grid([run], store=tmp_path / "here").complete()
    pd.testing.assert_frame_equal(there.frame(), here.frame(), check_exact=True)


@pytest.mark.slow
def test_dask_workers_with_other_vectors_are_refused(tmp_path: Path, cluster: Cluster, monkeypatch) -> None:
    import grid_tasks

    vectors = "the 1 0 0 0 0 0 0 0\nof 0 1 0 0 0 0 0 0\n"
    (tmp_path / "vectors.txt").write_text(vectors)
    there = cluster.log.parent / "vectors.txt"  # where the workers stand
    there.write_text(vectors.replace("1", "5"))
    monkeypatch.chdir(tmp_path)
    fit = grid_tasks.small_fit(0)
    fit = fit.replace(model=fit.model.replace(vectors="vectors.txt"))
    options = {"store": tmp_path / "store", "executor": f"dask:{cluster.address}"}
    result = run_grid([fit], **options)
    assert list(result.failures["error"]) == ["WorkerDiffers"]
    assert list(result.failures["attempts"]) == [1]
    there.write_text(vectors)
    assert run_grid([fit], **options).complete().computed == 1


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_frames(tmp_path: Path, cluster: Cluster) -> None:
    import grid_tasks

    runs = grid_tasks.example_runs(4)
    whole = run_grid(runs, store=tmp_path / "whole").complete()
    store = Store(tmp_path / "store")
    cluster.log.unlink(missing_ok=True)
    executor = make_executor(f"dask:{cluster.address}")
    executor.client.wait_for_workers(2, timeout=PATIENCE)

    def kill_one_worker() -> None:
        wait_until(lambda: len(list(store)) >= 3, "the third result")
        cluster.workers[0].kill()

    killer = threading.Thread(target=kill_one_worker)
    killer.start()
    try:
        result = run_grid(runs, store=store, executor=executor).complete()
    finally:
        killer.join()
        executor.shutdown()
    assert cluster.workers[0].wait() == -signal.SIGKILL
    assert cluster.workers[1].poll() is None
    assert result.computed == len(runs)
    for name in ("accuracy", "square"):
        pd.testing.assert_frame_equal(result.frame(name), whole.frame(name), check_exact=True)
    done = executions(cluster.log)
    assert set(done) == {f"accuracy {k}" for k in range(4)} | {str(k) for k in range(8)}
    assert sum(done.values()) - len(done) <= 2  # what the killed worker was busy with, and had not handed over yet


@pytest.mark.slow
def test_a_worker_that_comes_late_is_waited_for(tmp_path: Path, own_cluster: Cluster) -> None:
    import grid_tasks

    own_cluster.start(0)
    executor = make_executor(f"dask:{own_cluster.address}")
    late = threading.Timer(1.0, own_cluster.add_worker)
    late.start()
    try:
        result = run_grid(grid_tasks.example_runs(1), store=tmp_path / "store", executor=executor).complete()
    finally:
        late.join()
        executor.shutdown()
    here = run_grid(grid_tasks.example_runs(1), store=tmp_path / "here").complete()
    pd.testing.assert_frame_equal(result.frame("accuracy"), here.frame("accuracy"), check_exact=True)


@pytest.mark.slow
def test_a_scheduler_that_dies_keeps_what_is_finished(tmp_path: Path, own_cluster: Cluster) -> None:
    import grid_tasks

    runs = grid_tasks.example_runs(4)
    own_cluster.start(1)
    store = Store(tmp_path / "store")
    executor = make_executor(f"dask:{own_cluster.address}")
    executor.client.wait_for_workers(1, timeout=PATIENCE)

    def kill_the_scheduler() -> None:
        wait_until(lambda: len(list(store)) >= 2, "the second result")
        own_cluster.scheduler.kill()

    killer = threading.Thread(target=kill_the_scheduler)
    killer.start()
    try:
        with pytest.raises(AttnlibError, match=r"No Dask scheduler answers"):
            run_grid(runs, store=store, executor=executor).complete()
    finally:
        killer.join()
        executor.shutdown()
    kept = len(list(store))
    assert kept >= 2
    resumed = run_grid(runs, store=store).complete()
    assert resumed.cached + resumed.computed == len(runs)
    assert resumed.computed + resumed.models == len(runs) + 4 - kept
    here = run_grid(runs, store=tmp_path / "here").complete()
    pd.testing.assert_frame_equal(resumed.frame("square"), here.frame("square"), check_exact=True)
