"""Word-level objectives: every figure on frames made by hand, of one corpus and of two."""

from __future__ import annotations

import dataclasses

from attnlib.data import load_corpus
from attnlib.studies.tying_mlm import figures, grid
from attnlib.studies.tying_mlm.params import Params
from attnlib.training.fit import fit
from attnlib.viz import plots

FRAMES = ("swaps", "texts", "information", "distances")


def test_a_sentence_as_the_models_read_it() -> None:
    corpus = load_corpus("planted", n_train=60, n_dev=20, n_test=20)
    params = Params(corpora="planted", vectors="none", embedding_size=8, epochs=1)
    specs = {v: grid.fit(params, "planted", v, "additive", 0) for v in ("base", "tying")}
    models = {v: fit(corpus, spec.model, spec.train, seed=0) for v, spec in specs.items()}
    example = corpus.dev[0]
    (axis,) = figures.sentence(models, example).axes
    assert [len(line.get_xdata()) for line in axis.get_lines()[::2]] == [len(example)] * 2
    assert [line.get_label().split(",")[0] for line in axis.get_lines()[::2]] == ["base", "tying"]
    long = dataclasses.replace(example, tokens=example.tokens * 5, rationale=None)
    (axis,) = figures.sentence(models, long).axes
    assert len(axis.get_xticks()) == plots.TOKENS, "names of 200 tokens lie on each other"
