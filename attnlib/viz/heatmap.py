"""Texts coloured by what a model computes for their tokens, or by any numbers, as escaped HTML.

Colours are translucent and the text keeps the page's own colour, so the same HTML reads well on light and on dark
pages; every number is in the tooltip, so colour is never the only channel.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from attnlib.data.checks import floats
from attnlib.engine.explainable import explained, is_model
from attnlib.measures.perturbation import token_probabilities
from attnlib.rankings.scores import METHODS, importance
from attnlib.utils.errors import ConfigError, DataError, UnknownName, unknown
from attnlib.viz.prose import Html

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Explainable
    from attnlib.models.trace import Trace

BLUE, ORANGE = (0, 114, 178), (213, 94, 0)
"""Okabe & Ito's blue and vermillion: told apart with every common colour blindness."""
STRONGEST = 0.75
"""Opacity of the strongest colour: text keeps a contrast above 4.5 on a white page and on a black one."""
LIMIT = 150
"""Tokens shown of a long text."""
MARKED = "text-decoration:underline;text-decoration-thickness:2px;text-underline-offset:3px;"
"""Of tokens of a rationale."""


@dataclass(frozen=True)
class Scale:
    """From a number to a colour: blue grows from `low` to `high`, or orange below `centre` and blue above it."""

    low: float
    high: float
    centre: float | None = None

    @classmethod
    def of(cls, values: np.ndarray) -> Scale:
        """0 to the largest value; symmetric about 0 as soon as a value is negative."""
        finite = values[np.isfinite(values)]
        top = float(np.abs(finite).max()) if finite.size else 1.0
        return cls(-top, top, 0.0) if (finite < 0).any() else cls(0.0, top)

    @classmethod
    def probability(cls, classes: int = 2) -> Scale:
        """0 to 1 around the chance level of that many classes."""
        return cls(0.0, 1.0, 1.0 / classes)

    def strength(self, value: float) -> float:
        """Position of a value in [-1, 1]; 0 has no colour."""
        start = self.low if self.centre is None else self.centre
        end = self.low if value < start else self.high
        if not np.isfinite(value) or end == start:
            return 0.0
        position = min(abs((value - start) / (end - start)), 1.0)
        return -position if value < start else position

    def colour(self, value: float) -> str:
        """CSS colour."""
        strength = self.strength(value)
        red, green, blue = ORANGE if strength < 0 else BLUE
        return f"rgba({red},{green},{blue},{abs(strength) * STRONGEST:.3f})"

    def legend(self, label: str) -> str:
        """A strip of the scale between its two ends, as HTML."""
        stops = [self.low, self.high] if self.centre is None else [self.low, self.centre, self.high]
        strip = ",".join(self.colour(stop) for stop in stops)
        return (
            f'<span style="display:inline-block;margin-right:1.5em">{escape(label)}: {number(self.low)} '
            f'<span style="display:inline-block;width:6em;height:.7em;border:1px solid rgba(128,128,128,.6);'
            f'background:linear-gradient(90deg,{strip});vertical-align:-.05em"></span> {number(self.high)}</span>'
        )


def number(value: float) -> str:
    """Three digits that fit a small cell: 0.412, −1.24, 12.4; – where there is none."""
    if not np.isfinite(value):
        return "–"
    if value == int(value) and abs(value) < 1000:
        told = f"{value:z.0f}"
    else:
        told = f"{value:z.3f}" if abs(value) < 1 else f"{value:.2f}" if abs(value) < 10 else f"{value:.4g}"
    return told.replace("-", "−")


def text_heatmap(
    tokens: Sequence[str],
    values: Sequence[float] | np.ndarray | Mapping[str, Sequence[float] | np.ndarray],
    *,
    scales: Mapping[str, Scale] | None = None,
    head: str | Html = "",
    marked: Sequence[bool] | None = None,
) -> Html:
    """One text, coloured: its first `LIMIT` tokens; the rest is counted.

    values  one number per token, or several rows of them by name: one row colours the words
            themselves, several are aligned under their words as numbers
    scales  by row name; default: `Scale.of` the row
    head    a line above the text: a plain string is escaped, `Html` is used as it is
    marked  tokens to underline: a rationale. Word pieces (`##ing`) are joined to their word
    """
    given = values if isinstance(values, Mapping) else {"weight": values}
    rows = {str(name): floats(row, f"row {name!r}") for name, row in given.items()}
    marks = np.zeros(len(tokens), bool) if marked is None else np.asarray(marked, bool)
    for name, row in {**rows, "marked": marks}.items():
        if row.shape != (len(tokens),):
            raise DataError(f"{name!r} has the shape {row.shape}, the text {len(tokens)} tokens: one each.")
    scales = {name: (scales or {}).get(name) or Scale.of(row) for name, row in rows.items()}
    cells, numbers = [], len(rows) > 1
    for i, token in enumerate(tokens[:LIMIT]):
        own = {name: row[i] for name, row in rows.items()}
        cells.append(_cell(token, own, scales, MARKED if marks[i] else "", numbers))
    if (hidden := len(tokens) - LIMIT) > 0:
        cells.append(f'<span style="font-style:italic;opacity:.8">… {hidden:,} more tokens</span>')
    strip = "display:block;white-space:nowrap;font-size:.75em;line-height:1.7em;opacity:.85"
    names = "".join(f'<span style="{strip}">{escape(name)}</span>' for name in rows)
    gutter = f'<div style="flex:none;text-align:right"><span style="display:block">&nbsp;</span>{names}</div>'
    below = "".join(scales[name].legend(name) for name in rows)
    if marks[:LIMIT].any():
        below += "<u>underlined</u>: marked as decisive"
    below = f'<div style="font-size:.78em;margin-top:.35em;opacity:.85">{below}</div>'
    head = head if isinstance(head, Html) else Html(escape(head), head)
    above = f'<div style="margin-bottom:.3em">{head}</div>' if head.html else ""
    html = (
        f'<div role="figure" aria-label="{escape(head.text or "text")}, coloured by {escape(", ".join(rows))}" '
        f'style="margin:.6em 0 1.1em 0;padding-left:.8em;border-left:3px solid rgba(128,128,128,.35)">{above}'
        f'<div style="display:flex;gap:.4em;line-height:{1.7 if numbers else 1.9}em">{gutter if numbers else ""}'
        f'<div style="overflow-wrap:anywhere;min-width:0">{"".join(cells)}</div></div>'
        f"{below}</div>"
    )
    told = (" ".join(f"{t}[{number(v)}]" for t, v in zip(tokens, row, strict=True)) for row in rows.values())
    lines = [f"{name}: {line}" for name, line in zip(rows, told, strict=True)]
    return Html(html, "\n".join([head.text] * bool(head.text) + lines))


