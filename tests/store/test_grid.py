"""run_grid: what is asked for comes out, from the store or computed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from attnlib.config import DataConfig
from attnlib.store.entries import Store
from attnlib.store.grid import GridFailed, joined, outlook, run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.utils.errors import ConfigError, DataError
from tests.grid_tasks import small_fit, squares


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
