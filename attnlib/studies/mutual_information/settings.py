"""Settings of Wen et al. 2022, each with its source.

The paper says little of its settings (section 3.2, appendix A) and refers to Jain & Wallace 2019 for data and training
(section 4): what it does not state is read in their code, and for adversaries in that of Wiegreffe & Pinter 2019.
"""

from __future__ import annotations

from attnlib.store.specs import FitSpec
from attnlib.studies.mutual_information.grid import adversary_lambda
from attnlib.studies.settings import Setting

JW = "Jain & Wallace's code"
WP = "Wiegreffe & Pinter's code"
APPENDIX = "appendix A"
MIMIC = ("anemia", "diabetes")
PAIRS = ("snli",)
STATED = "section 3.2.1"
SIZE = "narrower, for time on a processor"
FEWER = "fewer, for time on a processor"


def _corpus(fit: FitSpec) -> str:
    """The paper's name of the corpus that a model reads."""
    data = fit.data
    return f"babi_{data.options['task']}" if data.corpus == "babi" else data.corpus


def _story(fit: FitSpec) -> bool:
    return fit.data.corpus == "planted"


def _query(fit: FitSpec) -> bool:
    return fit.data.corpus in ("babi", *PAIRS) or fit.data.options.get("task") == "qa"


def _plain(fit: FitSpec) -> bool:
    """A model of the grid or an ablation, not an adversary."""
    return not _adversary(fit)


def _adversary(fit: FitSpec) -> bool:
    return fit.trainer.endswith(":adversary")


def _vectors(fit: FitSpec) -> str:
    if fit.data.corpus == "babi":
        return "none"
    if fit.data.corpus in MIMIC:
        return "word2vec of MIMIC"
    return "GloVe 840B" if fit.data.corpus in PAIRS else "fastText, simple English"


def _our_vectors(fit: FitSpec) -> str:
    names = {"wiki.simple": "fastText, simple English", "840B": "GloVe 840B", "mimic": "word2vec of MIMIC"}
    return next((name for part, name in names.items() if part in fit.model.vectors), fit.model.vectors)


def _width(fit: FitSpec) -> int:
    return 256 if fit.model.encoder == "lstm" else 128


def _epochs(fit: FitSpec) -> int:
    return (25 if fit.data.corpus in PAIRS else 100) if _query(fit) else 8


def _batch(fit: FitSpec) -> int:
    return (128 if fit.data.corpus in PAIRS else 50) if _query(fit) else 32


def _of(*names: str):
    """The models with one of these encoders or attentions."""
    return lambda fit: fit.model.encoder in names or fit.model.attention in names


