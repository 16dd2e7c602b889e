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
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, Executor
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
import pytest

from attnlib.config import DataConfig
from attnlib.data import load_corpus
from attnlib.store.entries import Store
from attnlib.store.executors import DEVICE, DaskExecutor, LocalExecutor, SerialExecutor, cores, make_executor, slots
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName
from tests.grid_tasks import example_runs, small_fit
from tests.patience import PATIENCE, alive, wait_until

TESTS = Path(__file__).parents[1]


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
    fits = [small_fit(seed) for seed in range(4)]
    runs = [MeasureSpec.of("grid_tasks:accuracy", fit) for fit in fits]
    on_gpu = run_grid(runs, store=tmp_path / "gpu", executor="local").complete()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    on_cpu = run_grid(runs, store=tmp_path / "cpu", executor="local").complete()
    assert {on_gpu.entry(f).environment["device"].split(":")[0] for f in fits} == {"cuda"}
    both = on_gpu.frame().merge(on_cpu.frame(), on=["seed", "metric"])
    assert (both["value_x"] - both["value_y"]).abs().max() < 0.05


DRIVER = """
    import sys
    sys.path.insert(0, sys.argv[1])
    from attnlib.store.grid import run_grid
    from grid_tasks import example_runs
    run_grid(example_runs(4), store=sys.argv[2], executor="local", jobs=2).complete()
    print("complete", flush=True)
"""


@pytest.mark.slow
def test_a_grid_killed_at_random_moments_resumes_to_the_same_frames(
    tmp_path: Path, store: Store, executions
) -> None:
    runs = example_runs(4)
    whole = run_grid(runs, store=tmp_path / "whole").complete()
    (tmp_path / "log").unlink()
    chance = random.Random(5)
    script = tmp_path / "driver.py"
    script.write_text(textwrap.dedent(DRIVER))
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
    done = executions()
    assert set(done) == {f"accuracy {k}" for k in range(4)} | {str(k) for k in range(8)}
    assert done.total() - len(done) <= 2 * kills, "what was in flight"
    assert len(list(store)) == len(runs) + 4, "measures, and models for four of them"
    assert not list((store.root / "tmp").iterdir())


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[subprocess.Popen]]:
    """A Dask scheduler and two workers, each a process of its own on loopback."""
    file = tmp_path / "scheduler.json"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path]), "OMP_NUM_THREADS": "1"}
    common = ["--scheduler-file", file, "--host", "127.0.0.1", "--no-dashboard"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    started = []

    def start(kind: str, *options: object) -> None:
        command = [sys.executable, "-m", "dask", kind, *common, *options]
        started.append(subprocess.Popen(command, cwd=tmp_path, env=environment, **quiet))

    try:
        start("scheduler", "--port", "0")
        wait_until(file.is_file, "the scheduler's start")
        for k in range(2):
            start("worker", "--nthreads", "1", "--no-nanny", "--local-directory", tmp_path / f"w{k}")
        yield started
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def killing(process: subprocess.Popen, store: Store, results: int) -> Iterator[Executor]:
    """An executor of the cluster, a process of which is killed when the store has so many results."""
    executor = make_executor(f"dask:{store.root.with_name('scheduler.json')}")
    executor.client.wait_for_workers(2, timeout=PATIENCE)

    def kill() -> None:
        wait_until(lambda: len(list(store)) >= results, "the results")
        process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        yield executor
    finally:
        killer.join()
        executor.shutdown()


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_models_and_corpora_handed_over_travel_to_dask_workers(tmp_path: Path) -> None:
    mine = load_corpus("planted", limit=30)
    fit = small_fit().replace(data=DataConfig(corpus="mine"))
    runs = [MeasureSpec.of("grid_tasks:accuracy", fit, split=split) for split in ("test", "dev")]
    options = {"executor": f"dask:{tmp_path / 'scheduler.json'}", "corpora": {"mine": mine}}
    result = run_grid(runs[:1], store=tmp_path / "store", **options).complete()
    more = run_grid(runs, store=tmp_path / "store", **options).complete()  # the model goes to a worker, as bytes
    assert (result.models, more.cached, more.computed, more.models) == (1, 1, 1, 0)
    here = run_grid(runs, store=tmp_path / "here", corpora={"mine": mine}).complete()
    pd.testing.assert_frame_equal(more.frame(), here.frame(), check_exact=True)


@pytest.mark.slow
def test_a_dask_cluster_that_loses_a_worker_gives_the_same_frames(store: Store, cluster, executions) -> None:
    runs = example_runs(4)
    with killing(cluster[1], store, 3) as executor:
        result = run_grid(runs, store=store, executor=executor).complete()
    assert cluster[1].wait() == -signal.SIGKILL
    assert cluster[2].poll() is None
    assert result.computed == len(runs)
    done = executions()
    assert set(done) == {f"accuracy {k}" for k in range(4)} | {str(k) for k in range(8)}
    assert done.total() - len(done) <= 2  # what the killed worker was busy with, and had not handed over yet
    whole = run_grid(runs, store=store.root.with_name("whole")).complete()
    for name in ("accuracy", "square"):
        pd.testing.assert_frame_equal(result.frame(name), whole.frame(name), check_exact=True)


@pytest.mark.slow
def test_a_scheduler_that_dies_keeps_what_is_finished(store: Store, cluster) -> None:
    runs = example_runs(4)
    with killing(cluster[0], store, 2) as executor, pytest.raises(AttnlibError, match="No Dask scheduler answers"):
        run_grid(runs, store=store, executor=executor).complete()
    kept = len(list(store))
    assert kept >= 2
    resumed = run_grid(runs, store=store).complete()
    assert resumed.cached + resumed.computed == len(runs)
    assert resumed.computed + resumed.models == len(runs) + 4 - kept
