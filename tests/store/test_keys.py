"""A run's key changes with what its result depends on, and with nothing else; a run refuses what it cannot take."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from attnlib.config import DataConfig, ModelConfig, TrainConfig
from attnlib.store.keys import Keys
from attnlib.store.specs import Corpora, FitSpec, MeasureSpec, columns
from attnlib.utils.errors import ConfigError

DATA = DataConfig(corpus="planted", limit=20)
MODEL = ModelConfig(encoder="mlp", hidden_size=8)
FIT = FitSpec(data=DATA, model=MODEL, train=TrainConfig(epochs=1), seed=3)
CORPORA = Corpora()


def key(run) -> str:
    return Keys(CORPORA).of(run)


def test_what_changes_the_key_of_a_model() -> None:
    others = [
        FIT.replace(seed=4),
        FIT.replace(model=MODEL.replace(scaling="lin")),
        FIT.replace(train=TrainConfig(epochs=2)),
        FIT.replace(train=TrainConfig(epochs=1, precision="float64")),
        FIT.replace(data=DATA.replace(limit=21)),
        FIT.replace(data=DATA.replace(seed=1)),
        FIT.replace(warm_start=FIT),
        FIT.replace(params={"warm_parts": ["encoder"]}),
    ]
    keys = [key(run) for run in (FIT, *others)]
    assert len(set(keys)) == len(keys)
    assert all(len(k) == 64 for k in keys)


def test_what_does_not_change_the_key_of_a_model() -> None:
    assert key(FIT.replace(train=TrainConfig(epochs=1, device="cpu"))) == key(FIT)
    assert key(FIT.replace(label={"variant": "mine"})) == key(FIT)
    assert key(FitSpec(**FIT.model_dump())) == key(FIT)
    spelled_out = DATA.replace(min_df=CORPORA[DATA].min_df)  # another config, the same texts
    assert key(FIT.replace(data=spelled_out)) == key(FIT)


def test_vectors_count_by_content_not_by_path(tmp_path: Path) -> None:
    a, b = tmp_path / "a.txt", tmp_path / "b.txt"
    a.write_text("word " + " ".join(["0.5"] * 50))
    b.write_text(a.read_text())

    def with_vectors(path: Path) -> str:
        return key(FIT.replace(model=MODEL.replace(vectors=str(path))))

    assert with_vectors(a) == with_vectors(b)
    b.write_text("word " + " ".join(["0.25"] * 50))
    assert with_vectors(a) != with_vectors(b)


def test_preprocessing_is_part_of_a_model() -> None:
    corpus = CORPORA[DATA]
    other = replace(corpus, preprocessing=corpus.preprocessing.replace(lower=not corpus.preprocessing.lower))
    assert other.fingerprint == corpus.fingerprint
    run = FitSpec(data=DataConfig(corpus="mine"))
    assert Keys(Corpora({"mine": corpus})).of(run) != Keys(Corpora({"mine": other})).of(run)


def test_what_changes_the_key_of_a_measure() -> None:
    import grid_tasks as tasks

    runs = [
        MeasureSpec.of(tasks.accuracy, FIT),
        MeasureSpec.of(tasks.accuracy, FIT, split="dev"),
        MeasureSpec.of(tasks.accuracy, FIT.replace(seed=4)),
        MeasureSpec.of(tasks.accuracy, FIT, data=DATA.replace(limit=5)),
        MeasureSpec.of(tasks.agreement, FIT, FIT),
        MeasureSpec.of(tasks.texts, data=DATA),
        MeasureSpec.of(tasks.square, x=1),
    ]
    assert len({key(run) for run in runs}) == len(runs)
    assert key(MeasureSpec.of("grid_tasks:accuracy", FIT, label={"a": 1})) == key(runs[0])


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
    corpora = Corpora({"mine": CORPORA[DATA]})
    assert corpora[DataConfig(corpus="mine")].name == "planted"
    with pytest.raises(ConfigError, match="handed over ready-made"):
        corpora[DataConfig(corpus="mine", limit=3)]
