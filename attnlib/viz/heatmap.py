"""What a fitted model computes for each token of a text, as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attnlib.engine.explainable import explained, is_model
from attnlib.importance.scores import METHODS, importance
from attnlib.measures.perturbation import token_probabilities
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError, UnknownName, unknown
from attnlib.viz.textmap import LIMIT, Html, Scale, text_heatmap

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Answers, Explainable

__all__ = ["Html", "Reading", "Scale", "heatmap", "read", "text_heatmap"]

OWN_ROWS = ("alpha", "probability")
"""Rows read off the trace; every other name is an importance."""


def heatmap(
    fitted: Explainable,
    texts: str | Example | Sequence[str | Example],
    by: str | Sequence[str] = "alpha",
    *,
    target: str | None = None,
    seed: int = 0,
    limit: int = LIMIT,
    numbers: bool | None = None,
) -> Html:
    """Texts coloured by what a fitted model computes for their tokens.

    by      `alpha`, `probability` (see `Reading`), any name of `attnlib list importances`, or several as rows.
            A Hugging Face classifier has no `probability`; its `alpha` is `cls_last`
    target  class that `probability` refers to; default: the second of two classes, the predicted one of more

    >>> page = al.heatmap(fitted, "a great morning", ["alpha", "omission"])  # shows itself in a notebook
    >>> "predicted positive" in str(page)
    True
    """
    shown = [
        reading.html(limit=limit, numbers=numbers) for reading in read(fitted, texts, by, target=target, seed=seed)
    ]
    return Html("".join(one.html for one in shown), "\n\n".join(one.text for one in shown))


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
    labelled: bool = True

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
        labels = self.labels()
        scales = {}
        if "probability" in self.rows:
            other = self.classes[1 - self.target] if len(self.classes) == 2 else ""
            name = self.classes[self.target]
            scales[labels["probability"]] = Scale.probability(len(self.classes), other, name)
        options = {"head": self.head(), "scales": scales, "unknown_words": self.unknown_words or None} | options
        rationale = self.example.rationale
        if rationale is not None and len(rationale) == len(self.tokens):
            options.setdefault("marked", rationale)
        return text_heatmap(self.tokens, {labels[name]: row for name, row in self.rows.items()}, **options)


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
    if "probability" in names and not hasattr(fitted, "model_config"):
        raise ConfigError(
            "Row 'probability' decodes each token alone, as one pooling attention allows; a Hugging Face "
            "classifier has none. Use alpha, rollout, attention_grad or omission."
        )
    if target is not None and target not in fitted.classes:
        raise UnknownName(unknown("class", target, fitted.classes))
    wanted = None if target is None else list(fitted.classes).index(target)
    for name in names:
        if name not in METHODS and name not in OWN_ROWS:
            raise UnknownName(unknown("row of a heat map", name, {*METHODS, *OWN_ROWS}))
    examples = explained(fitted, texts)
    scores = {name: importance(fitted, examples, name, seed=seed) for name in names if name not in OWN_ROWS}
    readings: list[Reading | None] = [None] * len(examples)
    for batch, trace in fitted.traces(examples):
        for b, place in enumerate(batch.rows.tolist()):
            own, probabilities, aim = _own_rows(trace, b, len(fitted.classes), wanted)
            rows = {name: own[name] if name in OWN_ROWS else np.asarray(scores[name][place]) for name in names}
            ids = batch.ids[b][batch.content[b]]
            readings[place] = Reading(
                example=examples[place],
                tokens=tuple(fitted.tokens(examples[place])),
                rows=rows,
                classes=tuple(fitted.classes),
                probabilities=probabilities,
                target=aim,
                unknown_words=tuple((ids == fitted.vectoriser.unk_id).tolist()),
                labelled=examples[place].label >= 0,
            )
    return readings


def _own_rows(
    trace: Answers, b: int, n_classes: int, target: int | None
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """alpha and probability of text b, its class probabilities and the class `probability` refers to."""
    probabilities = trace.probabilities[b].double().cpu().numpy()
    if target is None:
        target = 1 if n_classes == 2 else int(probabilities.argmax())
    if not isinstance(trace, Trace):
        rows = {"alpha": trace.alpha[b][trace.mask[b]].double().cpu().numpy()}
        return rows, probabilities, target
    alone = token_probabilities(trace)[b, :, target]
    alpha, mask = trace.alpha[b], trace.mask[b]
    if trace.words is not None:
        # Rows of the word level are the texts' sentences: a word's weight is scaled by its sentence's.
        mask = trace.words.mask.view(*trace.mask.shape, -1)[b]
        alpha = trace.words.alpha.view(*trace.mask.shape, -1)[b] * alpha[:, None]
        alone = alone[:, None].expand_as(alpha)
    rows = {"alpha": alpha[mask], "probability": alone[mask]}
    return {name: row.detach().double().cpu().numpy() for name, row in rows.items()}, probabilities, target
