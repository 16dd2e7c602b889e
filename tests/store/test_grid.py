"""run_grid: what is asked for comes out, nothing is computed twice, and failures, stops and kills cost no more."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attnlib.config import DataConfig, TrainConfig
from attnlib.store.entries import Store, StoreError
from attnlib.store.grid import GridFailed, joined, outlook, run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.utils.errors import ConfigError, DataError
from tests.grid_tasks import small_fit, squares

TESTS = Path(__file__).parents[1]


def test_a_grid_gives_one_tidy_frame(store: Store) -> None:
    result = run_grid(squares(1, 2), store=store)
    assert result.frame("square").to_dict("list") == {
        "seed": [1, 1, 1, 2, 2, 2],
        "instance": [0, 1, 2, 0, 1, 2],
        "value": [1 + k / 7 for k in range(3)] + [4 + k / 7 for k in range(3)],
    }
    assert result.summary == "2 runs: 0 from the store, 2 computed."
    assert list(result.failures.columns) == ["run", "key", "attempts", "error", "message", "traceback"]


def test_only_what_is_missing_is_computed(store: Store, executions) -> None:
    run_grid(squares(1, 2), store=store)
    result = run_grid(squares(1, 2, 3, 3), store=store)
    assert (result.cached, result.computed, result.models) == (2, 1, 0)
    assert executions() == {"1": 1, "2": 1, "3": 1}


def test_a_model_is_trained_once_for_all_who_ask(store: Store, tmp_path: Path) -> None:
    fit = small_fit()
    first = run_grid([MeasureSpec.of("grid_tasks:accuracy", fit)], store=store).complete()
    assert (first.computed, first.models) == (1, 1)
    other = small_fit(label={"study": "another"})
    second = run_grid(
        [
            MeasureSpec.of("grid_tasks:accuracy", other, split="dev"),
            MeasureSpec.of("grid_tasks:agreement", other, small_fit(1)),
            other,
        ],
        store=store,
    ).complete()
    assert (second.cached, second.computed, second.models) == (1, 2, 1)
    assert len(list(store)) == 2 + 3
    assert second.fitted(fit.replace(label={"study": "another"})).seed == 0
    assert second.frame("agreement")["value"].between(0, 1).all()
    assert len(second.frame("history")) == 1


def test_a_study_may_bring_its_own_trainer(store: Store) -> None:
    fit = small_fit(trainer="grid_tasks:fit_flipped")
    result = run_grid([MeasureSpec.of("grid_tasks:agreement", fit, small_fit())], store=store).complete()
    assert result.keys[fit] != result.keys[small_fit()]
    assert result.frame()["value"][0] < 1


def test_several_frames(store: Store) -> None:
    result = run_grid(squares(2, task="several"), store=store)
    assert result.frame("left")["value"][0] == 4
    assert result.frame("right")["value"].tolist() == [0, 0, 0]
    with pytest.raises(GridFailed, match=r"Say which frame; these runs hold \['left', 'right'\]"):
        result.frame()
    assert result.frame("middle", optional=True).empty
    with pytest.raises(GridFailed, match="No run holds a frame 'middle'"):
        result.frame("middle")


def test_two_corpora_of_one_name_are_refused_before_training(store: Store, tmp_path: Path) -> None:
    runs = []
    for folder in ("a", "b"):
        file = tmp_path / folder / "reviews.csv"
        file.parent.mkdir()
        file.write_text("text,label\n" + "".join(f"word{k} is {folder},{k % 2}\n" for k in range(40)))
        runs.append(MeasureSpec.of("grid_tasks:accuracy", small_fit(data=DataConfig(corpus=str(file)))))
    with pytest.raises(ConfigError, match=r"a/reviews.csv' and .*b/reviews.csv' are both called 'reviews'.*Rename"):
        run_grid(runs, store=store)
    assert list(store) == []
    apart = [run.replace(label={"dataset": run.corpus.corpus}) for run in runs]
    assert run_grid(apart, store=store).complete().frame("accuracy")["dataset"].nunique() == 2


def test_vectors_that_are_not_there_are_refused_before_anything_is_trained(store: Store) -> None:
    fit = small_fit()
    typo = fit.replace(model=fit.model.replace(vectors="glov"))
    with pytest.raises(DataError, match=r"no vectors 'glov'\. Use 'none', 'glove', 'word2vec', or the path"):
        run_grid(
            [MeasureSpec.of("grid_tasks:square", x=1), MeasureSpec.of("grid_tasks:accuracy", typo)], store=store
        )
    assert list(store) == []


def test_notebooks_follow_the_command_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNLIB_EXECUTOR", "local")
    monkeypatch.setenv("ATTNLIB_JOBS", "1")
    frame = run_grid([MeasureSpec.of("grid_tasks:threads")], store=store).frame()
    assert frame["pid"][0] != os.getpid()
    monkeypatch.setenv("ATTNLIB_EXECUTOR", "serial")
    monkeypatch.setenv("ATTNLIB_JOBS", "2")
    frame = run_grid([MeasureSpec.of("grid_tasks:threads")], store=store.root.with_name("other")).frame()
    assert frame["pid"][0] == os.getpid()
    assert frame["threads"][0] == 1  # results must not depend on where they were computed


def test_models_are_at_hand_after_a_grid_was_answered_from_the_store(store: Store) -> None:
    run = MeasureSpec.of("grid_tasks:accuracy", small_fit())
    first = run_grid([run], store=store).fitted(small_fit())
    again = run_grid([run], store=store)
    assert (again.cached, again.computed, again.models) == (1, 0, 0)
    assert again.fitted(small_fit()) == first
    with pytest.raises(GridFailed, match="There is no result"):
        again.fitted(small_fit(seed=99))


def test_the_outlook_counts_and_scales_what_the_others_took(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    done, left = (MeasureSpec.of("grid_tasks:accuracy", small_fit(seed)) for seed in (0, 1))
    store.put("ab" * 32, {"spec.json": b'{"task": "of an earlier layout"}', "environment.json": b"{}"})
    said = outlook([done, left], store=store)
    assert said == "4 runs: 0 in the store, 4 to compute; none like 4 of them is known."
    result = run_grid([done], store=store).complete()
    entries = [result.entry(done), result.entry(small_fit(0))]
    specs = [(entry, entry.spec, {"seconds": seconds}) for entry, seconds in zip(entries, (7, 5), strict=True)]
    monkeypatch.setattr(Store, "described", lambda _: iter(specs))
    said = outlook([done, left, left], store=store)
    assert said == "4 runs: 2 in the store, 2 to compute, about 12 s by what others took."
    assert "about 6 s with 2 at once" in outlook([left], store=store, jobs=2)
    elsewhere = left.replace(data=DataConfig(corpus="not_at_hand"))
    assert "2 to compute" in outlook([elsewhere], store=store), "what no run has read is not loaded"


def test_frames_joined_at_once_are_those_joined_one_by_one():
    rng = np.random.default_rng(0)

    def made(n: int, **other) -> pd.DataFrame:
        words = pd.Series([f"t{k}" for k in range(n)], dtype="str")
        some = pd.Series([None if k % 3 else k for k in range(n)], dtype="Int64")
        return pd.DataFrame(
            {"instance": words, "value": rng.random(n), "right": rng.random(n) < 0.5, "removed": some, **other}
        )

    frames = [made(5), made(3).iloc[1:], made(0), made(4, lam=0.5), made(2, value=[1, 2]), made(6), made(1)]
    told = [{"dataset": "d", "lam": 1 if k % 2 else 0.5, "seed": k, "none": None} for k in range(len(frames))]
    told[-1] = {"variant": "lin", **told[-1]}

    slow = []
    for columns, frame in zip(told, frames, strict=True):
        new = {name: value for name, value in columns.items() if name not in frame}
        slow.append(frame.copy())
        for i, (name, value) in enumerate(new.items()):
            slow[-1].insert(i, name, value)
    found = joined([*zip(told, frames, strict=True)])
    expected = pd.concat(slow, ignore_index=True)
    pd.testing.assert_frame_equal(found, expected, check_like=True, check_dtype=False)


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
    alone = run_grid(squares(3, task="fails_on_three"), store=store)
    assert alone.failures["key"].tolist() == [row["key"]]
    with pytest.raises(GridFailed, match=r"First: .*ValueError: three is not allowed"):
        alone.frame("fails_on_three")


def test_a_failing_model_takes_its_measures_along_and_no_others(store: Store) -> None:
    """An adversary needs its base, and what compares the two needs both."""
    bad = small_fit(5, trainer="grid_tasks:fit_fails")
    lost = MeasureSpec.of("grid_tasks:agreement", bad, small_fit(6, warm_start=bad))
    runs = [MeasureSpec.of("grid_tasks:accuracy", bad), lost, *squares(1)]
    result = run_grid([*runs, MeasureSpec.of("grid_tasks:accuracy", small_fit())], store=store)
    assert result.computed == 2
    assert sorted(result.failures["error"]) == ["NoModel"] * 3 + ["RuntimeError"]
    assert result.failures["message"].str.contains("no training today").all()


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
