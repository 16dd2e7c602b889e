"""Fitted: a trained model with all it needs to read text, predict, be traced, saved and loaded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
import torch
from scipy.special import log_softmax

from attnlib.data.checks import some
from attnlib.data.types import Example
from attnlib.training import saving
from attnlib.utils.device import measuring, resolve
from attnlib.utils.errors import DataError, TrainingError

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from attnlib.config import ModelConfig, TrainConfig
    from attnlib.data.batching import Batch, Vectoriser
    from attnlib.models.trace import Trace

Text = str | tuple[str, str] | Example
"""A raw text, a raw text with its query, or an Example."""
GRAPH_TOKENS = 2**11
"""Most padded positions of a trace that keeps its graph."""


def scores(labels: np.ndarray, logits: np.ndarray) -> dict[str, float]:
    """All scores of labels (N,) and logits (N, C) at once.

    accuracy; f1_macro: mean F1 over the classes that occur among labels or predictions; f1_positive: F1 of class 1
    of two, else NaN; auc: area under the ROC curve of z_1 - z_0, NaN unless there are two classes and both occur;
    loss: mean cross-entropy, in nats; n: number of texts
    """
    from sklearn.metrics import f1_score, roc_auc_score  # here, since it takes half a second to import

    labels, logits = np.asarray(labels), np.asarray(logits, dtype=np.float64)
    predicted = logits.argmax(1)
    found = {
        "accuracy": float((predicted == labels).mean()),
        "f1_macro": float(f1_score(labels, predicted, average="macro")),
        "f1_positive": float("nan"),
        "auc": float("nan"),
        "loss": float(-log_softmax(logits, axis=1)[np.arange(len(labels)), labels].mean()),
        "n": len(labels),
    }
    if logits.shape[1] == 2:
        found["f1_positive"] = float(f1_score(labels, predicted, labels=[1], average="macro", zero_division=0))
        if len(np.unique(labels)) == 2:
            found["auc"] = float(roc_auc_score(labels, logits[:, 1] - logits[:, 0]))
    return found


class Prediction(NamedTuple):
    """labels: class names; probabilities: (n, C), columns in the order of `Fitted.classes`."""

    labels: list[str]
    probabilities: np.ndarray


class TextClassifier:
    """What a model that reads text does with it, whoever trained it.

    model    (batch, embedded) -> its answers; `model.embed(batch)` gives what `embedded` may replace
    classes  names in the order of the logits;  query: whether its texts come with a query
    """

    model: torch.nn.Module
    vectoriser: Vectoriser
    classes: tuple[str, ...]
    query: bool

    @property
    def device(self) -> torch.device:
        return next(self.model.parameters()).device

    def to(self, device: str | torch.device) -> Self:
        """Move the model; returns itself."""
        self.model.to(resolve(device))
        return self

    def predict(self, texts: Text | Iterable[Text], *, batch_size: int = 256) -> Prediction:
        """Labels and probabilities of raw texts, of (text, query) pairs or of Examples."""
        logits = self.logits(self.examples(texts), batch_size=batch_size)
        shifted = np.exp(logits - logits.max(1, keepdims=True))
        return Prediction([self.classes[k] for k in logits.argmax(1)], shifted / shifted.sum(1, keepdims=True))

    def evaluate(self, examples: Iterable[Example], *, batch_size: int = 256) -> dict[str, float]:
        """accuracy, f1_macro, f1_positive, auc, loss (mean cross-entropy) and n. See `scores`."""
        examples = self.examples(examples)
        if bad := [e.id or str(i) for i, e in enumerate(examples) if not 0 <= e.label < len(self.classes)]:
            raise DataError(f"Labels must index the classes {self.classes}; they do not in {some(bad)}.")
        labels = np.array([e.label for e in examples])
        return scores(labels, self.logits(examples, batch_size=batch_size))

    def logits(self, examples: Iterable[Example], *, batch_size: int = 256) -> np.ndarray:
        """(n, C) logits in the order given."""
        examples = self.examples(examples)
        out = None
        for batch, trace in self.traces(examples, batch_size=batch_size):
            values = trace.logits.double().cpu().numpy()
            out = np.empty((len(examples), values.shape[1])) if out is None else out
            out[batch.rows.cpu().numpy()] = values
        return out

    def trace(self, examples: Iterable[Text], *, grad: bool = False) -> Trace:
        """One padded Trace of all texts, in the order given. `grad` keeps the graph from the word embeddings on."""
        encoded = self.vectoriser.encode(self.examples(examples))
        batch = self.vectoriser.batch(encoded).to(self.device)
        return self._traced(batch, grad)

    def traces(
        self, examples: Iterable[Text], batch_size: int = 256, *, grad: bool = False
    ) -> Iterator[tuple[Batch, Trace]]:
        """Batches of texts of similar length with their traces; `batch.rows` holds the index of each text."""
        most = GRAPH_TOKENS if grad else None
        for batch in self.vectoriser.batches(self.examples(examples), batch_size, max_tokens=most):
            batch = batch.to(self.device)
            yield batch, self._traced(batch, grad)

    def _traced(self, batch: Batch, grad: bool) -> Trace:
        with self.evaluating(grad=grad):
            # a separate leaf: embeddings that were frozen in training would get no gradients
            embedded = self.model.embed(batch).detach().requires_grad_() if grad else None
            trace = self.model(batch, embedded)
        if not trace.logits.isfinite().all():
            bad = [name for name, p in self.model.named_parameters() if not p.isfinite().all()]
            why = f"NaN or infinity stands in {some(bad)}" if bad else "its weights are too large to compute with"
            told = f"This model answers with NaN or infinity, which is no decision: {why}"
            raise TrainingError(f"{told}. Train it again with a smaller learning rate, or load another copy.")
        return trace

    @contextmanager
    def evaluating(self, *, grad: bool = False) -> Iterator[None]:
        """Eval mode and whole precision, with a graph or without."""
        if any(part.training for part in self.model.modules()):  # to set what is set costs more than to look
            self.model.eval()
        with measuring(grad=grad):
            yield

    def tokens(self, text: Text) -> list[str]:
        """The units the model attends to: words, or word pieces for bert."""
        return self.vectoriser.tokens(self.examples(text)[0])

    def examples(self, texts: Text | Iterable[Text]) -> Sequence[Example]:
        """Raw texts as Examples, made with the corpus's own preprocessing; Examples pass through."""
        if isinstance(texts, str | Example) or (self.query and _is_pair(texts)):
            texts = [texts]
        if not isinstance(texts, Iterable) or isinstance(texts, Mapping) or hasattr(texts, "columns"):
            raise DataError(
                f"Texts are strings or Examples, one or a list of them; got {type(texts).__name__}. Of a corpus, "
                "give a part, such as corpus.test; of a table, its column of texts."
            )
        examples = [self._example(text) for text in texts]
        if not examples:
            raise DataError("No text was given; at least one is needed.")
        if empty := [i for i, e in enumerate(examples) if not e.tokens]:
            raise DataError(
                f"{len(empty)} of {len(examples)} texts hold no token after preprocessing, at position "
                f"{some(empty)}. Leave them out, or give them words."
            )
        if wrong := [e.id or str(i) for i, e in enumerate(examples) if bool(e.query) != self.query]:
            fits = "answers a query about a text: give (text, query) pairs" if self.query else "reads no query"
            raise DataError(f"This model {fits}; of {len(examples)} texts these differ: {some(wrong, 3)}.")
        return examples

    def typed(self, text: str, query: str | None = None) -> Example:
        """A typed text (with its query) as an Example without a label."""
        read = self.vectoriser.preprocessing.tokens
        return Example(read(text), -1, query=None if query is None else read(query))

    def _example(self, text: Text) -> Example:
        if isinstance(text, Example):
            return text
        if isinstance(text, str):
            return self.typed(text)
        if self.query and _is_pair(text):
            return self.typed(*text)
        allowed = "an Example or a (text, query) pair of strings" if self.query else "a string or an Example"
        raise DataError(f"A text for this model is {allowed}; got {text!r}.")