def _cell(token: str, values: dict[str, float], scales: Mapping[str, Scale], look: str, numbers: bool) -> str:
    """A token in its colour, or (`numbers`) above its numbers in theirs."""
    piece = token.startswith("##") and len(token) > 2
    shown = token[2:] if piece else token
    shown = shown if shown.strip() else "⏎" if "\n" in shown else "␣"
    told = escape(f"{shown}: " + ", ".join(f"{name} {number(value)}" for name, value in values.items()))
    word = f"<bdi>{escape(shown)}</bdi>"
    colours = {name: scales[name].colour(value) for name, value in values.items()}
    if not numbers:
        (colour,) = list(colours.values())[:1]
        return (
            f'{"" if piece else " "}<span title="{told}" style="background:{colour};padding:.1em .2em;'
            f'border-radius:.2em;box-decoration-break:clone;{look}">{word}</span>'
        )
    strips = "".join(
        f'<span style="display:block;font-size:.75em;line-height:1.7em;padding:0 .25em;min-width:2.6em;'
        f'font-variant-numeric:tabular-nums;background:{colours[name]}">{number(value)}</span>'
        for name, value in values.items()
    )
    return (
        f'<span title="{told}" style="display:inline-block;vertical-align:top;text-align:center;'
        f'margin:0 0 .5em {"0" if piece else ".3em"}"><span style="display:block;line-height:1.7em;padding:0 .1em">'
        f'<span style="{look}">{word}</span></span>{strips}</span>'
    )


def heatmap(
    fitted: Explainable,
    texts: str | Example | Sequence[str | Example],
    by: str | Sequence[str] = "alpha",
    *,
    seed: int = 0,
) -> Html:
    """Texts coloured by what a fitted model computes for their tokens.

    by  `alpha`, `probability` (see `Reading`), any name of `attnlib list importances`, or several as rows.
        A Hugging Face classifier has no `probability`; its `alpha` is `cls_last`

    >>> page = al.heatmap(fitted, "a great morning", ["alpha", "omission"])  # shows itself in a notebook
    >>> "predicted positive" in str(page)
    True
    """
    shown = [reading.html() for reading in read(fitted, texts, by, seed=seed)]
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

    def html(self) -> Html:
        """The text coloured by its rows, below the line of the prediction."""
        predicted, p = self.classes[self.predicted], self.probabilities[self.predicted]
        told = [("predicted ", predicted, f" with p = {p:.2f}")]
        if self.labelled:
            right = self.predicted == self.example.label
            told.append(("true class ", self.classes[self.example.label], "" if right else " ✗"))
        if self.example.query is not None:
            told.append(("asked: ", " ".join(self.example.query), ""))
        html = " · ".join(f"{before}<b><bdi>{escape(name)}</bdi></b>{after}" for before, name, after in told)
        head = Html(html, " · ".join("".join(parts) for parts in told))
        labels = self.labels()
        rows = {labels[row]: values for row, values in self.rows.items()}
        scales = {labels.get("probability"): Scale.probability(len(self.classes))}
        return text_heatmap(self.tokens, rows, scales=scales, head=head, marked=self.marked)

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
    """One `Reading` per text, in the order given; `by` as of `heatmap`.

    target  class that `probability` refers to; default: the second of two classes, the predicted one of more
    """
    is_model(fitted)
    names = [by] if isinstance(by, str) else list(by)
    for name in names:
        if not isinstance(name, str) or name not in {*METHODS, "probability"}:
            own = "Scores of your own: attnlib.viz.heatmap.text_heatmap(tokens, scores)."
            raise UnknownName(unknown("row of a heat map", str(name), {*METHODS, "probability"}, hint=own))
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
            tokens = tuple(fitted.tokens(examples[place]))
            readings[place] = Reading(examples[place], tokens, rows, classes, p, aim)
    return readings


def _alone(trace: Trace, b: int, target: int) -> np.ndarray:
    """The row `probability` of text b; the words of a sentence share that of their sentence."""
    alone, mask = token_probabilities(trace)[b, :, target], trace.mask[b]
    if trace.words is not None:
        mask = trace.words.mask.view(*trace.mask.shape, -1)[b]
        alone = alone[:, None].expand_as(mask)
    return alone[mask].detach().double().cpu().numpy()
