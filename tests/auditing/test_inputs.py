"""What cannot be audited is refused before any work, in words that say what to do."""

from __future__ import annotations

import json

import numpy as np
import pytest

import attnlib as al
from attnlib.auditing.inputs import load_scores, pools
from attnlib.utils.errors import ConfigError, DataError

WORDS = "the film was a good bad dull bright story about people and places in winter".split()


def table(folder, labels, name="t.csv"):
    rng = np.random.default_rng(0)
    lines = [f'"{" ".join(rng.choice(WORDS, 9))} {i}","{label}"' for i, label in enumerate(labels)]
    file = folder / name
    file.write_text("text,label\n" + "\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("labels", "said"),
    [
        ([f"{i / 7:.3f}" for i in range(300)], "300 different values in 300 rows.*a measurement"),
        (["yes", "no"] * 15, "has 30 texts; an audit needs at least 100"),
        (["yes"] * 300, "A classifier needs at least two classes"),
    ],
)
def test_data_that_cannot_be_audited(tmp_path, labels, said):
    with pytest.raises(DataError, match=said):
        al.audit(None, table(tmp_path, labels), budget=0.1)


def test_classes_that_are_not_the_models(tmp_path):
    corpus = al.load_corpus("planted", n_train=60, n_dev=10, n_test=120)
    fitted = al.fit(corpus, al.ModelConfig(encoder="none"), al.TrainConfig(epochs=1))
    with pytest.raises(DataError, match="classes of the model and of the data differ"):
        al.audit(fitted, table(tmp_path, ["cat", "dog"] * 100), budget=0.1)


@pytest.mark.parametrize(
    ("model", "told", "said"),
    [(None, {"budget": budget}, "budget is a number of minutes") for budget in (0, -1, float("nan"), "3")]
    + [(None, {"seed": -1}, "seed must be a whole number"), (None, {"data": None}, "needs data"),
       (3, {}, "A model is what al.fit or al.load_model returns; got int"),
       (None, {"scores": "x.jsonl"}, "scores explain a certain model")],
)  # fmt: skip
def test_arguments(model, told, said):
    with pytest.raises(ConfigError, match=said):
        al.audit(model, **{"data": "planted"} | told)


def test_enough_texts_are_kept_to_judge_on_and_none_is_trained_on(tmp_path):
    corpus = al.load_corpus(table(tmp_path, ["yes", "no"] * 200))
    grown, pool, notes = pools(corpus, given=False)
    assert len(pool) == len(grown.test) == 100
    assert "100 texts are kept" in notes[0]
    assert not {e.tokens for e in grown.train} & {e.tokens for e in pool}
    _, everything, _ = pools(corpus, given=True)
    assert len(everything) == 400
    with pytest.raises(DataError, match="left to train on"):
        pools(al.load_corpus(table(tmp_path, ["yes", "no"] * 60)), given=False)


def test_scores_from_elsewhere(tmp_path):
    examples = [al.Example(("a", "b"), 0, id="x"), al.Example(("c",), 1, id="y")]
    lines, table = tmp_path / "s.jsonl", tmp_path / "s.csv"
    lines.write_text('{"id": "y", "scores": [0.5]}\n{"id": "x", "scores": [1, 2]}\n')
    table.write_text('id,scores\nx,"[1, 2]"\ny,[0.5]\n')
    for given in (lines, table, {"x": [1, 2], "y": [0.5]}):
        assert [a.tolist() for a in load_scores(given, examples, lambda e: e.tokens)] == [[1, 2], [0.5]]
    unnamed = tmp_path / "t.jsonl"
    unnamed.write_text(json.dumps({"name": "x", "scores": [1]}))
    for given, said in (
        ({"x": [1, 2]}, "1 of 2 texts have none"),
        ({"x": [1, 2], "y": [1, 2]}, "2 numbers for 1 tokens"),
        ({"x": [1, 2], "y": ["a"]}, "no numbers"),
        ({"x": [1, 2], "y": [float("nan")]}, "none of them NaN"),
        ({"x": [1, 2], "y": [10**400]}, "no numbers"),
        ([[1, 2], [0.5]], "a mapping by id"),
        (unnamed, "needs the columns 'id' and 'scores'"),
        (tmp_path / "none.csv", "no file"),
    ):
        with pytest.raises(DataError, match=said):
            load_scores(given, examples, lambda e: e.tokens)
