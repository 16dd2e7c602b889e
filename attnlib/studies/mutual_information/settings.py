"""Settings of Wen et al. 2022, each with its source.

The paper says little of its settings (section 3.2, appendix A) and refers to Jain & Wallace 2019 for data and
training (section 4): what it does not state is read in their code, for adversaries in Wiegreffe & Pinter's (2019).
"""

from __future__ import annotations

from collections.abc import Callable

from attnlib.measures import rank_information
from attnlib.store.specs import FitSpec
from attnlib.studies.mutual_information.grid import adversary_lambda
from attnlib.studies.settings import Setting

JW, WP = "Jain & Wallace's code", "Wiegreffe & Pinter's code"
TIME = "for time on a processor"
MIMIC = ("anemia", "diabetes")
VECTORS = {"wiki.simple": "fastText, simple English", "840B": "GloVe 840B", "mimic": "word2vec of MIMIC"}
"""What is in the name of a file of vectors, and what it holds."""


def _query(fit: FitSpec) -> bool:
    return fit.data.corpus in ("babi", "snli") or fit.data.options.get("task") == "qa"


def _text(fit: FitSpec) -> bool:
    """Real texts to classify."""
    return not _query(fit) and fit.data.corpus != "planted"


def _adversary(fit: FitSpec) -> bool:
    return fit.trainer.endswith(":adversary")


def _plain(fit: FitSpec) -> bool:
    return not _adversary(fit)


def _of(name: str) -> Callable[[FitSpec], bool]:
    """The models with this encoder, attention or projection."""
    return lambda fit: name in (fit.model.encoder, fit.model.attention, fit.model.projection)


def _by(snli: object, babi: object, other: object) -> Callable[[FitSpec], object]:
    """A value by the kind of corpus: inference, questions, classification."""
    return lambda fit: snli if fit.data.corpus == "snli" else babi if _query(fit) else other


def _vectors(fit: FitSpec) -> str:
    return (
        VECTORS["mimic"] if fit.data.corpus in MIMIC else _by(VECTORS["840B"], "none", VECTORS["wiki.simple"])(fit)
    )


def _our_vectors(fit: FitSpec) -> str:
    return next((name for part, name in VECTORS.items() if part in fit.model.vectors), fit.model.vectors)


