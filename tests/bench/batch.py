"""Grids on the clock: two workers against one, what the store costs, and how soon a finished grid answers."""

from __future__ import annotations

import math
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.store.grid import run_grid
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.store.tasks import one_thread
from attnlib.utils.paths import ROOT
from tests.bench import Row, bench

TRAININGS, SECONDS = 4, 8.0
DATA = DataConfig(corpus="planted")
MODEL = ModelConfig(encoder="lstm", hidden_size=64)
CACHED = """
    import sys, time
    start = time.perf_counter()
    from attnlib.store.grid import run_grid
    from tests.bench.batch import small_grid
    result = run_grid(small_grid(), store=sys.argv[1])
    assert (result.cached, result.computed) == (24, 0), result.summary
    assert len(result.frame("accuracy")) == 48
    print(time.perf_counter() - start)
"""


@bench("batch")
def batch() -> Iterator[Row]:
    """Wall-clock seconds: run it on a machine that does nothing else."""
    runs = long_grid()
    with tempfile.TemporaryDirectory(prefix="attnlib-bench-") as folder:
        one = run_grid(runs, store=f"{folder}/one", executor="serial").complete()
        two = run_grid(runs, store=f"{folder}/two", executor="local", jobs=2, devices=("cpu",)).complete()
        inside = [one.entry(run).environment["seconds"] for run in runs]
        setting = f"{TRAININGS} trainings of {min(inside):.0f} s and more"
        yield Row("grid, 2 workers", setting, two.seconds, one.seconds, one.seconds / two.seconds, goal=1.6)
        yield Row("grid in a store", setting, one.seconds, sum(inside), sum(inside) / one.seconds, goal=0.98)
        first = run_grid(small_grid(), store=f"{folder}/small").complete()
        command = [sys.executable, "-c", textwrap.dedent(CACHED), f"{folder}/small"]
        told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        again = float(told)
        yield Row("finished grid", "24 runs, fresh process; 5 s asked for", again, 5.0, 5.0 / again, goal=1.0)
        yield Row("finished grid", "24 runs, against computing them", again, first.seconds, first.seconds / again)


def long_grid() -> list[FitSpec]:
    """Trainings with as many epochs as take SECONDS on one core of this machine."""
    from attnlib.training.fit import fit  # here, since a finished grid does not need torch

    with one_thread():
        epochs = fit(load_corpus(DATA), MODEL, TrainConfig(epochs=3, patience=None), seed=0).history["seconds"]
    train = TrainConfig(epochs=math.ceil(1.15 * SECONDS / epochs.min()), patience=None)
    return [FitSpec(data=DATA, model=MODEL, train=train, seed=seed) for seed in range(TRAININGS)]


def small_grid() -> list:
    """24 runs, each a measure of a model of its own."""
    data = DATA.replace(limit=200)
    fits = [
        FitSpec(
            data=data, model=ModelConfig(encoder=encoder, scaling=scaling), train=TrainConfig(epochs=1), seed=seed
        )
        for encoder in ("lstm", "mlp", "cnn")
        for scaling in ("none", "lin")
        for seed in range(4)
    ]
    return [MeasureSpec.of("tests.grid_tasks:accuracy", one) for one in fits]
