"""run_grid: nothing twice, failures kept apart, stops and shared stores."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

import attnlib.store.grid
import attnlib.store.scheduler
from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.store.codehash import code_hash
from attnlib.store.entries import Store, StoreError
from attnlib.store.executors import SerialExecutor
from attnlib.store.forecast import dry_run
from attnlib.store.grid import GridFailed, run_grid
from attnlib.store.keys import key_of
from attnlib.store.scheduler import GridInterrupted
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec
from attnlib.store.tasks import Assignment, execute
from attnlib.utils.errors import ConfigError, DataError

TESTS = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _tasks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(TESTS))
    monkeypatch.setenv("GRID_LOG", str(tmp_path / "log"))
    for name in ("ATTNLIB_EXECUTOR", "ATTNLIB_JOBS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def executions(tmp_path: Path) -> Counter[str]:
    path = tmp_path / "log"
    return Counter(path.read_text().split("\n")[:-1]) if path.exists() else Counter()


def squares(*xs: int, task: str = "square", **params) -> list:
    return [MeasureSpec.of(f"grid_tasks:{task}", x=x, label={"seed": x}, **params) for x in xs]


def small_fit(seed: int = 0, **changes) -> FitSpec:
    fit = FitSpec(
        data=DataConfig(corpus="planted", limit=40),
        model=ModelConfig(encoder="mlp", hidden_size=8, embedding_size=8),
        train=TrainConfig(epochs=1),
        seed=seed,
    )
    return fit.replace(**changes)


def test_a_grid_gives_one_tidy_frame(store: Store) -> None:
    result = run_grid(squares(1, 2), store=store)
    assert result.frame("square").to_dict("list") == {
        "seed": [1, 1, 1, 2, 2, 2],
        "instance": [0, 1, 2, 0, 1, 2],
        "value": [1 + k / 7 for k in range(3)] + [4 + k / 7 for k in range(3)],
    }
    assert result.summary == "2 runs: 0 from the store, 2 computed."
    assert list(result.failures.columns) == ["run", "key", "attempts", "error", "message", "traceback"]


def test_only_what_is_missing_is_computed(store: Store, tmp_path: Path) -> None:
    run_grid(squares(1, 2), store=store)
    result = run_grid(squares(1, 2, 3, 3), store=store)
    assert (result.cached, result.computed, result.models) == (2, 1, 0)
    assert executions(tmp_path) == {"1": 1, "2": 1, "3": 1}


def test_one_result_under_two_labels_is_two_parts_of_the_frame(store: Store, tmp_path: Path) -> None:
    runs = [MeasureSpec.of("grid_tasks:square", x=1, label={"variant": name}) for name in ("a", "b")]
    frame = run_grid(runs, store=store).frame()
    assert frame["variant"].tolist() == ["a"] * 3 + ["b"] * 3
    assert executions(tmp_path) == {"1": 1}


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


def test_a_warm_start_waits_for_its_model(store: Store) -> None:
    base = small_fit()
    warm = small_fit(1, warm_start=base, train=TrainConfig(epochs=0))
    result = run_grid([MeasureSpec.of("grid_tasks:agreement", warm, base)], store=store).complete()
    assert result.frame()["value"].tolist() == [1.0]  # no epoch of its own: the same model
    assert result.models == 2


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


def test_a_failing_run_is_tried_twice_and_recorded_while_the_rest_goes_on(store: Store, tmp_path: Path) -> None:
    result = run_grid(squares(1, 3, 5, task="fails_on_three"), store=store)
    assert result.frame()["seed"].unique().tolist() == [1, 5]
    assert executions(tmp_path)["3"] == 2
    row = result.failures.loc[0]
    assert row["run"] == "grid_tasks:fails_on_three 3"
    assert (row["attempts"], row["error"], row["message"]) == (2, "ValueError", "three is not allowed <here>")
    assert "in fails_on_three" in row["traceback"]
    record = store.failures()[row["key"]]
    assert len(record["attempts"]) == 2
    assert "1 failed" in result.summary
    with pytest.raises(GridFailed, match="three is not allowed"):
        result.complete()
    assert run_grid(squares(3, task="fails_on_three"), store=store).failures["key"].tolist() == [row["key"]]


def test_a_second_attempt_may_succeed(store: Store, tmp_path: Path) -> None:
    result = run_grid(squares(1, task="fails_once", folder=str(tmp_path)), store=store).complete()
    assert result.computed == 1
    assert store.failures() == {}


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


def test_where_every_run_failed_the_reason_is_told(store: Store) -> None:
    result = run_grid(squares(3, task="fails_on_three"), store=store)
    with pytest.raises(GridFailed, match=r"First: .*ValueError: three is not allowed"):
        result.frame("fails_on_three")


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


def test_a_task_must_return_frames(store: Store) -> None:
    assert "must return a DataFrame" in run_grid(squares(1, task="no_frame"), store=store).failures["message"][0]


def test_a_worker_that_dies_costs_its_run_one_attempt(store: Store, tmp_path: Path) -> None:
    runs = [*squares(1, 2, 4, task="dies_on_two"), *squares(7, task="dies_once", folder=str(tmp_path))]
    result = run_grid(runs, store=store, executor="local", jobs=2, devices=("cpu",))
    assert sorted(result.frame("dies_on_two")["seed"].unique()) == [1, 4]
    assert result.frame("dies_once")["value"][0] == 49
    assert result.failures[["run", "error", "attempts"]].to_numpy().tolist() == [
        ["grid_tasks:dies_on_two 2", "WorkerDied", 2]
    ]


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(store: Store, tmp_path: Path) -> None:
    runs = [*squares(1), *squares(2, task="interrupted"), *squares(3)]
    with pytest.raises(
        GridInterrupted, match=r"1 runs are finished and kept in .*, 2 are left\. Start the same call"
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
            run_grid(runs, store={str(store.root)!r}, executor="local", jobs=2, devices=("cpu",))
        except KeyboardInterrupt as stop:
            print(stop)
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=180)
    assert "0 runs are finished" in done.stdout
    assert "4 are left" in done.stdout
    assert done.stderr == ""


def test_vectors_that_are_not_there_are_refused_before_anything_is_trained(store: Store) -> None:
    fit = small_fit()
    typo = fit.replace(model=fit.model.replace(vectors="glov"))
    with pytest.raises(DataError, match=r"no vectors 'glov'\. Use 'none', 'glove', or the path"):
        run_grid(
            [MeasureSpec.of("grid_tasks:square", x=1), MeasureSpec.of("grid_tasks:accuracy", typo)], store=store
        )
    assert list(store) == []
    assert "no vectors 'glov'" in str(dry_run([MeasureSpec.of("grid_tasks:accuracy", typo)], store=store))


def test_a_run_inside_a_run_is_refused(store: Store) -> None:
    result = run_grid([MeasureSpec.of("grid_tasks:nested", folder=str(store.root))], store=store)
    assert "A run was started inside a run" in result.failures["message"][0]


def test_two_processes_share_a_grid(store: Store, tmp_path: Path) -> None:
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
    assert executions(tmp_path) == {str(x): 1 for x in range(12)}
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
        with pytest.raises(StoreError, match=r"is full.*are needed.*Finished runs are kept"):
            run_grid(squares(1, 2), store=store)
    result = run_grid(squares(1, 2), store=store)
    assert (result.cached, result.computed) == (1, 1)


def test_an_executor_of_the_callers_stays_open(store: Store) -> None:
    with SerialExecutor() as pool:
        run_grid(squares(1), store=store, executor=pool)
        assert pool.submit(abs, -2).result() == 2


def test_notebooks_follow_the_command_line(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATTNLIB_EXECUTOR", "local")
    monkeypatch.setenv("ATTNLIB_JOBS", "1")
    frame = run_grid([MeasureSpec.of("grid_tasks:threads")], store=store, devices=("cpu",)).frame()
    assert frame["pid"][0] != os.getpid()
    monkeypatch.setenv("ATTNLIB_EXECUTOR", "serial")
    monkeypatch.setenv("ATTNLIB_JOBS", "2")
    frame = run_grid([MeasureSpec.of("grid_tasks:threads")], store=store.root.with_name("other")).frame()
    assert frame["pid"][0] == os.getpid()
    assert frame["threads"][0] == 1  # results must not depend on where they were computed


def test_gpus_are_shared_by_what_earlier_runs_needed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.put("ab" * 32, {"environment.json": b'{"peak_gpu_memory": 1000000}', "spec.json": b"{}"})
    asked = {}

    def watched(name, **options):
        asked.update(options, name=name)
        return SerialExecutor()

    monkeypatch.setattr(attnlib.store.grid, "make_executor", watched)
    monkeypatch.setattr(attnlib.store.grid, "find_devices", lambda: ["cuda:0", "cuda:1"])
    run_grid(squares(1), store=store, executor="local").complete()
    assert asked == {"name": "local", "jobs": None, "devices": ["cuda:0", "cuda:1"], "memory_per_run": 1_100_000}


def test_code_of_the_worker_must_be_the_drivers(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attnlib.store.scheduler, "code_hash", lambda task: "0" * 64)
    result = run_grid(squares(1), store=store)
    assert "code for grid_tasks:square differs" in result.failures["message"][0]
    assert result.failures["attempts"][0] == 1, "it would differ again"


class Elsewhere(SerialExecutor):
    """A worker on whose machine `file` holds something else."""

    shared_disk = False

    def __init__(self, file: Path, content: str | None) -> None:
        self.file, self.content = file, content

    def submit(self, fn, /, *args, **kwargs):
        before = self.file.read_text()
        self.file.unlink()
        if self.content is not None:
            self.file.write_text(self.content)
        try:
            return super().submit(fn, *args, **kwargs)
        finally:
            self.file.write_text(before)


VECTORS = "the 1 0 0 0 0 0 0 0\nof 0 1 0 0 0 0 0 0\n"


@pytest.mark.parametrize(("content", "said"), [(VECTORS.replace("1", "3"), "something else"), (None, "not there")])
@pytest.mark.parametrize("option", ["vectors", "pretrained"])
def test_files_of_the_worker_must_be_the_drivers(
    store: Store, tmp_path: Path, option: str, content: str | None, said: str
) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    file = folder / "config.json"
    file.write_text(VECTORS)
    model = {"vectors": str(file)} if option == "vectors" else {"encoder": "bert", "pretrained": str(folder)}
    fit = small_fit()
    fit = fit.replace(model=fit.model.replace(**model))
    result = run_grid([MeasureSpec.of("grid_tasks:accuracy", fit)], store=store, executor=Elsewhere(file, content))
    row = result.failures.set_index("error").loc["WorkerDiffers"]
    assert f"{option} '{fit.model.model_dump()[option]}'" in row["message"]
    assert said in row["message"] or option == "pretrained", "a folder without the file is another folder"
    assert row["attempts"] == 1
    assert list(store) == []


def test_the_same_files_elsewhere_will_do(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(VECTORS)
    fit = small_fit()
    fit = fit.replace(model=fit.model.replace(vectors=str(file)))
    assert run_grid([fit], store=store, executor=Elsewhere(file, VECTORS)).complete().computed == 1


def test_a_table_that_differs_on_the_worker_is_sent(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    text = "text,label\n" + "".join(f"good film {k},yes\nbad film {k},no\n" for k in range(40))
    file.write_text(text)
    data = DataConfig(corpus=str(file))
    run = small_fit().replace(data=data)
    corpora = Corpora()
    job = Assignment(
        runs=((key_of(run, corpora), run),),
        fits={},
        code={run.task: code_hash(run.task)},
        data={data.digest: corpora[data].fingerprint},
        models={},
    )
    file.write_text(text.replace("good", "fine"))
    (outcome,) = execute(job)
    assert outcome.needs == corpora[data].fingerprint
    assert not outcome.files


def test_the_progress_line_counts(store: Store, monkeypatch: pytest.MonkeyPatch, capsys) -> None:
    run_grid(squares(1), store=store)
    monkeypatch.setenv("ATTNLIB_PROGRESS", "1")
    monkeypatch.setattr("attnlib.utils.progress.DELAY", 0.0)
    run_grid(squares(1, 2, 3, task="fails_on_three") + squares(1), store=store, title="demo")
    shown = capsys.readouterr().err
    assert "demo" in shown
    assert "done 2, cached 1, failed 0" in shown
    monkeypatch.setenv("ATTNLIB_PROGRESS", "0")
    run_grid(squares(8), store=store)
    assert capsys.readouterr().err == ""


def test_an_entry_says_how_it_was_made(store: Store) -> None:
    entry = run_grid([small_fit()], store=store).complete().entry(small_fit())
    assert entry.fitted().seed == 0
    assert entry.environment["tokens"] > 0
    assert entry.environment["threads"] == 1
    assert entry.spec["kind"] == "fit"


@pytest.mark.parametrize("task", ["refused", "unusable"])
def test_an_error_that_will_come_again_is_not_tried_twice(store: Store, tmp_path: Path, task: str) -> None:
    result = run_grid(squares(4, task=task), store=store)
    assert executions(tmp_path) == {"4": 1}
    assert result.failures["attempts"].tolist() == [1]
    assert result.failures["message"].tolist() == ["four cannot be measured"]


def test_models_are_at_hand_after_a_grid_was_answered_from_the_store(store: Store) -> None:
    run = MeasureSpec.of("grid_tasks:accuracy", small_fit())
    first = run_grid([run], store=store).fitted(small_fit())
    again = run_grid([run], store=store)
    assert (again.cached, again.computed, again.models) == (1, 0, 0)
    assert again.fitted(small_fit()) == first
    with pytest.raises(GridFailed, match="There is no result"):
        again.fitted(small_fit(seed=99))