# fmt: off
SETTINGS = [
    # texts
    Setting("limit of texts per split", None, "Table 1", "data.limit", where=_text, note=f"a sample, {TIME}"),
    Setting("film reviews of IMDB", "aclimdb", "Table 1", "data.corpus", note="the packaged half, split again",
            where=lambda fit: fit.data.corpus in ("imdb", "aclimdb")),
    Setting("posts of 20 Newsgroups", "split at random, without headers, footers and quotes", JW,
            lambda fit: "split by date, with subjects and quotes", where=lambda fit: fit.data.corpus == "20news",
            note="the packaged version, which has lost its digits and punctuation"),
    Setting("shortest and longest texts left out", True, f"Table 1; {JW}, filterbylength",
            "data.strict_length_filter", where=_text),
    Setting("texts cut after words", None, JW, "data.max_length", note=f"cut, {TIME}"),
    Setting("fewest texts with a word of the vocabulary", "by corpus", f"{JW}, min_df",
            lambda fit: fit.data.min_df or "by corpus"),
    Setting("start and end tokens, read and not attended", True, f"{JW}, vectoriser", "model.boundaries"),
    Setting("word vectors", _vectors, f"{JW}, preprocess", _our_vectors, note="those that install by name"),
    Setting("width of word vectors", _by(300, 50, 300), f"{JW}, configurations", "model.embedding_size",
            note="that of the vectors"),
    Setting("words without a vector", lambda fit: "normal" if fit.data.corpus in MIMIC else "zero",
            f"{JW}, vectoriser", "model.oov", where=lambda fit: fit.model.vectors != "none"),
    Setting("word vectors trained", True, f"{JW}, encoder", "train.train_embeddings"),
    Setting("Adam of word vectors", "dense", f"{JW}: all words at every step", "train.embedding_update",
            note=f"the words of the batch alone, {TIME}"),
    # models
    Setting("width of h (BiLSTM: both directions)", lambda fit: 256 if fit.model.encoder == "lstm" else 128,
            "appendix A", "model.hidden_size", note=f"narrower, {TIME}"),
    Setting("layers of the BiLSTM", 1, "appendix A", "model.layers", where=_of("lstm")),
    Setting("kernel sizes of the CNN", (1, 3, 5, 7, 15), "appendix A", "model.kernel_sizes", where=_of("cnn"),
            note="without that of 15, longer than many texts"),
    Setting("inner width of additive attention", lambda fit: fit.model.width // 2, f"not stated; {JW}: H / 2",
            lambda fit: fit.model.attention_size or fit.model.width // 2, where=_of("additive")),
    Setting("hidden layers of deep attention", 2, "not stated; two assumed", "model.attention_layers",
            where=_of("deep")),
    Setting("their width", 128, "not stated; that of the encoders assumed", "model.attention_size",
            where=_of("deep"), note=f"narrower, {TIME}"),
    Setting("dot scores divided by √m", _query, "equations 1 and 5", "model.dot_scaled", where=_of("dot")),
    Setting("start of the query of dot attention", "kaiming", f"{JW}: torch's own", "model.dot_init",
            where=_of("dot")),
    Setting("temperature of Gumbel-softmax", 0.8, "section 5.3", "model.gumbel_tau", where=_of("gumbel")),
    Setting("Gumbel noise", "train", "not stated; in training alone assumed", "model.gumbel_noise",
            where=_of("gumbel")),
    Setting("dropout", 0.0, f"{JW}: none", "model.dropout"),
    # training
    Setting("Adam with amsgrad", True, f"{JW}, trainer", "train.amsgrad"),
    Setting("learning rate", 1e-3, f"{JW}, trainer", "train.learning_rate",
            note="higher for generated texts, which are few"),
    Setting("weight decay", 1e-5, f"{JW}, trainer", "train.weight_decay"),
    Setting("weight decay of attention", _by(1e-5, 1e-5, 0.0), f"{JW}, trainer",
            lambda fit: fit.train.weight_decays.get("attention", fit.train.weight_decay)),
    Setting("texts per step", _by(128, 50, 32), f"{JW}, trainer", "train.batch_size",
            note="fewer, since generated texts are few"),
    Setting("classes weighted in the loss", _by(False, False, True), f"{JW}, pos_weight", "train.class_weights",
            where=_plain),
    Setting("loss of a step", "sum", f"{JW}, trainer", lambda fit: "mean", where=_plain,
            note="Adam divides the scale out again; next to a mean, weight decay weighs more"),
    Setting("gradients clipped at", None, f"{JW}: not clipped", "train.clip_norm"),
    Setting("epochs", _by(25, 100, 8), f"{JW}, trainer", "train.epochs", where=_plain, note=f"fewer, {TIME}"),
    Setting("stops early after epochs", None, f"{JW}: never", "train.patience", where=_plain, note=TIME),
    Setting("epoch kept, by the dev", _by("accuracy", "accuracy", "auc"), f"{JW}, trainer", "train.monitor",
            where=_plain, note="loss suits any number of classes"),
    Setting("the first epoch may be kept", False, f"{JW}, trainer", lambda fit: True, where=_plain,
            note="no epoch is left out"),
    # adversaries
    Setting("λ of adversaries", lambda fit: adversary_lambda(fit.data.corpus)[0], "Table 3", "params.lam",
            where=_adversary),
    Setting("their divergence", "kl_adv_base", f"equation 6; {WP}",
            lambda fit: fit.params.get("divergence", "kl_adv_base"), where=_adversary),
    Setting("their TVD halved with two classes", True, f"{WP}: one output", where=_adversary,
            ours=lambda fit: "wp_half_tvd" in fit.params["quirks"]),
    Setting("their epochs, at most", 80, WP, "train.epochs", where=_adversary, note=f"fewer, {TIME}"),
    Setting("they stop without a lower training loss after", 10, WP, "train.patience", where=_adversary),
    Setting("their epoch kept, by", "train_loss", WP, "train.monitor", where=_adversary),
    # the measure
    Setting("limit of test texts", None, "section 3.2", "params.texts", of="measure", note=f"a sample, {TIME}"),
    Setting("clusters of the output with two classes", 5, "section 3.2.1", lambda run: rank_information.OUTPUTS,
            of="measure", where=lambda run: "counts" in run.params),
    Setting("weights that count as none when k is chosen", 1e-5, "section 3.2.1", lambda run: rank_information.TINY,
            of="measure", where=lambda run: "counts" in run.params),
    Setting("clusters, least and most", (50, 200), "section 3.2.1", of="measure",
            where=lambda run: "counts" in run.params, note=f"few texts allow more; {TIME}",
            ours=lambda run: (min(run.params["counts"]), max(run.params["counts"]))),
]
# fmt: on
