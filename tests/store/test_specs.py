"""Runs name themselves, and refuse what their function does not take."""

from __future__ import annotations

import pytest

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, columns
from attnlib.utils.errors import ConfigError

DATA = DataConfig(corpus="planted", limit=20)
MODEL = ModelConfig(encoder="mlp", hidden_size=8)
FIT = FitSpec(data=DATA, model=MODEL, train=TrainConfig(epochs=1), seed=3)
CORPORA = Corpora()


def test_columns_name_the_run() -> None:
    fit = FIT.replace(model=MODEL.replace(scaling="lin"), label={"variant": "Lin-TaSc"})
    assert columns(FIT, CORPORA) == {
        "dataset": "planted",
        "encoder": "mlp",
        "attention": "additive",
        "projection": "softmax",
        "variant": "none",
        "seed": 3,
    }
    found = columns(MeasureSpec(task="grid_tasks:accuracy", fits=(fit,), label={"importance": "alpha"}), CORPORA)
    assert (found["variant"], found["importance"]) == ("Lin-TaSc", "alpha")
    assert columns(MeasureSpec(task="grid_tasks:square", label={"x": 1}), CORPORA) == {"x": 1}


def test_a_wrong_parameter_is_refused_at_once() -> None:
    import grid_tasks as tasks

    with pytest.raises(ConfigError, match=r"'splt'.* It takes \(fitted, corpus, split"):
        MeasureSpec.of(tasks.accuracy, FIT, splt="dev")
    with pytest.raises(ConfigError, match="missing a required argument: 'second'"):
        MeasureSpec.of(tasks.agreement, data=DATA)
    with pytest.raises(ConfigError, match="plain values"):
        MeasureSpec.of(tasks.square, x=object())
    with pytest.raises(ConfigError, match="plain values"):
        MeasureSpec.of(tasks.square, x=float("nan"))
    with pytest.raises(ConfigError, match="Move it to the top level"):
        MeasureSpec.of(lambda x: x, x=1)
    with pytest.raises(ConfigError, match=r"package\.module:function"):
        MeasureSpec(task="grid_tasks.square")
    with pytest.raises(ConfigError, match="no module 'grid_task'"):
        MeasureSpec.of("grid_task:square", x=1)
    with pytest.raises(ConfigError, match="has no function 'cube'"):
        MeasureSpec.of("grid_tasks:cube", x=1)


def test_a_given_corpus_takes_no_options() -> None:
    corpora = Corpora({"mine": load_corpus(DATA)})
    assert corpora[DataConfig(corpus="mine")].name == "planted"
    with pytest.raises(ConfigError, match="handed over ready-made"):
        corpora[DataConfig(corpus="mine", limit=3)]
