"""HFClassifier: a Hugging Face sequence classifier that keeps the contract `Explainable`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from attnlib.data.types import Example
from attnlib.engine.explainable import aligned, operators
from attnlib.engine.rows import Rows
from attnlib.engine.select import input_eraser
from attnlib.hf.network import HFAnswers, Network, NoClosedForm
from attnlib.hf.words import PIECES, HFVectoriser, WordBatch, raw_text
from attnlib.training.fitted import TextClassifier
from attnlib.utils.errors import ConfigError, DataError


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
