"""Settings of Meister et al. 2021, each with its source.

No code was released. The paper states its sizes and rates in Appendix B and follows Jain & Wallace 2019 in data and
framework; what it leaves open is read in their code, and for adversaries in the paper of Wiegreffe & Pinter 2019.
"""

from __future__ import annotations

from typing import Any

from attnlib.measures.adversary import ATTENTION_ALONE
from attnlib.store.specs import FitSpec
from attnlib.studies.settings import Setting

APPENDIX = "Appendix B"
TABLE_4 = "Table 4"
JW = "Jain & Wallace's code"
WP = "Wiegreffe & Pinter's code"
OPEN = "not stated"
TIME = "for time on a processor"
RATES = {"lstm": 1e-4, "transformer": 1e-5}


def _adversary(fit: FitSpec) -> bool:
    return fit.trainer.endswith(":adversary")


def _frozen(fit: FitSpec) -> bool:
    return _adversary(fit) and fit.params["frozen"]


def _base(fit: FitSpec) -> bool:
    return not _adversary(fit)


def _of(*names: str) -> Any:
    """The models, adversaries aside, with one of these encoders, attentions or projections."""
    return lambda fit: (
        _base(fit) and not {fit.model.encoder, fit.model.attention, fit.model.projection}.isdisjoint(names)
    )


def _vectors(fit: FitSpec) -> str:
    return "fastText, simple English" if "wiki.simple" in fit.model.vectors else fit.model.vectors


def _attention_rate(fit: FitSpec) -> str:
    times = fit.train.learning_rates.get("attention", fit.train.learning_rate) / fit.train.learning_rate
    return "the same or 10 times" if round(times, 6) in (1, 10) else f"{times:g} times"


def _measure(name: str) -> Any:
    return lambda run: run.task.endswith(f":{name}")


SETTINGS = [
    # texts
    Setting("texts per split", None, "Table 3", "data.limit", note=f"a sample, {TIME}"),
    Setting(
        "shortest and longest texts dropped", True, f"{JW}, filterbylength", "data.strict_length_filter",
        note="generated texts need no filter",
    ),
    Setting(
        "start and end tokens", True, f"{JW}: read by the encoder, never attended", "model.boundaries",
        note="generated texts have none",
    ),
    Setting("word vectors", "fastText, simple English", JW, _vectors, note="what installs by name, or none"),
    Setting("width of word vectors", 300, JW, "model.embedding_size", note="that of the vectors"),
    Setting("words without a vector", "zero", JW, "model.oov", lambda fit: fit.model.vectors != "none"),
    Setting("word vectors trained", True, JW, "train.train_embeddings", _base, note=TIME),
    # models
    Setting("width of h, both directions", 256, APPENDIX, "model.hidden_size", _of("lstm"), note=TIME),
    Setting("width of h", 128, APPENDIX, "model.hidden_size", _of("transformer"), note=TIME),
    Setting("layers of the BiLSTM", 1, JW, "model.layers", _of("lstm")),
    Setting("layers of the Transformer", 2, APPENDIX, "model.layers", _of("transformer")),
    Setting("heads of the Transformer", 1, APPENDIX, "model.heads", _of("transformer")),
    Setting(
        "normalisation in the Transformer", "post", f"{OPEN}; that of torch's own layer, which has ReLU too",
        "model.transformer_norm", _of("transformer"), note="normalised first, with GELU",
    ),
    Setting("inner width of additive attention", None, f"{JW}: half of h", "model.attention_size", _of("lstm")),
    Setting("scaled dot attention", True, "section 2", "model.dot_scaled", _of("dot")),
    Setting("start of the query of dot attention", "kaiming", f"{JW}: torch's default",
            "model.dot_init", _of("dot"), note="N(0, 1)"),
    Setting("dropout", 0.0, f"{OPEN}; none in {JW}", "model.dropout"),
    Setting("λ of sparsegen", "not stated", "section 4, Figure 3: from nearly softmax on",
            lambda fit: fit.model.sparsegen_lambda, _of("sparsegen"), note="chosen on the scale of Figure 3"),
    # training
    Setting("amsgrad", True, APPENDIX, "train.amsgrad"),
    Setting("batch size", 32, TABLE_4, "train.batch_size", note=TIME),
    Setting("learning rate", lambda fit: RATES[fit.model.encoder], TABLE_4, "train.learning_rate",
            note="faster, so that few epochs suffice"),
    Setting("learning rate of attention, against the others", "the same or 10 times", APPENDIX, _attention_rate),
    Setting("weight decay", 1e-5, TABLE_4, "train.weight_decay"),
    Setting("weight decay of attention", 0.0, APPENDIX, lambda fit: fit.train.weight_decays["attention"]),
    Setting("classes weighted by their inverse frequency", True, JW, "train.class_weights", _base),
    Setting("gradients clipped at", None, f"{OPEN}; none in {JW}", "train.clip_norm"),
    Setting("epochs, at most", 8, f"{OPEN}; {JW}", "train.epochs", _base,
            note="Table 4's rates need many more than 8, faster ones fewer; the best on dev is kept"),
    Setting("epoch kept by", "auc", f"{OPEN}; {JW}, on dev texts", "train.monitor", _base,
            note="the dev loss, which also tells apart models that order texts equally well"),
    # adversaries
    Setting("kept from the base by a frozen adversary", "embedding, encoder, scaling, decoder",
            "section 4: all parameters, optimised for divergence (read: attention alone moves)",
            lambda fit: ", ".join(ATTENTION_ALONE),
            _frozen),
    Setting("start of a frozen adversary's attention", "its base's", "section 4: all parameters",
            lambda fit: f"drawn again, query {fit.model.dot_init}", _frozen,
            note="the base is a local minimum of the loss, which attention does not leave"),
    Setting("divergence of an adversary's attention", "kl_adv_base", "Wiegreffe & Pinter, section 4",
            lambda fit: fit.params.get("divergence", "kl_adv_base"), _adversary),
    Setting("strength of the push", "not stated", "Table 5", lambda fit: fit.params["lam"], _adversary,
            note="the weakest that moves attention far is judged; 0 is a control"),
    Setting("epochs of an adversary", 80, WP, "train.epochs", _adversary, note=TIME),
    Setting("epoch of an adversary kept by", "train_loss", WP, "train.monitor", _adversary),
    # measures
    Setting("texts for correlations and entropies", None, "Table 6: all", "params.texts", _measure("readings"),
            note=f"a sample, {TIME}", of="measure"),
    Setting("texts for the influence on hidden states", None, "Table 1: all", "params.hidden_texts",
            _measure("readings"), note=f"a sample, {TIME}", of="measure"),
    Setting("texts for Appendix A", "not stated", "Appendix A", "params.texts", _measure("appendix"),
            note="a sample: one backward pass per component of every state", of="measure"),
]  # fmt: skip
"""Every setting that the paper or what it builds on has; `note`: why ours differs where it does."""
