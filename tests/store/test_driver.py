"""The scheduler: nothing twice, failures kept apart, stops and shared stores."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from attnlib.config import DataConfig, TrainConfig
from attnlib.store.entries import Store, StoreError
from attnlib.store.grid import GridFailed, run_grid
from attnlib.store.specs import MeasureSpec
from tests.grid_tasks import small_fit, squares

TESTS = Path(__file__).parents[1]


def test_a_warm_start_waits_for_its_model(store: Store) -> None:
    base = small_fit()
    warm = small_fit(1, warm_start=base, train=TrainConfig(epochs=0))
    result = run_grid([MeasureSpec.of("grid_tasks:agreement", warm, base)], store=store).complete()
    assert result.frame()["value"].tolist() == [1.0]  # no epoch of its own: the same model
    assert result.models == 2


def test_a_failing_run_is_tried_twice_and_recorded_while_the_rest_goes_on(store: Store, executions) -> None:
    result = run_grid(squares(1, 3, 5, task="fails_on_three"), store=store)
    assert result.frame()["seed"].unique().tolist() == [1, 5]
    assert executions()["3"] == 2
    row = result.failures.loc[0]
    assert row["run"] == "grid_tasks:fails_on_three 3"
    assert (row["attempts"], row["error"], row["message"]) == (2, "ValueError", "three is not allowed <here>")
    assert "in fails_on_three" in row["traceback"]
    assert "1 failed" in result.summary
    with pytest.raises(GridFailed, match="three is not allowed"):
        result.complete()
    assert run_grid(squares(3, task="fails_on_three"), store=store).failures["key"].tolist() == [row["key"]]


def test_a_second_attempt_may_succeed(store: Store, tmp_path: Path) -> None:
    result = run_grid(squares(1, task="fails_once", folder=str(tmp_path)), store=store).complete()
    assert result.computed == 1


def test_a_failing_model_takes_its_measures_along_and_no_others(store: Store) -> None:
    bad = small_fit(5, trainer="grid_tasks:fit_fails")
    runs = [
        MeasureSpec.of("grid_tasks:accuracy", bad),
        *squares(1),
        MeasureSpec.of("grid_tasks:accuracy", small_fit()),
    ]
    result = run_grid(runs, store=store)
    assert result.computed == 2
    assert result.failures["error"].tolist() == ["RuntimeError", "NoModel"]
    assert "no training today" in result.failures["message"][1]


def test_a_run_that_needs_a_failed_model_twice_fails_once(store: Store) -> None:
    """An adversary needs its base, and what compares the two needs both."""
    base = small_fit(5, trainer="grid_tasks:fit_fails")
    other = small_fit(6, warm_start=base)
    result = run_grid([MeasureSpec.of("grid_tasks:agreement", base, other), *squares(1)], store=store)
    assert result.computed == 1
    assert result.failures["error"].tolist() == ["RuntimeError", "NoModel", "NoModel"]


def test_a_corpus_that_cannot_be_loaded_fails_its_runs_alone(store: Store) -> None:
    missing = small_fit(data=DataConfig(corpus="no_such_corpus"))
    result = run_grid([MeasureSpec.of("grid_tasks:accuracy", missing), *squares(1)], store=store)
    assert result.computed == 1
    assert "no_such_corpus" in result.failures["message"][0]


def test_a_worker_that_dies_costs_its_run_one_attempt(store: Store, tmp_path: Path) -> None:
    runs = [*squares(1, 2, 4, task="dies_on_two"), *squares(7, task="dies_once", folder=str(tmp_path))]
    result = run_grid(runs, store=store, executor="local", jobs=2)
    assert sorted(result.frame("dies_on_two")["seed"].unique()) == [1, 4]
    assert result.frame("dies_once")["value"][0] == 49
    assert result.failures[["run", "error", "attempts"]].to_numpy().tolist() == [
        ["grid_tasks:dies_on_two 2", "TerminatedWorkerError", 2]
    ]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(store: Store, tmp_path: Path) -> None:
    runs = [*squares(1), *squares(2, task="interrupted"), *squares(3)]
    with pytest.raises(
        KeyboardInterrupt, match=r"1 runs are finished and kept in .*, 2 are left\. Repeat the same call"
    ):
        run_grid(runs, store=store)
    assert list((store.root / "locks").iterdir()) == []
    result = run_grid([runs[0], runs[2]], store=store)
    assert (result.cached, result.computed) == (1, 1)


def test_ctrl_c_in_a_terminal_ends_the_workers(store: Store, tmp_path: Path) -> None:
    program = f"""
        import os, signal, sys, threading, time
        sys.path.insert(0, {str(TESTS)!r})
        from attnlib.store.grid import run_grid
        from attnlib.store.entries import Store
        from attnlib.store.specs import MeasureSpec
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell may start its background jobs deaf to it
        def press():
            while not os.path.exists(os.environ["GRID_LOG"]):
                time.sleep(0.01)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=press, daemon=True).start()
        runs = [MeasureSpec.of("grid_tasks:square", x=x, pause=600) for x in range(4)]
        try:
            run_grid(runs, store={str(store.root)!r}, executor="local", jobs=2)
        except KeyboardInterrupt as stop:
            print(stop)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    assert "0 runs are finished" in done.stdout
    assert "4 are left" in done.stdout
    assert done.stderr == ""


def test_two_processes_share_a_grid(store: Store, executions) -> None:
    program = f"""
        import sys
        sys.path.insert(0, {str(TESTS)!r})
        from attnlib.store.grid import run_grid
        from attnlib.store.specs import MeasureSpec
        runs = [MeasureSpec.of("grid_tasks:square", x=x, pause=0.1, label={{"seed": x}}) for x in range(12)]
        result = run_grid(runs, store={str(store.root)!r}).complete()
        print(result.cached, result.computed, result.frame()["value"].sum())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=180)[0].split() for process in both]
    assert all(process.returncode == 0 for process in both)
    assert sum(int(computed) for _, computed, _ in said) == 12  # each run in one of them
    assert said[0][2] == said[1][2]
    assert executions() == {str(x): 1 for x in range(12)}
    assert list((store.root / "locks").iterdir()) == []


def test_a_damaged_model_is_trained_again_when_a_measure_needs_it(store: Store) -> None:
    fit = small_fit()
    before = run_grid([MeasureSpec.of("grid_tasks:accuracy", fit)], store=store).complete()
    weights = store.folder(before.keys[fit]) / "model" / "weights.safetensors"
    data = bytearray(weights.read_bytes())
    data[-3] ^= 255
    weights.write_bytes(data)
    with pytest.warns(UserWarning, match="weights.safetensors does not match its checksum"):
        after = run_grid([MeasureSpec.of("grid_tasks:accuracy", fit, split="dev")], store=store).complete()
    assert (after.computed, after.models) == (1, 1)
    after.fitted(fit)


def test_a_full_store_stops_the_grid_and_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    run_grid(squares(1), store=store)

    def no_space(path, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("attnlib.store.entries._write", no_space)
        with pytest.raises(StoreError, match=r"is full.*Finished runs are kept"):
            run_grid(squares(1, 2), store=store)
    result = run_grid(squares(1, 2), store=store)
    assert (result.cached, result.computed) == (1, 1)


@pytest.mark.parametrize("task", ["refused", "unusable"])
def test_an_error_that_will_come_again_is_not_tried_twice(store: Store, task: str, executions) -> None:
    result = run_grid(squares(4, task=task), store=store)
    assert executions() == {"4": 1}
    assert result.failures["attempts"].tolist() == [1]
    assert result.failures["message"].tolist() == ["four cannot be measured"]
