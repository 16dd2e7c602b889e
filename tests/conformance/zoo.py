"""Models of every kind, small, in float64, with predictions that vary from text to text."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from functools import cache

import torch

from attnlib.config import ModelConfig, TrainConfig
from attnlib.data import load_corpus
from attnlib.data.batching import WordVectoriser
from attnlib.rankings.base import Case
from attnlib.training.fit import fit

SIZE = {"embedding_size": 12, "hidden_size": 16}
KINDS: dict[str, dict] = {
    "none": {"encoder": "none"},
    "mlp": {"encoder": "mlp", "attention": "dot"},
    "mlp-lin": {"encoder": "mlp", "scaling": "lin"},
    "mlp-entmax-feat": {"encoder": "mlp", "projection": "entmax", "scaling": "feat"},
    "mlp-concat": {"encoder": "mlp", "regulariser": "concat", "attention": "deep"},
    "cnn": {"encoder": "cnn"},
    "cnn-conv": {"encoder": "cnn", "scaling": "conv", "attention": "dot"},
    "cnn-sparse-concat": {"encoder": "cnn", "projection": "sparsegen", "regulariser": "concat"},
    "cnn-residual": {"encoder": "cnn", "regulariser": "residual", "hidden_size": 12},
    "cnn-2": {"encoder": "cnn", "layers": 2},
    "lstm": {"encoder": "lstm"},
    "lstm-lin-dot": {"encoder": "lstm", "scaling": "lin", "attention": "dot"},
    "lstm-concat-sparse": {"encoder": "lstm", "regulariser": "concat", "projection": "sparsemax"},
    "lstm-residual": {"encoder": "lstm", "regulariser": "residual", "hidden_size": 12, "attention": "deep"},
    "lstm-2": {"encoder": "lstm", "layers": 2},
    "lstm-left": {"encoder": "lstm", "bidirectional": False},
    "gru": {"encoder": "gru"},
    "gru-gumbel-feat": {"encoder": "gru", "projection": "gumbel", "scaling": "feat"},
    "gru-mlm": {"encoder": "gru", "regulariser": "mlm", "hidden_size": 12},
    "transformer": {"encoder": "transformer", "layers": 2, "heads": 2},
    "transformer-sparse": {"encoder": "transformer", "projection": "sparsemax", "scaling": "lin"},
    "transformer-post": {"encoder": "transformer", "layers": 2, "transformer_norm": "post"},
    "bert": {"encoder": "bert"},
    "lstm-special": {"encoder": "lstm", "scaling": "lin"},
    "cnn-special": {"encoder": "cnn"},
    "mlp-special": {"encoder": "mlp", "projection": "sparsemax"},
    "han-gru": {"encoder": "gru", "hierarchical": True},
    "han-none": {"encoder": "none", "hierarchical": True},
    "han-cnn-sparse": {"encoder": "cnn", "hierarchical": True, "projection": "sparsemax"},
    "han-transformer": {"encoder": "transformer", "hierarchical": True},
    "query-lstm": {"encoder": "lstm"},
    "query-mlp": {"encoder": "mlp", "attention": "dot"},
    "query-cnn": {"encoder": "cnn", "attention": "deep"},
    "query-gru-sparse": {"encoder": "gru", "projection": "sparsemax", "scaling": "lin"},
}
_FOLDERS: list[tempfile.TemporaryDirectory] = []
FLAT = [name for name in KINDS if not name.startswith("han")]


@cache
def corpus(task: str = "classification"):
    options = {"task": task} if task == "qa" else {"classes": 3, "shortest": 8, "longest": 13}
    return load_corpus("planted", n_train=60, n_dev=20, n_test=20, seed=3, **options)


@cache
def fitted(name: str, seed: int = 0):
    """A freshly initialised model whose weights were spread until its answers differ from text to text.

    Names that end in -special read SOS and EOS and never attend to some frequent words, as TaSc does.
    """
    values = {**SIZE, **KINDS[name]}
    if name == "bert":
        values["pretrained"] = tiny_bert()
    found = fit(
        corpus("qa" if name.startswith("query") else "classification"),
        ModelConfig(**values),
        TrainConfig(epochs=0, precision="float64", device="cpu"),
        seed=seed,
    )
    if name.endswith("-special"):
        plain = found.vectoriser
        found.vectoriser = WordVectoriser(
            plain.vocabulary, plain.preprocessing, special=True, unattended=("the", ".", "a", "was")
        )
    spread(found)
    return found


@cache
def tiny_bert() -> str:
    """A folder with a random BERT of two layers and a tokeniser that must spell every eighth word of the corpus."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    # Kept until the process ends: models are loaded from it when they are first asked for.
    place = tempfile.TemporaryDirectory()
    _FOLDERS.append(place)
    words = corpus().vocabulary.words[4:]
    known = [word for i, word in enumerate(words) if i % 8]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *known]
    pieces += [piece for c in "abcdefghijklmnopqrstuvwxyz" for piece in (c, "##" + c) if piece not in known]
    vocabulary = {piece: i for i, piece in enumerate(pieces)}
    BertTokenizerFast(vocab=vocabulary, model_max_length=100).save_pretrained(place.name)
    torch.manual_seed(0)
    sizes = {"vocab_size": len(pieces), "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    BertModel(BertConfig(**sizes, intermediate_size=32, max_position_embeddings=128)).save_pretrained(place.name)
    return place.name


def spread(found) -> None:
    """Larger weights and a decoder centred on these texts: random models otherwise always say the same."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for part in ("attention", "scaling", "decoder"):
            for p in found.model.parts()[part].parameters():
                p += 0.8 * torch.randn(p.shape, generator=generator, dtype=p.dtype)
        out = found.model.decoder if not found.query else found.model.decoder.out
        out.weight *= 3
        trace = found.trace(texts(found, 20))
        # Off the median by a little, lest the text in the middle be undecided between two classes.
        out.bias -= trace.logits.median(0).values + 0.01 * torch.arange(len(out.bias))


def texts(found, n: int = 6):
    """Texts for a model; for a hierarchical one, of three sentences each."""
    chosen = corpus("qa" if found.query else "classification").test[:n]
    if found.model_config.hierarchical:
        return tuple(replace(text, sentences=(0, 3, 6)) for text in chosen)
    return chosen


def case(fitted, texts, level="input", target="logit") -> Case:
    """A batch of these texts as importance methods get it."""
    batch = fitted.vectoriser.batch(fitted.vectoriser.encode(texts))
    with torch.no_grad():
        return Case(fitted, batch, fitted.model(batch), level, target, 0)
