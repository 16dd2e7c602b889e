"""Worker processes: calls go there and come back; a worker may die, and so may its driver."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import grid_tasks
import pytest

from attnlib.store.processes import LocalExecutor, WorkerDied, turns
from tests.patience import PATIENCE, alive, wait_until


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalExecutor]:
    with LocalExecutor([{}, {}]) as pool:
        yield pool


def test_calls_go_to_processes_and_come_back(pool: LocalExecutor) -> None:
    assert list(pool.map(divmod, [7, 8, 9], [2, 3, 4])) == [(3, 1), (2, 2), (2, 1)]
    pids = {f.result(PATIENCE) for f in [pool.submit(os.getpid) for _ in range(8)]}
    assert os.getpid() not in pids
    assert len(pids) <= 2


def test_errors_come_back_as_themselves(pool: LocalExecutor) -> None:
    with pytest.raises(ZeroDivisionError):
        pool.submit(divmod, 1, 0).result(PATIENCE)
    with pytest.raises(TypeError, match="pickle"):
        pool.submit(threading.Lock).result(PATIENCE)


def test_what_a_call_prints_does_not_disturb(pool: LocalExecutor) -> None:
    assert pool.submit(os.write, 1, b"noise\n").result(PATIENCE) == 6
    assert pool.submit(print, "noise").result(PATIENCE) is None
    assert pool.submit(abs, -1).result(PATIENCE) == 1


def test_a_dead_worker_fails_its_own_call_alone() -> None:
    with LocalExecutor([{}, {}]) as pool:
        doomed = pool.submit(os.kill, 0, signal.SIGKILL)  # its own process group, which is its own session
        fine = [pool.submit(abs, -k) for k in range(6)]
        with pytest.raises(WorkerDied, match="killed"):
            doomed.result(PATIENCE)
        assert [f.result(PATIENCE) for f in fine] == list(range(6))
        with pytest.raises(WorkerDied, match="status 3"):
            pool.submit(os._exit, 3).result(PATIENCE)
    with pytest.raises(RuntimeError, match="shutdown"):
        pool.submit(abs, 1)


def test_kill_ends_calls_under_way() -> None:
    pool = LocalExecutor([{}])
    pid = pool.submit(os.getpid).result(PATIENCE)
    busy, waiting = pool.submit(time.sleep, 600), pool.submit(abs, 1)
    wait_until(busy.running, "the call's start")
    pool.kill()
    with pytest.raises(WorkerDied):
        busy.result(PATIENCE)
    assert waiting.cancelled()
    wait_until(lambda: not alive(pid), "the end of the worker")


def test_an_executor_may_be_shut_down_twice() -> None:
    pool = LocalExecutor([{}, {}])
    assert pool.submit(abs, -1).result(PATIENCE) == 1
    pool.shutdown(wait=False)
    pool.shutdown(cancel_futures=True)
    pool.kill()


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks at /proc")
def test_workers_end_with_a_killed_driver() -> None:
    program = """
        import os, time
        from attnlib.store.processes import LocalExecutor
        pool = LocalExecutor([{}])
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600)
        time.sleep(600)
    """
    with subprocess.Popen([sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE) as driver:
        pid = int(driver.stdout.readline())
        driver.kill()
    wait_until(lambda: not alive(pid), "the end of the worker")


def test_a_call_may_speak_before_it_returns(tmp_path: Path) -> None:
    said: list[dict] = []
    log = tmp_path / "log.txt"
    with LocalExecutor([{}], heard=said.append, log=log) as pool:
        assert pool.submit(grid_tasks.counts, 3).result(PATIENCE) == 3
        assert pool.submit(print, "noise").result(PATIENCE) is None
    assert said == [{"done": 0}, {"done": 1}, {"done": 2}]
    assert grid_tasks.counts(2) == 2, "silent outside a worker"
    assert "noise" in log.read_text()


def test_an_interrupted_call_may_still_return(tmp_path: Path) -> None:
    pool = LocalExecutor([{}])
    call, waiting = pool.submit(grid_tasks.tidies, str(tmp_path)), pool.submit(abs, 1)
    wait_until((tmp_path / "waiting").exists, "the call's start")
    pool.kill(grace=PATIENCE)
    assert call.result(0) == "tidied"
    assert waiting.cancelled()


def test_an_error_like_that_of_a_pipe_is_the_calls_own(pool: LocalExecutor) -> None:
    with pytest.raises(ConnectionResetError):
        pool.submit(grid_tasks.loses_connection).result(PATIENCE)
    assert pool.submit(abs, -1).result(PATIENCE) == 1


def test_executors_that_share_turns_make_no_more_calls_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in turns(tmp_path, 1).items():
        monkeypatch.setenv(name, value)
    with LocalExecutor([{}, {}]) as one, LocalExecutor([{}, {}]) as other:
        calls = [pool.submit(grid_tasks.alone, tmp_path) for _ in range(4) for pool in (one, other)]
        assert [call.result(PATIENCE) for call in calls] == [None] * 8


def test_who_waits_for_a_turn_can_be_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in turns(tmp_path, 1).items():
        monkeypatch.setenv(name, value)
    busy, waiting = LocalExecutor([{}]), LocalExecutor([{}])
    first = busy.submit(time.sleep, PATIENCE)
    wait_until(lambda: first.running() and busy._living, "the first call")
    second = waiting.submit(os.getpid)
    waiting.kill()
    with pytest.raises(WorkerDied):
        second.result(PATIENCE)
    busy.kill()