@dataclass(eq=False, repr=False)
class Fitted(TextClassifier):
    """A trained model in eval mode, with all it needs to read text.

    history  one row per epoch: loss and its terms, dev_* scores, learning_rate, best (kept), seconds
    notes    what training did that a reader should know, such as what a warm start could not copy

    >>> labels, probabilities = fitted.predict(["a great morning", "a terrible morning"])
    >>> labels, probabilities.shape
    (['positive', 'negative'], (2, 2))
    >>> fitted.evaluate(corpus.test)["accuracy"] > 0.9
    True
    """

    model: torch.nn.Module
    vectoriser: Vectoriser
    model_config: ModelConfig
    train_config: TrainConfig
    classes: tuple[str, ...]
    history: pd.DataFrame
    seed: int
    query: bool = False
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.model.eval()
        self.classes, self.notes = tuple(self.classes), tuple(self.notes)

    hierarchical = property(lambda self: self.model_config.hierarchical)

    def save(self, folder: str | Path) -> Path:
        """Write weights (safetensors) and all else (JSON) to a folder, all or nothing."""
        return saving.save(self, folder)

    def __eq__(self, other: object) -> bool:
        """Same configs, classes, seed, vocabulary, history (but for seconds) and, bit for bit, parameters."""
        if not isinstance(other, Fitted):
            return NotImplemented
        mine, theirs = self.model.state_dict(), other.model.state_dict()
        return (
            hash(self) == hash(other)
            and self.history.drop(columns="seconds").equals(other.history.drop(columns="seconds"))
            and mine.keys() == theirs.keys()
            and all(torch.equal(mine[k].cpu(), theirs[k].cpu()) for k in mine)
            and self.vectoriser.to_json() == other.vectoriser.to_json()
        )

    def __hash__(self) -> int:
        return hash((self.model_config, self.train_config, self.classes, self.seed))

    def __repr__(self) -> str:
        c = self.model_config
        kept = self.history["epoch"][self.history["best"]]
        epoch = f"epoch {int(kept.iloc[0])} of {len(self.history)}" if len(kept) else "untrained"
        parts = f"{c.encoder}, {c.attention}, {c.projection}, scaling {c.scaling}, regulariser {c.regulariser}"
        return f"Fitted({parts}; {epoch}, seed {self.seed}, classes: {', '.join(self.classes)})"


def load_model(folder: str | Path, device: str = "auto") -> Fitted:
    """The Fitted that `Fitted.save` wrote to a folder."""
    return Fitted(**saving.load(folder, device))


def _is_pair(text: object) -> bool:
    return isinstance(text, tuple) and len(text) == 2 and all(isinstance(part, str) for part in text)
