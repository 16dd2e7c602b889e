"""Settings of Serrano & Smith 2019, each with its source, next to those of the models of a run.

The released code is the authors' repository (serrano-s/attn-tests); Yang et al. 2016 give what the paper takes over
from the hierarchical attention network. The models beyond the paper are not in the table: those have papers of
their own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attnlib.data.preprocess import Preprocessing
from attnlib.store.specs import FitSpec, Run
from attnlib.studies.erasure.measures import RANKINGS, SAMPLING
from attnlib.studies.erasure.params import (
    BORROWED,
    CONV_DROPOUT,
    EPOCHS_NOENC,
    PATIENCE,
    PATIENCE_NOENC,
    PUBLISHED,
    Published,
    both_dropouts,
)
from attnlib.studies.settings import Setting

CODE, APPENDIX, YANG = "released code", "appendix A.1", "Yang et al. 2016, by way of appendix A.1"
CORPORA = {
    "yahoo": "hub:yahoo_answers_topics",
    "imdb10": "IMDB, ten stars (Diao et al. 2014)",
    "amazon": "Amazon, five stars (Zhang et al. 2015)",
    "yelp": "Yelp challenge of 2017",
}
SMALL = "the cpu profile is smaller than the paper's grid, to fit minutes"
EPOCHS = "a few epochs at a higher rate, to fit minutes"


def _own(run: Run) -> bool:
    """A model of the paper, or a measure of one."""
    return "dataset" in run.label if isinstance(run, FitSpec) else run.label.get("part") == "paper"


def _han(fit: FitSpec) -> bool:
    return _own(fit) and fit.model.hierarchical


def _encoded(fit: FitSpec) -> bool:
    return _own(fit) and fit.model.encoder != "none"


def _conv(fit: FitSpec) -> bool:
    return _own(fit) and fit.model.encoder == "cnn"


def _published(fit: FitSpec) -> Published:
    return PUBLISHED.get(fit.label["dataset"], PUBLISHED[BORROWED])


def _dropout(name: str) -> Callable[[FitSpec], float]:
    """Of the appendix; where convolutions read it, with that of the released code."""
    return lambda fit: both_dropouts(
        getattr(_published(fit), name), CONV_DROPOUT if fit.model.encoder == "cnn" else 0.0
    )


def _noenc(without: int, published: Callable[[Published], int]) -> Callable[[FitSpec], int]:
    return lambda fit: without if fit.model.encoder == "none" else published(_published(fit))


def _sentences(fit: FitSpec) -> str:
    run = fit.data.options.get("sentence_length")
    return f"{run} words in a row" if run else "a rule over end marks"


def _setting(
    name: str,
    paper: Any,
    source: str,
    ours: str | Callable[[Any], Any],
    note: str = "",
    where: Callable[[Any], bool] = _own,
    **more: Any,
) -> Setting:
    return Setting(name, paper, source, ours, where=where, note=note, **more)


SETTINGS = (
    _setting(
        "data set",
        lambda fit: CORPORA.get(fit.label["dataset"], "five or ten classes: Yahoo, IMDB, Amazon, Yelp"),
        "section 3, Table 1",
        "data.corpus",
        "the paper's own are too large to train on within minutes, or cannot be fetched by name: Yelp's challenge "
        "of 2017 and the ten-star IMDB are no longer offered, Amazon is on the hub in a smaller collection",
    ),
    _setting("texts per split at most", None, "Table 1: all", "data.limit", SMALL),
    _setting("tokeniser", "spacy", CODE, lambda fit: Preprocessing().tokenizer),
    _setting("lower case", True, APPENDIX, lambda fit: Preprocessing().lower),
    _setting(
        "sentences",
        "spaCy's parser (en_core_web_sm)",
        CODE,
        _sentences,
        "needs no parser; where a corpus has no punctuation, runs of words replace its lost sentences",
        where=_han,
    ),
    _setting(
        "words of a text",
        None,
        "not stated; released code for Yahoo: 50 sentences of 350 words in train and dev",
        "data.max_length",
        SMALL,
    ),
    _setting(
        "least count of a word",
        5,
        f"{CODE}, over train and dev",
        "data.min_df",
        "none: the corpus's own value, for fewer texts; counted over train alone in every profile",
    ),
    _setting("start and end tokens", False, CODE, "model.boundaries"),
    _setting(
        "word vectors",
        "word2vec, trained on the data set's train and dev texts for 30 iterations",
        f"{YANG}; {CODE}",
        "model.vectors",
        "the kit does not train word2vec: a file for each data set (`vector_files`) brings such vectors; others "
        "start from GloVe",
    ),
    _setting("width of word vectors", 200, YANG, "model.embedding_size", SMALL),
    _setting("word vectors are trained further", True, CODE, "train.train_embeddings"),
    _setting("width of the encoder's output", 100, YANG, "model.hidden_size", SMALL, where=_encoded),
    _setting(
        "inner width of attention",
        lambda fit: 200 if fit.model.encoder == "none" else 100,
        f"{YANG}; {CODE}",
        "model.attention_size",
        SMALL,
    ),
    _setting("attention", "additive", "section 3", "model.attention"),
    _setting("projection", "softmax", "section 3", "model.projection"),
    _setting("windows of convolutions", (3, 5), APPENDIX, "model.kernel_sizes", where=_conv),
    _setting(
        "initial values",
        "Xavier, orthogonal for recurrent weights",
        CODE,
        lambda fit: "PyTorch's",
        "one start for all encoders of the kit",
    ),
    _setting(
        "dropout before the encoder of words",
        _dropout("words"),
        f"{APPENDIX}; convolutions with {CONV_DROPOUT} more at their input, {CODE}",
        "model.embedding_dropout",
        "off where training is short; `dropout` turns it on",
    ),
    _setting(
        "dropout before the encoder of sentences",
        _dropout("sentences"),
        f"{APPENDIX}; convolutions with {CONV_DROPOUT} more at their input, {CODE}",
        "model.sentence_dropout",
        "as above",
        where=_han,
    ),
    _setting(
        "dropout on the logits",
        lambda fit: _published(fit).han_logits if fit.model.hierarchical else _published(fit).flan_logits,
        f'{APPENDIX} ("classification layer"); on the logits themselves by the {CODE}',
        "model.logit_dropout",
        "as above",
    ),
    _setting("AMSGrad", False, APPENDIX, "train.amsgrad"),
    _setting("learning rate", lambda fit: _published(fit).rate, APPENDIX, "train.learning_rate", EPOCHS),
    _setting("rate halved without progress on dev", "plateau", CODE, "train.schedule", EPOCHS),
    _setting("epochs at most", _noenc(EPOCHS_NOENC, lambda own: own.epochs), CODE, "train.epochs", EPOCHS),
    _setting("patience", _noenc(PATIENCE_NOENC, lambda own: PATIENCE), APPENDIX, "train.patience", EPOCHS),
    _setting("epoch kept", "accuracy", f"{APPENDIX}: best dev accuracy", "train.monitor"),
    _setting("batch", 64, f"{CODE}: at most, with a cap on tokens", "train.batch_size", EPOCHS),
    _setting("weight decay", 0.0, "not stated", "train.weight_decay"),
    _setting(
        "gradients clipped at",
        10.0,
        f"{APPENDIX}; the {CODE} for Amazon and Yelp clips values at 50",
        "train.clip_norm",
    ),
    _setting(
        "word vectors updated by Adam",
        "dense",
        CODE,
        "train.embedding_update",
        "lazy: a word moves only where it occurs; cheaper",
    ),
    _setting(
        "trainings of a model",
        "one (370, 944 and 972 are the seeds of Python, NumPy and torch)",
        CODE,
        lambda fit: f"replicate {fit.label['seed']}",
        "several, so that claims have intervals",
    ),
    _setting("test texts erased from", None, "section 4: all", "params.texts", SMALL, of="measure"),
    _setting("rankings", RANKINGS, "section 5.2", lambda run: RANKINGS, of="measure"),
    _setting(
        "the other item r",
        "any other",
        "sections 4.1 and 4.2; the released code can draw i* again",
        lambda run: next(iter(SAMPLING)),
        "",
        of="measure",
    ),
    _setting("when all items are removed", "zero vector", "section 5.3", lambda run: "zero vector", of="measure"),
)
"""In the order of the work: data, model, training, measure."""
