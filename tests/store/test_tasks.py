"""What a worker does with its runs: it refuses what would not be what the driver's key says."""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import attnlib as al
from attnlib.config import DataConfig
from attnlib.store.entries import Store
from attnlib.store.executors import SerialExecutor
from attnlib.store.grid import run_grid
from attnlib.store.specs import MeasureSpec
from attnlib.store.tasks import _corpus
from tests.grid_tasks import small_fit, squares


def test_a_task_must_return_frames(store: Store) -> None:
    assert "must return a DataFrame" in run_grid(squares(1, task="no_frame"), store=store).failures["message"][0]


PUBLIC = ("fraction_to_flip", "top_token_flips", "erasure_curves", "comprehensiveness", "sufficiency", "aopc")


def test_public_functions_of_texts_get_the_test_texts(store: Store) -> None:
    runs = {name: MeasureSpec.of(getattr(al, name), small_fit(), ranking="alpha") for name in PUBLIC}
    result = run_grid(runs.values(), store=store).complete()
    fitted, corpus = result.fitted(small_fit()), result.corpora[small_fit().data]
    for name, run in runs.items():
        here = getattr(al, name)(fitted, corpus.test, "alpha")
        pd.testing.assert_frame_equal(result.entry(run).frame(name), here, check_dtype=False)


class Elsewhere(Executor):
    """A worker on whose machine `file` holds something else."""

    shared_disk, room = False, 1

    def __init__(self, file: Path, content: str | None) -> None:
        self.file, self.content = file, content

    def submit(self, fn, /, *args, **kwargs):
        before = self.file.read_text()
        self.file.unlink()
        if self.content is not None:
            self.file.write_text(self.content)
        try:
            return SerialExecutor().submit(fn, *args, **kwargs)
        finally:
            self.file.write_text(before)


VECTORS = "the 1 0 0 0 0 0 0 0\nof 0 1 0 0 0 0 0 0\n"


@pytest.mark.parametrize("content", [VECTORS.replace("1", "3"), None])
@pytest.mark.parametrize("option", ["vectors", "pretrained"])
def test_files_of_the_worker_must_be_the_drivers(
    store: Store, tmp_path: Path, option: str, content: str | None
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
    assert "differ from the driver's: model" in row["message"]
    assert row["attempts"] == 1
    assert list(store) == []


def test_the_same_files_elsewhere_will_do(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "vectors.txt"
    file.write_text(VECTORS)
    fit = small_fit()
    fit = fit.replace(model=fit.model.replace(vectors=str(file)))
    assert run_grid([fit], store=store, executor=Elsewhere(file, VECTORS)).complete().computed == 1


def test_the_same_texts_prepared_in_another_way_are_another_corpus(store: Store) -> None:
    """A worker keeps corpora; that of an earlier run would say how new texts become tokens."""
    one = al.load_corpus("planted", limit=60)
    two = replace(one, preprocessing=one.preprocessing.replace(lower=not one.preprocessing.lower))
    assert one.fingerprint == two.fingerprint
    fits = [small_fit(data=DataConfig(corpus=name), label={"dataset": name}) for name in ("one", "two")]
    result = run_grid(fits, store=store, corpora={"one": one, "two": two}).complete()
    lower = [result.fitted(fit).vectoriser.preprocessing.lower for fit in fits]
    assert lower == [one.preprocessing.lower, two.preprocessing.lower]


def test_a_table_that_differs_on_the_worker_is_refused(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    text = "text,label\n" + "".join(f"good film {k},yes\nbad film {k},no\n" for k in range(40))
    file.write_text(text)
    fit = small_fit(data=DataConfig(corpus=str(file)))
    for there, said in (("good", "differ from the driver's: data"), (None, "cannot be loaded")):
        content = None if there is None else text.replace(there, "fine")
        row = run_grid([fit], store=store, executor=Elsewhere(file, content)).failures.loc[0]
        assert row[["error", "attempts"]].tolist() == ["WorkerDiffers", 1]
        assert said in row["message"]
        assert "bring the same files" in row["message"]
        _corpus.cache_clear()
