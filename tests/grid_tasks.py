"""Tasks for the tests of grids: quick, importable by worker processes, and counted in a log file."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pandas as pd

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.store.specs import FitSpec, MeasureSpec
from attnlib.training.fit import fit
from attnlib.utils.errors import ConfigError, DataError


def small_fit(seed: int = 0, **changes) -> FitSpec:
    """A model trained in a moment."""
    model = ModelConfig(encoder="mlp", hidden_size=8, embedding_size=8)
    made = FitSpec(data=DataConfig(corpus="planted", limit=60), model=model, train=TrainConfig(epochs=1), seed=seed)
    return made.replace(**changes)


def squares(*xs: int, task: str = "square", **params) -> list[MeasureSpec]:
    """One quick run for every x."""
    return [MeasureSpec.of(f"grid_tasks:{task}", x=x, label={"seed": x}, **params) for x in xs]


def example_runs(n: int) -> list:
    """n models, each measured, and 2n slow tasks, so that whoever kills something hits something."""
    trained = [MeasureSpec.of("grid_tasks:accuracy", small_fit(seed)) for seed in range(n)]
    return [*trained, *(run for x in range(2 * n) for run in squares(x, pause=0.15))]


def log(line: object) -> None:
    """Append a line to the log that counts executions; one write, so that processes do not mix."""
    if path := os.environ.get("GRID_LOG"):
        with Path(path).open("a") as file:
            file.write(f"{line}\n")


def square(x: int, pause: float = 0.0) -> pd.DataFrame:
    log(x)
    time.sleep(pause)
    return pd.DataFrame({"instance": range(3), "value": [x * x + k / 7 for k in range(3)]})


def fails_on_three(x: int) -> pd.DataFrame:
    log(x)
    if x == 3:
        raise ValueError("three is not allowed <here>")
    return square(x)


def refused(x: int) -> pd.DataFrame:
    log(x)
    raise ConfigError("four cannot be measured")


def unusable(x: int) -> pd.DataFrame:
    log(x)
    raise DataError("four cannot be measured")


def dies_on_two(x: int) -> pd.DataFrame:
    if x == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return square(x)


def dies_once(x: int, folder: str) -> pd.DataFrame:
    if not (mark := Path(folder) / f"{x}").exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return square(x)


def several(x: int) -> dict[str, pd.DataFrame]:
    return {"left": square(x), "right": square(x).assign(value=0.0)}


def no_frame(x: int) -> int:
    return x


def interrupted(x: int) -> pd.DataFrame:
    if x == 2:
        raise KeyboardInterrupt
    return square(x)


def accuracy(fitted, corpus, split: str = "test") -> pd.DataFrame:
    log(f"accuracy {fitted.seed}")
    scores = fitted.evaluate(getattr(corpus, split))
    return pd.DataFrame({"metric": ["accuracy", "loss"], "value": [scores["accuracy"], scores["loss"]]})


def agreement(first, second, corpus) -> pd.DataFrame:
    same = first.logits(corpus.test).argmax(1) == second.logits(corpus.test).argmax(1)
    return pd.DataFrame({"value": [float(same.mean())]})


def texts(corpus) -> pd.DataFrame:
    return pd.DataFrame({"texts": [len(corpus.train)], "name": [corpus.name]})


def threads() -> pd.DataFrame:
    import torch

    shown = {name: os.environ.get(name, "unset") for name in ("ATTNLIB_DEVICE", "CUDA_VISIBLE_DEVICES")}
    return pd.DataFrame([{"threads": torch.get_num_threads(), "pid": os.getpid(), **shown}])


def fit_flipped(corpus, model, train, seed):
    """A trainer of a study's own: learns the opposite."""
    flipped = tuple(replace(example, label=1 - example.label) for example in corpus.train)
    return fit(replace(corpus, train=flipped), model, train.replace(epochs=4, learning_rate=0.05), seed)


def fit_fails(corpus, model, train, seed):
    raise RuntimeError("no training today")


def by_initial(fitted, corpus, initial: str) -> pd.DataFrame:
    """Uses a ranking that it finds by itself."""
    from attnlib.erasure.flips import erasure_curves
    from attnlib.rankings.scores import METHODS

    name = next(name for name in METHODS if name.startswith(initial))
    return erasure_curves(fitted, corpus.test, name)
