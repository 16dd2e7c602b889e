"""What a fitted model computes for each token of a text, as a heat map."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attnlib.engine.explainable import explained, is_model
from attnlib.measures.perturbation import token_probabilities
from attnlib.rankings.scores import METHODS, importance
from attnlib.utils.errors import ConfigError, UnknownName, unknown
from attnlib.viz.prose import Html
from attnlib.viz.textmap import LIMIT, Scale, text_heatmap

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Explainable
    from attnlib.models.trace import Trace

__all__ = ["Html", "Reading", "Scale", "heatmap", "read", "text_heatmap"]


def heatmap(
    fitted: Explainable,
    texts: str | Example | Sequence[str | Example],
    by: str | Sequence[str] = "alpha",
    *,
    target: str | None = None,
    seed: int = 0,
    limit: int = LIMIT,
) -> Html:
    """Texts coloured by what a fitted model computes for their tokens.

    by      `alpha`, `probability` (see `Reading`), any name of `attnlib list importances`, or several as rows.
            A Hugging Face classifier has no `probability`; its `alpha` is `cls_last`
    target  class that `probability` refers to; default: the second of two classes, the predicted one of more

    >>> page = al.heatmap(fitted, "a great morning", ["alpha", "omission"])  # shows itself in a notebook
    >>> "predicted positive" in str(page)
    True
    """
    shown = [reading.html(limit=limit) for reading in read(fitted, texts, by, target=target, seed=seed)]
    return Html("".join(one.html for one in shown), "\n\n".join(one.text for one in shown))


def clearest(models: Iterable[Explainable], texts: Sequence[str | Example]) -> np.ndarray:
    """Indices of texts, those first that every model classifies correctly with the most confidence.

    By the probability of the true class in the model where it is lowest; of the predicted class where the true one
    is not known. Ties keep the order given.
    """
    found = []
    for fitted in models:
        labels = np.array([example.label for example in explained(fitted, texts)])
        p = fitted.predict(texts).probabilities
        found.append(np.where(labels < 0, p.max(1), p[np.arange(len(labels)), labels]))
    return np.argsort(-np.min(found, axis=0), kind="stable")


@dataclass(frozen=True)
class Reading:
    r"""What a model computes for one text, token by token.

    rows  by name: `alpha`, the attention weights (of a hierarchical model, word weight times sentence weight);
          `probability`, the decoder's output with all attention on that token alone,
          p_t = softmax(b + s_t W h_t) (Tutek & Šnajder 2020, section 5; s_t = 1 without scaling); importances
    """

    example: Example
    tokens: tuple[str, ...]
    rows: dict[str, np.ndarray]
    classes: tuple[str, ...]
    probabilities: np.ndarray
    target: int
    unknown_words: tuple[bool, ...] = ()

    @property
    def labelled(self) -> bool:
        """Whether the true class is known."""
        return self.example.label >= 0

    @property
    def predicted(self) -> int:
        """Index of the predicted class."""
        return int(self.probabilities.argmax())

    def labels(self) -> dict[str, str]:
        """Row name -> what a reader sees."""
        names = {"alpha": "attention", "probability": f"p({self.classes[self.target]})"}
        return {name: names.get(name, name.replace("_", " ")) for name in self.rows}

    def head(self) -> Html:
        """The line of the prediction."""
        predicted, p = self.classes[self.predicted], self.probabilities[self.predicted]
        told = [("predicted ", predicted, f" with p = {p:.2f}")]
        if self.labelled:
            right = self.predicted == self.example.label
            told.append(("true class ", self.classes[self.example.label], "" if right else " ✗"))
        if self.example.query is not None:
            told.append(("asked: ", " ".join(self.example.query), ""))
        html = " · ".join(f"{before}<b><bdi>{escape(name)}</bdi></b>{after}" for before, name, after in told)
        return Html(html, " · ".join("".join(parts) for parts in told))

    def html(self, **options) -> Html:
        """The text coloured by its rows; options as of `text_heatmap`."""
        labels, name = self.labels(), self.classes[self.target]
        other = self.classes[1 - self.target] if len(self.classes) == 2 else ""
        scales = {labels.get("probability"): Scale.probability(len(self.classes), other, name)}
        options = {"head": self.head(), "scales": scales, "unknown_words": self.unknown_words or None} | options
        rows = {labels[row]: values for row, values in self.rows.items()}
        return text_heatmap(self.tokens, rows, marked=self.marked, **options)

    @property
    def marked(self) -> Sequence[bool] | None:
        """The rationale, where there is one of these tokens."""
        rationale = self.example.rationale
        return rationale if rationale is not None and len(rationale) == len(self.tokens) else None


def read(
    fitted: Explainable,
    texts: str | Example | Sequence[str | Example],
    by: str | Sequence[str] = "alpha",
    *,
    target: str | None = None,
    seed: int = 0,
) -> list[Reading]:
    """One `Reading` per text, in the order given; `by` and `target` as of `heatmap`."""
    is_model(fitted)
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if not isinstance(name, str):
            raise ConfigError(
                f"Rows of a heat map are names, such as alpha; got {type(name).__name__}. For scores of your own: "
                "attnlib.viz.textmap.text_heatmap(tokens, scores)."
            )
        if name not in METHODS and name != "probability":
            raise UnknownName(unknown("row of a heat map", name, {*METHODS, "probability"}))
    if "probability" in names and not hasattr(fitted, "model_config"):
        raise ConfigError(
            "Row 'probability' decodes each token alone, as one pooling attention allows; a Hugging Face "
            "classifier has none. Use alpha, rollout, attention_grad or omission."
        )
    if target is not None and target not in fitted.classes:
        raise UnknownName(unknown("class", target, fitted.classes))
    examples, classes = explained(fitted, texts), tuple(fitted.classes)
    scores = {name: importance(fitted, examples, name, seed=seed) for name in names if name != "probability"}
    readings: list[Reading | None] = [None] * len(examples)
    for batch, trace in fitted.traces(examples):
        for b, place in enumerate(batch.rows.tolist()):
            p = trace.probabilities[b].double().cpu().numpy()
            named = 1 if len(classes) == 2 else int(p.argmax())
            aim = named if target is None else classes.index(target)
            rows = {n: scores[n][place] if n in scores else _alone(trace, b, aim) for n in names}
            new = (batch.ids[b][batch.content[b]] == fitted.vectoriser.unk_id).tolist()
            tokens = tuple(fitted.tokens(examples[place]))
            readings[place] = Reading(examples[place], tokens, rows, classes, p, aim, tuple(new))
    return readings


def _alone(trace: Trace, b: int, target: int) -> np.ndarray:
    """The row `probability` of text b; the words of a sentence share that of their sentence."""
    alone, mask = token_probabilities(trace)[b, :, target], trace.mask[b]
    if trace.words is not None:
        mask = trace.words.mask.view(*trace.mask.shape, -1)[b]
        alone = alone[:, None].expand_as(mask)
    return alone[mask].detach().double().cpu().numpy()