SETTINGS = [
    # the texts
    Setting(
        "texts per split",
        None,
        "Table 1",
        "data.limit",
        note="a sample, for time on a processor",
        where=lambda fit: not _story(fit),
    ),
    Setting(
        "shortest and longest texts dropped (min < length < max)",
        True,
        f"Table 1; {JW}, filterbylength",
        "data.strict_length_filter",
        where=lambda fit: not _query(fit) and not _story(fit),
    ),
    Setting(
        "official halves of IMDB",
        "aclimdb",
        "Table 1",
        "data.corpus",
        note="the packaged half, split again",
        where=lambda fit: fit.data.corpus in ("imdb", "aclimdb"),
    ),
    Setting(
        "posts of 20 Newsgroups",
        "split at random, without headers, footers and quotes",
        JW,
        lambda fit: "split by date, with subjects and quotes",
        where=lambda fit: fit.data.corpus == "20news",
        note="the packaged version, which has lost its digits and punctuation",
    ),
    Setting(
        "fewest texts with a word of the vocabulary",
        "by corpus",
        f"{JW}, min_df",
        lambda fit: fit.data.min_df or "by corpus",
    ),
    Setting(
        "longest text, words", None, f"{JW}: none is cut", "data.max_length", note="cut, for time on a processor"
    ),
    Setting("start and end tokens, read and not attended", True, f"{JW}, vectoriser", "model.boundaries"),
    Setting(
        "word vectors",
        _vectors,
        f"{JW}, preprocess",
        _our_vectors,
        note="those that install by name; generated stories learn theirs",
    ),
    Setting(
        "width of word vectors",
        lambda fit: 50 if fit.data.corpus == "babi" else 300,
        f"{JW}, configurations",
        "model.embedding_size",
        note="that of the vectors, or small for time on a processor",
    ),
    Setting(
        "words without a vector",
        lambda fit: "normal" if fit.data.corpus in MIMIC else "zero",
        f"{JW}, vectoriser (MIMIC: N(0, 1))",
        "model.oov",
        where=lambda fit: fit.model.vectors != "none",
    ),
    Setting(
        "word vectors trained",
        True,
        f"{JW}, encoder",
        "train.train_embeddings",
        where=lambda fit: "embedding" not in fit.train.freeze,
    ),
    Setting(
        "Adam of word vectors",
        "dense",
        f"{JW}: all words at every step",
        "train.embedding_update",
        note="lazy moves the words of a batch alone, for time on a processor",
    ),
    # the models
    Setting("width of h, both directions of the BiLSTM", _width, APPENDIX, "model.hidden_size", note=SIZE),
    Setting("layers of the BiLSTM", 1, APPENDIX, "model.layers", where=_of("lstm")),
    Setting(
        "kernel sizes of the CNN",
        (1, 3, 5, 7, 15),
        APPENDIX,
        "model.kernel_sizes",
        where=_of("cnn"),
        note=f"{FEWER}; the kernel of 15 is longer than many texts",
    ),
    Setting(
        "inner width of additive attention",
        lambda fit: fit.model.width // 2,
        f"not stated; {JW}, H / 2",
        lambda fit: fit.model.attention_size or fit.model.width // 2,
        where=_of("additive"),
    ),
    Setting(
        "hidden layers of deep attention",
        2,
        "not stated (s); two are assumed",
        "model.attention_layers",
        where=_of("deep"),
    ),
    Setting(
        "their width",
        128,
        "not stated; that of the encoders is assumed",
        "model.attention_size",
        where=_of("deep"),
        note=SIZE,
    ),
    Setting(
        "dot scores divided by the square root of the width",
        _query,
        "equations 1 and 5",
        "model.dot_scaled",
        where=_of("dot"),
    ),
    Setting(
        "start of the query of dot attention",
        "kaiming",
        f"{JW}: torch's default",
        "model.dot_init",
        where=_of("dot"),
    ),
    Setting(
        "temperature of Gumbel-softmax",
        0.8,
        "section 5.3",
        "model.gumbel_tau",
        where=lambda fit: fit.model.projection == "gumbel",
    ),
    Setting(
        "Gumbel noise",
        "train",
        "not stated; none in testing is assumed",
        "model.gumbel_noise",
        where=lambda fit: fit.model.projection == "gumbel",
    ),
    Setting("dropout", 0.0, f"{JW}: none", "model.dropout"),
    # training
    Setting("optimiser: Adam with amsgrad", True, f"{JW}, trainer", "train.amsgrad"),
    Setting(
        "learning rate",
        1e-3,
        f"{JW}, trainer",
        "train.learning_rate",
        note="higher for generated stories, which are few",
    ),
    Setting("weight decay of encoder and decoder", 1e-5, f"{JW}, trainer", "train.weight_decay"),
    Setting(
        "weight decay of attention",
        lambda fit: 1e-5 if _query(fit) else 0.0,
        f"{JW}, trainer",
        lambda fit: fit.train.weight_decays.get("attention", fit.train.weight_decay),
    ),
    Setting("texts per step", _batch, f"{JW}, trainer", "train.batch_size", note="small corpora need more steps"),
    Setting(
        "loss weighted by class",
        lambda fit: not _query(fit),
        f"{JW}, pos_weight",
        "train.class_weights",
        where=_plain,
    ),
    Setting("gradients clipped at", None, f"{JW}: not clipped", "train.clip_norm"),
    Setting("epochs", _epochs, f"{JW}, trainer", "train.epochs", where=_plain, note=FEWER),
    Setting(
        "stops early after epochs without a better score",
        None,
        f"{JW}: never",
        "train.patience",
        where=_plain,
        note="to save epochs that are not kept",
    ),
    Setting(
        "epoch kept, by dev",
        lambda fit: "accuracy" if _query(fit) else "auc",
        f"{JW}, trainer",
        "train.monitor",
        where=_plain,
        note="the dev loss suits any number of classes",
    ),
    Setting(
        "first epoch eligible",
        False,
        f"{JW}: the best from the second on",
        lambda fit: True,
        where=_plain,
        note="ours may keep the first too",
    ),
    Setting(
        "loss of a step",
        "sum",
        f"{JW}, trainer",
        lambda fit: "mean",
        where=_plain,
        note="Adam divides the scale of a loss out again; weight decay weighs 32 times as much next to a mean",
    ),
    # adversaries
    Setting(
        "λ of adversaries", lambda fit: adversary_lambda(_corpus(fit))[0], "Table 3", "params.lam", where=_adversary
    ),
    Setting(
        "divergence of adversaries",
        "kl_adv_base",
        f"equation 6; {WP}, KLDivLoss",
        lambda fit: fit.params.get("divergence", "kl_adv_base"),
        where=_adversary,
    ),
    Setting(
        "their TVD halved with one output",
        True,
        f"{WP}",
        lambda fit: "wp_half_tvd" in fit.params["quirks"],
        where=_adversary,
    ),
    Setting("epochs of adversaries", 80, f"{WP}: at most", "train.epochs", where=_adversary, note=FEWER),
    Setting(
        "they stop after epochs without a lower training loss", 10, f"{WP}", "train.patience", where=_adversary
    ),
    Setting("epoch of theirs kept, by", "train_loss", f"{WP}", "train.monitor", where=_adversary),
    # the measure
    Setting("test texts measured", None, "section 3.2: all", "params.texts", of="measure", note=FEWER),
    Setting(
        "least and most clusters",
        (50, 200),
        STATED,
        lambda run: (min(run.params["counts"]), max(run.params["counts"])),
        of="measure",
        where=lambda run: "counts" in run.params,
        note="no corpus of this run has texts enough for more",
    ),
]
