"""What a model must offer to be explained, and the two questions every test asks it.

`Explainable` is the contract: the kit's own `Fitted` and a Hugging Face classifier (`attnlib.hf`) both keep it, so
importances, erasure, heat maps and the audit take either. What needs more than the model's own code are functions
of it: `importance` and `readings` (`attnlib.rankings.scores`), `erase`, `operators`, `cut` and `aligned` here,
`swap_attention` (`attnlib.measures.perturbation`).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import singledispatch
from operator import index
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from attnlib.data.batching import Batch
from attnlib.data.checks import DataWarning
from attnlib.data.types import Example
from attnlib.engine import attention
from attnlib.engine.rows import OPERATORS
from attnlib.engine.select import input_eraser
from attnlib.models.trace import Trace
from attnlib.training.fitted import Prediction, Text
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError, DataError, one_of

Answer = Callable[[int, Sequence[Iterable[int]]], Tensor]
"""A text of a batch and N sets of its units, to the logits without them (N, C) float64."""
ATTENTION = "attention"


class Answers(Protocol):
    """What one forward pass must tell: `Trace` does, and more.

    mask (B, T) bool: the units, as in `Batch.content`; logits (B, C), from which probabilities and prediction
    follow; alpha (B, T): the attention that each unit gets, of a Hugging Face model `cls_last`
    """

    mask: Tensor
    logits: Tensor
    alpha: Tensor
    probabilities: Tensor
    prediction: Tensor


class Explainable(Protocol):
    """A text classifier that can be read and erased. Units are what it attends to: words.

    classes       names of the classes, in the order of the logits
    hierarchical  whether its attention looks at sentences: units then differ between input and attention
    """

    classes: tuple[str, ...]
    hierarchical: bool

    def examples(self, texts: Text | Iterable[Text]) -> list[Example]:
        """Raw texts as Examples; Examples pass through. Texts without a word are refused."""

    def tokens(self, text: Text) -> list[str]:
        """The units of a text, in order: `importance` gives one number for each."""

    def predict(self, texts: Text | Iterable[Text], *, batch_size: int = 256) -> Prediction:
        """Labels and probabilities (n, C)."""

    def logits(self, examples: Iterable[Text], *, batch_size: int = 256) -> np.ndarray:
        """(n, C) float64, in the order given."""

    def evaluate(self, examples: Iterable[Example], *, batch_size: int = 256) -> dict[str, float]:
        """accuracy, f1_macro, f1_positive, auc, loss and n."""

    def traces(self, examples: Iterable[Text], batch_size: int = 256) -> Iterator[tuple[Batch, Answers]]:
        """Batches of bounded size with what the model answers; `batch.rows` holds the index of each text."""


def is_model(model: object) -> None:
    """Refuse what is no model: arguments in the wrong order, or a path that has not been loaded."""
    if not hasattr(model, "examples"):
        path = isinstance(model, str | Path)
        todo = f"Load it: al.load_model({str(model)!r})" if path else "The model comes first, then the texts"
        raise ConfigError(f"A model is what al.fit or al.load_model returns; got {type(model).__name__}. {todo}.")


def explained(model: Explainable, texts: Text | Iterable[Text]) -> Sequence[Example]:
    """The texts as Examples of the model, for a function that takes both."""
    is_model(model)
    return model.examples(texts)


def erase(
    model: Explainable,
    texts: Iterable[Text],
    removed: Iterable[Sequence[Iterable[int]]],
    *,
    operator: str | None = None,
    batch_size: int = 256,
) -> list[np.ndarray]:
    """Logits of texts without sets of their units: one array (sets, C) float64 per text, in the order given.

    removed   for each text its sets, each a collection of indices into `model.tokens(text)`; the empty set is the
              whole text
    operator  one of `operators(model)`; None: the first of them

    >>> (logits,) = al.erase(fitted, ["a great morning"], [[[], [1], [1, 2]]])
    >>> logits.shape
    (3, 2)
    >>> bool(logits[0, 1] > logits[1, 1])  # "positive" loses without "great"
    True
    """
    examples, sets = explained(model, texts), [_sets(of_text) for of_text in removed]
    allowed = operators(model)
    operator = operator or allowed[0]
    one_of("operator", operator, allowed)
    if len(sets) != len(examples):
        raise DataError(f"erase: sets were given for {len(sets)} texts, there are {len(examples)}.")
    found: list[np.ndarray | None] = [None] * len(examples)
    with measuring():
        for batch, trace in model.traces(examples, batch_size):
            answer = answers(model, batch, trace, operator)
            for i, row in enumerate(batch.rows.tolist()):
                found[row] = answer(i, sets[row]).cpu().numpy()
    return found


def _sets(of_text: Sequence[Iterable[int]]) -> list[list[int]]:
    try:
        return [[index(i) for i in one] for one in of_text]
    except TypeError:
        raise DataError(
            "erase: for each text, give a list of sets of whole numbers, such as [[0], [1, 2]]; got "
            f"{of_text!r:.60}."
        ) from None


@singledispatch
def operators(model: Explainable) -> tuple[str, ...]:
    """The ways to remove a word from this model's input, the default first, and last `attention`."""
    rows = model.model.embedding.num_embeddings
    mask = model.vectoriser.mask_id
    has = {"mask": mask is not None and mask < rows}
    return (*(name for name in OPERATORS if has.get(name, True)), ATTENTION)


def answers(model: Explainable, batch: Batch, trace: Answers, operator: str) -> Answer:
    """What answers for the texts of a traced batch without sets of their units."""
    closed = operator == ATTENTION and isinstance(trace, Trace)
    eraser = None if closed else input_eraser(model, batch, trace, operator, generic=True)
    units = trace.mask if operator == ATTENTION else batch.content

    def answer(text: int, sets: Sequence[Iterable[int]]) -> Tensor:
        where = units[text].nonzero().squeeze(1)
        gone = torch.zeros(len(sets), units.shape[1], dtype=torch.bool, device=units.device)
        for k, one in enumerate(sorted({int(i) for i in some}) for some in sets):
            if one and not 0 <= one[0] <= one[-1] < len(where):
                raise DataError(f"erase: text {int(batch.rows[text])} has {len(where)} units; a set names {one}.")
            gone[k, where[one]] = True
        if eraser is None:
            return attention.without(trace, text, gone)
        return eraser.variants(torch.full((len(gone),), text, device=units.device), lambda piece: gone[piece])

    return answer


def cut(model: Explainable, examples: Iterable[Text]) -> int:
    """How many of the texts are longer than the model reads, so that their ends play no part."""
    examples, vectoriser = model.examples(examples), model.vectoriser
    if hasattr(vectoriser, "truncated"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataWarning)
            vectoriser.encode(examples)
        return vectoriser.truncated
    longest = getattr(vectoriser, "max_length", None)  # words have no limit
    return 0 if longest is None else sum(len(e) > longest for e in examples)


@singledispatch
def aligned(model: Explainable, classes: Sequence[str]) -> Explainable:
    """The model for a corpus of these classes; a Hugging Face classifier is relabelled by the names it has."""
    if tuple(classes) != model.classes:
        raise DataError(
            f"The classes of the model and of the data differ. Model: {', '.join(model.classes)}. Data: "
            f"{', '.join(classes)}. Use a corpus with the model's classes."
        )
    return model
