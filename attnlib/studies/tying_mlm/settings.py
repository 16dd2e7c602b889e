"""Settings of Tutek & Šnajder (2020), each with its source.

The paper takes what it does not tune from Jain & Wallace (2019) and Wiegreffe & Pinter (2019) (its Appendix A), and
no code of its own could be found: where it is silent, theirs is the reference.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from attnlib.store.specs import FIT, FitSpec, MeasureSpec
from attnlib.studies.settings import Setting

CORPORA = ("sst", "agnews", "20news", "aclimdb", "anemia", "diabetes")
VECTORS = {
    "none": "random",
    "glove": "GloVe 6B",
    "word2vec": "word2vec, Google News",
    "wiki.simple.vec": "fastText",
}
JW, WP = "Jain & Wallace's code", "Wiegreffe & Pinter's code"


def _classifier(fit: FitSpec) -> bool:
    return fit.trainer == FIT


def _adversary(fit: FitSpec) -> bool:
    return fit.trainer != FIT


def _with(**parts: str) -> Callable[[FitSpec], bool]:
    """The classifiers that have these parts."""
    return lambda fit: _classifier(fit) and all(getattr(fit.model, name) == part for name, part in parts.items())


def _measure(name: str) -> Callable[[MeasureSpec], bool]:
    return lambda run: run.task.endswith(f":{name}")


def _one_of(ours: Callable[[FitSpec], float], values: tuple[float, ...]) -> Callable[[FitSpec], Any]:
    """The value of a model where it is one of the paper's, else all of the paper's."""
    return lambda fit: value if (value := ours(fit)) in values else values


def _delta(fit: FitSpec) -> float:
    """δ against a loss that is summed over a batch, where ours is a mean."""
    return round(fit.model.tying_delta * fit.train.batch_size, 6)


def _eta(fit: FitSpec) -> float:
    return fit.model.mlm_eta


def _corpus(fit: FitSpec) -> str:
    return fit.data.corpus if fit.data.corpus in CORPORA else ", ".join(CORPORA)


def _vectors(fit: FitSpec) -> str:
    name = PurePosixPath(fit.model.vectors).name
    return VECTORS.get(name, "word2vec of clinical notes" if "mimic" in name else name)


def _papers_vectors(fit: FitSpec) -> str:
    return "word2vec of clinical notes" if fit.data.corpus in ("anemia", "diabetes") else "fastText"


_TIME = "Time on a CPU."
_READ = "Every text takes part."
SETTINGS: tuple[Setting, ...] = (
    Setting("corpora", _corpus, "section 3.5", "data.corpus", note="Installs by name; the parent of SST."),
    Setting("texts per split, at most", None, "section 3.5", "data.limit", note=_TIME),
    Setting("shortest and longest texts left out", True, JW, "data.strict_length_filter", note=_READ),
    Setting("words are cut at", None, JW, "data.max_length"),
    Setting(
        "rare words are unknown below a count of", "the corpus's own", f"{JW}, by corpus",
        lambda fit: "the corpus's own" if fit.data.min_df is None else fit.data.min_df,
    ),
    Setting("start and end token", True, JW, "model.boundaries", note="No sentence needs them."),
    Setting("word vectors", _papers_vectors, f"not stated; {JW}", _vectors, note="Installs by name."),
    Setting(
        "words without a vector", "zero", JW, "model.oov",
        where=lambda fit: fit.model.vectors != "none", note="Drawn, so that they can be told apart.",
    ),
    Setting("width of word vectors", 300, "Table 4", "model.embedding_size", note=_TIME),
    Setting(
        "word vectors are trained", False, "section 3.1, of MLM; of others not stated", "train.train_embeddings",
        note="In every variant: frozen vectors of 50 numbers cost 4 points of F1 on SST.",
    ),
    Setting("layers outside Table 6", 1, "section 3", "model.layers", where=lambda fit: fit.model.layers == 1),
    Setting("width of the LSTM, each direction", 150, "Table 4", lambda fit: fit.model.hidden_size // 2,
            note="As wide as the word vectors, which tying, residual and MLM need."),
    Setting(
        "inner width of additive attention", "half of the hidden width", JW,
        lambda fit: fit.model.attention_size or "half of the hidden width", where=_with(attention="additive"),
    ),
    Setting("dot scores divided by √H", True, "equation 11", "model.dot_scaled", where=_with(attention="dot")),
    Setting(
        "start of the query of dot attention", lambda fit: fit.model.dot_init, "Appendix C: both are compared",
        "model.dot_init", where=_with(attention="dot"),
    ),
    Setting("dropout", 0.0, JW, "model.dropout"),
    Setting("tying: squared norm", True, "equation 4", "model.tying_squared", where=_with(regulariser="tying")),
    Setting(
        "tying: weights δ, next to a loss summed over a batch", _one_of(_delta, (1.0, 10.0, 20.0, 30.0)),
        f"section 3.1; the sum: {JW}", _delta, where=_with(regulariser="tying"),
    ),
    Setting("MLM: share of masked words", 0.15, "Table 4", "model.mlm_probability", where=_with(regulariser="mlm")),
    Setting(
        "MLM: weights η", _one_of(_eta, (0.1, 0.3, 1.0, 3.0, 5.0)), "Table 4", _eta,
        where=_with(regulariser="mlm"),
    ),
    Setting("Adam with AMSGrad", True, JW, "train.amsgrad"),
    Setting("learning rate", 1e-3, "Table 4", "train.learning_rate", note="For fewer epochs."),
    Setting("batch", 32, "Table 4", "train.batch_size", note=_TIME),
    Setting("gradients clipped at norm", 5.0, "Table 4", "train.clip_norm"),
    Setting("weight decay", 1e-5, "Table 4", "train.weight_decay"),
    Setting("weight decay of attention", 0.0, JW, lambda fit: fit.train.weight_decays.get("attention")),
    Setting("classes weighted", True, JW, "train.class_weights", where=_classifier, note="Our classes are even."),
    Setting("epochs", 8, f"not stated; {JW}", "train.epochs", where=_classifier, note=_TIME),
    Setting("stops early", None, JW, "train.patience", where=_classifier, note=_TIME),
    Setting(
        "epoch kept by the dev", "auc", f"not stated; {JW}", "train.monitor", where=_classifier,
        note="The loss also sees how confident a model is, which per-token probabilities depend on.",
    ),
    Setting("permutations of attention", 10, "not stated", "params.permutations", _measure("behaviour"),
            of="measure"),
    Setting("words of mutual information", 1000, "section 3.4", "params.words", _measure("knowledge"), _TIME,
            of="measure"),
    Setting("its clusters", 1000, "section 3.4", "params.k", _measure("knowledge"), _TIME, of="measure"),
    Setting("its batch of k-means", 100, "section 3.4", "params.batch_size", _measure("knowledge"),
            "Larger batches are faster and find better clusters.", of="measure"),
    Setting("its occurrences at most", 1_000_000, "section 3.4", "params.most", _measure("knowledge"), _TIME,
            of="measure"),
    Setting("its inputs", "clusters", "section 3.4", "params.inputs", _measure("knowledge"),
            "The word itself: with as many clusters as words that is what clustering finds at best.", of="measure"),
    Setting("adversary: training texts", None, WP, "params.texts", _adversary, _TIME),
    Setting("adversary: epochs", 80, WP, "train.epochs", _adversary, _TIME),
    Setting("adversary: stops after epochs without a better one", 10, WP, "train.patience", _adversary, _TIME),
    Setting("adversary: epoch kept by", "train_loss", WP, "train.monitor", _adversary),
)  # fmt: skip
