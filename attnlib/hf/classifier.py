"""HFClassifier, a Hugging Face sequence classifier that keeps the contract `Explainable`, and `load_model`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attnlib.data.pretrained import reading, refuse_pickles
from attnlib.data.types import Example
from attnlib.data.wordpieces import fast_tokenizer, longest_text
from attnlib.engine.explainable import aligned, operators
from attnlib.engine.rows import Rows
from attnlib.engine.select import input_eraser
from attnlib.hf.network import HFAnswers, Network, NoClosedForm
from attnlib.hf.words import PIECES, HFVectoriser, WordBatch, raw_text
from attnlib.training import fitted
from attnlib.training.fitted import TextClassifier
from attnlib.training.saving import INDEX
from attnlib.utils.device import resolve
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.extras import needs
from attnlib.utils.paths import user_path

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


class HFClassifier(TextClassifier):
    """A Hugging Face sequence classifier, at the level of words; made by `attnlib.load_model`."""

    def __init__(self, network: Network, vectoriser: HFVectoriser, classes: Sequence[str], *, query: bool = False):
        self.model, self.vectoriser, self.classes, self.query = network, vectoriser, tuple(classes), query
        words = "one text" if not query else ("one text", "one query")
        self.model.probe(vectoriser.batch(self.examples(words)).to(self.device))

    hierarchical = False

    def typed(self, text: str, query: str | None = None) -> Example:
        return raw_text(text, query)

    def __getattr__(self, name: str) -> Any:
        if name in ("model_config", "train_config", "history", "save"):
            raise NoClosedForm(name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        kind = type(self.model.network).__name__
        return (
            f"HFClassifier({kind}, {self.model.layers} layers of {self.model.heads} heads, at most "
            f"{self.vectoriser.max_length} pieces, classes: {', '.join(self.classes)})"
        )


class HFRows(Rows):
    """Input erasure for a Hugging Face classifier: variants as rows, the pieces of a pass bounded."""

    def answers(self, texts: Tensor, removed: Tensor) -> Tensor:
        return self.model(self.operator(self.batch.select(texts), removed)).logits.double()

    def passes(self, texts: Tensor, removed: Tensor) -> Iterator[Tensor]:
        step = max(1, PIECES // self.batch.pieces.ids.shape[1])
        return iter(torch.arange(len(texts), device=texts.device).split(step))


@input_eraser.register
def _(model: HFClassifier, batch: WordBatch, trace: HFAnswers, operator: str, *, generic: bool = False) -> HFRows:
    known = model.vectoriser.operators()
    if operator not in known:
        raise ConfigError(
            f"operator {operator!r} needs a token that the tokeniser of this model lacks. Use {', '.join(known)}."
        )
    return HFRows(model.model, batch, trace, known[operator])


@operators.register
def _(model: HFClassifier) -> tuple[str, ...]:
    return tuple(model.vectoriser.operators())


@aligned.register
def relabelled(model: HFClassifier, classes: Sequence[str]) -> HFClassifier:
    """The model with its logits in the order of a corpus's classes, by their names; others come last.

    LABEL_0, LABEL_1, … stand for the labels 0, 1, …; against other names they are refused.
    """
    plain = [_plain(name) for name in model.classes]
    numbered = [name.removeprefix("label") for name in plain]
    if all(name.startswith("label") and number.isdigit() for name, number in zip(plain, numbered, strict=True)):
        plain = plain if {_plain(c) for c in classes} <= set(plain) else numbered
    places = [plain.index(name) if (name := _plain(c)) in plain else None for c in classes]
    if None in places or len(set(places)) < len(places):
        raise DataError(
            f"The classes of the model and of the data do not map. Model: {', '.join(model.classes)}. Data: "
            f"{', '.join(classes)}. Name the model's in the order of its logits: load_model(PLACE, classes=(…))."
        )
    rest = [i for i in range(len(plain)) if i not in places]
    order = model.model.order[torch.tensor([*places, *rest], device=model.model.order.device)]
    network = Network(model.model.network, order.tolist()).to(model.device)
    names = (*classes, *(model.classes[i] for i in rest))
    return HFClassifier(network, model.vectoriser, names, query=model.query)


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c not in "_- ")


def load_model(
    place: str | Path,
    device: str = "auto",
    *,
    revision: str | None = None,
    classes: Sequence[str] | None = None,
    max_length: int | None = None,
    query: bool = False,
) -> fitted.Fitted | HFClassifier:
    """A saved model: the folder that `Fitted.save` wrote, or a Hugging Face `AutoModelForSequenceClassification`.

    place       a folder (of attnlib, or of `save_pretrained` with its tokeniser), or a hub id, of which
                `revision` is a branch, tag or commit
    classes     of a Hugging Face model: names in the order of the logits, where the config says LABEL_0, LABEL_1, …
    max_length  most pieces, special ones included; default: what the model reads. Longer texts are cut
    query       the model reads pairs of texts (NLI, QA): give (text, query) or Examples with a query

    Only safetensors are read, and no code that comes with a checkpoint is run.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     again = al.load_model(fitted.save(f"{folder}/model"))
    >>> again == fitted
    True
    """
    folder = user_path(place)
    given = {"revision": revision, "classes": classes, "max_length": max_length, "query": query or None}
    if (folder / INDEX).exists():
        if named := [name for name, value in given.items() if value is not None]:
            raise ConfigError(f"{folder} is a model of attnlib, which knows its own: leave out {', '.join(named)}.")
        return fitted.load_model(folder, device)
    if folder.exists() and not (folder / "config.json").is_file():
        raise DataError(
            f"{folder} holds neither a model saved by attnlib ({INDEX}) nor a Hugging Face model (config.json)."
        )
    if not folder.exists() and (isinstance(place, Path) or not HUB_ID.fullmatch(place)):
        raise DataError(f"There is no folder {folder}, and {str(place)!r} is no hub id (NAME or OWNER/NAME).")
    chosen = resolve(device)
    return _checkpoint(str(folder if folder.exists() else place), revision, classes, max_length, query).to(chosen)


def _checkpoint(
    place: str, revision: str | None, classes: Sequence[str] | None, max_length: int | None, query: bool
) -> HFClassifier:
    needs("transformers", "hub")
    from transformers import AutoConfig, AutoModelForSequenceClassification

    refuse_pickles(place)
    version = {} if revision is None else {"revision": revision}
    safe = {"trust_remote_code": False, **version}
    with reading("configuration", place):
        config = AutoConfig.from_pretrained(place, **safe)
    _refuse(config, place)
    tokenizer = fast_tokenizer(place, place, **version)
    with reading("sequence classifier", place):
        network, loaded = AutoModelForSequenceClassification.from_pretrained(
            place, use_safetensors=True, output_loading_info=True, **safe
        )
    # The library only warns of weights it did not find, and starts them at random.
    if absent := sorted(key for key in loaded["missing_keys"] if "position_ids" not in key):
        raise ConfigError(
            f"{place!r} is no trained classifier: {len(absent)} of its weights are missing, {absent[0]!r} among "
            "them. Give a model fine-tuned for sequence classification; attnlib.fit trains one."
        )
    network = network.float()
    network.config.use_cache = False
    longest = longest_text(tokenizer, _positions(network))
    if max_length is not None and not 3 <= max_length <= longest:
        raise ConfigError(f"max_length must lie between 3 and {longest} for {place!r}; got {max_length}.")
    vectoriser = HFVectoriser(tokenizer, max_length or longest, _padding(network, tokenizer))
    if vectoriser.n_ids > (rows := network.get_input_embeddings().num_embeddings):
        raise ConfigError(f"The tokeniser of {place!r} has {vectoriser.n_ids} pieces, the model embeds {rows}.")
    names = _classes(config, classes, place)
    return HFClassifier(Network(network, range(len(names))), vectoriser, names, query=query)


def _refuse(config: Any, place: str) -> None:
    """Models that give no one class per text, before their weights are read."""
    kind = getattr(config, "problem_type", None)
    wrong = None
    if config.num_labels == 1 or kind == "regression":
        wrong = "a regression: it predicts a number, not a class"
    elif kind == "multi_label_classification":
        wrong = "a multi-label classifier: it decides on each class by itself"
    elif getattr(config, "is_encoder_decoder", False):
        wrong = "made of an encoder and a decoder, whose attentions do not add up to one reading per word"
    if wrong:
        raise ConfigError(
            f"{place!r} is {wrong}. Give a classifier of one class per text, with an encoder (BERT, RoBERTa, …) or "
            "a decoder alone (GPT-2, Llama, …)."
        )


def _classes(config: Any, given: Sequence[str] | None, place: str) -> tuple[str, ...]:
    own = tuple(str(config.id2label[i]) for i in range(config.num_labels))
    names = own if given is None else tuple(map(str, given))
    if len(names) != len(own) or len(set(names)) < len(names):
        raise ConfigError(
            f"classes: {place!r} has {len(own)} ({', '.join(own)}); give as many different names, classes=(…). "
            f"Got {', '.join(names)}."
        )
    return names


def _padding(network: nn.Module, tokenizer: Any) -> int:
    """The id of padding; for a decoder without one a token that ends no text: its head reads the last piece."""
    found = network.config.pad_token_id
    if found is None or not 0 <= found < network.get_input_embeddings().num_embeddings:
        ends = set(tokenizer("a").input_ids)
        known = (tokenizer.pad_token_id, tokenizer.eos_token_id, tokenizer.bos_token_id, tokenizer.unk_token_id, 0)
        found = next(id for id in known if id is not None and id not in ends)
    network.config.pad_token_id = found
    return found


def _positions(network: nn.Module) -> int | None:
    """Pieces that the model's positions allow: those of RoBERTa begin after the number of its padding."""
    positions = getattr(network.config, "max_position_embeddings", None)
    table = next((m for name, m in network.named_modules() if name.endswith("position_embeddings")), None)
    before = getattr(table, "padding_idx", None)
    return positions if positions is None or before is None else positions - before - 1
