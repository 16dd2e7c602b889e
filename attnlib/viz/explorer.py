"""An explorer: choose or type a text, colour it, erase its top tokens one by one, watch the prediction.

`explore` is a widget where somebody can use it and its static twin where nobody can: in batch runs, whose HTML
report must be complete without a kernel. Both draw the same steps of an `ErasurePath`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.stats import descending
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.progress import SWITCH
from attnlib.viz.heatmap import Reading, read
from attnlib.viz.prose import say
from attnlib.viz.textmap import BLUE, ORANGE, Html

if TYPE_CHECKING:
    from ipywidgets import VBox

    from attnlib.data.types import Example
    from attnlib.training.fitted import Fitted

LEVELS = {
    "attention": "the token's weight becomes zero and the others grow to sum to one",
    "input": "the token is blanked before the model reads the text",
}
NAMES = {
    "alpha": "attention",
    "probability": "probability of the token alone",
    "alpha_grad": "attention × gradient",
}
"""Names of rows in the widget; other rows keep their own."""
OWN = object()
"""The entry for your own text in the choice of texts."""
TYPED = "— your own text, typed below —"
COMPUTING = '<p role="status"><i>computing…</i></p>'
SHOWN = 100
"""Tokens shown of a long text."""
STEPS, TEXTS = 3, 3
"""The static twin shows this many first steps of a text, and this many texts."""


def batch_run() -> bool:
    """Whether nobody can move a slider: a run by `attnlib run`, or under nbval."""
    return paths.run_folder() is not None or os.environ.get(SWITCH) == "0"


@dataclass(frozen=True)
class ErasurePath:
    """The erasure of one text: its k top tokens removed, k = 0, 1, …, T.

    order        (T,) tokens from the top of the ranking
    probability  (T + 1,) of the class predicted for the whole text;  flipped (T + 1,): another class wins
    """

    reading: Reading
    order: np.ndarray
    probability: np.ndarray
    flipped: np.ndarray

    @property
    def first_flip(self) -> int | None:
        """Tokens erased when the decision first changes; None: never."""
        return int(self.flipped.argmax()) if self.flipped.any() else None

    def step(self, k: int, *, legend: bool = True) -> Html:
        """The text with its k top tokens erased, and the model's prediction then."""
        k = min(max(k, 0), len(self.order))
        name = self.reading.classes[self.reading.predicted]
        html = f"p(<b><bdi>{escape(name)}</bdi></b>) = {self.probability[k]:.2f}"
        text = f"{k} erased: p({name}) = {self.probability[k]:.2f}"
        if self.flipped[k]:
            html, text = f"{html} <b>— decision changed</b>", f"{text}, decision changed"
        if k:
            words = [self.reading.tokens[i].removeprefix("##") for i in self.order[:k]]
            told = ", ".join(words[:6]) + (f" and {k - 6} more" if k > 6 else "")
            html += f" · erased {k} of {len(self.order)}: <i><bdi>{escape(told)}</bdi></i>"
        else:
            html += " · nothing erased"
        head = Html(_bar(self.probability[k], bool(self.flipped[k])) + html, text)
        return self.reading.html(head=head, erased=self.order[:k], numbers=False, legend=legend, limit=SHOWN)

    def verdict(self) -> str:
        """What erasing everything in this order showed, in words."""
        k, n = self.first_flip, len(self.order)
        if k is None:
            return f"The decision never changes, not even when all {n} tokens are erased."
        if k == n:
            return f"The decision changes only when nothing is left of the {n} tokens."
        return f"The decision first changes after {k} of {n} tokens ({k / n:.0%})."


def erase(
    fitted: Fitted, text: str | Example, *, by: str = "alpha", level: str = "attention", seed: int = 0
) -> ErasurePath:
    """Erase the tokens of one text from the top of a ranking, one after the other.

    by     what colours the text; importances (`alpha` among them) also rank it, `probability` leaves that to alpha
    level  see LEVELS; a hierarchical model attends to sentences, so its words can be erased from the input alone
    """
    from attnlib.erasure.flips import erasure_curves

    if level not in LEVELS:
        raise UnknownName(unknown("level", level, LEVELS))
    if level == "attention" and fitted.model_config.hierarchical:
        raise ConfigError("A hierarchical model attends to sentences: its words are erased at level='input'.")
    ranking = "alpha" if by == "probability" else by
    (reading,) = read(fitted, text, list(dict.fromkeys((by, ranking))), seed=seed)
    scores = reading.rows[ranking]
    curve = erasure_curves(fitted, [reading.example], [scores], level=level)
    return ErasurePath(
        reading=replace(reading, rows={by: reading.rows[by]}),
        order=descending(scores),
        probability=curve["probability"].to_numpy(),
        flipped=curve["flipped"].to_numpy(),
    )


def _bar(share: float, flipped: bool) -> str:
    """A small bar of a probability: blue while the decision holds, orange after."""
    red, green, blue = ORANGE if flipped else BLUE
    return (
        '<span style="display:inline-block;width:6em;height:.75em;margin-right:.6em;vertical-align:-.05em;'
        'border:1px solid rgba(128,128,128,.6)"><span style="display:block;height:100%;'
        f'width:{share:.0%};background:rgb({red},{green},{blue})"></span></span>'
    )


def explore_static(
    fitted: Fitted,
    examples: Sequence[str | Example],
    *,
    by: str = "alpha",
    level: str = "attention",
    steps: int = STEPS,
    seed: int = 0,
) -> Html:
    """The static explorer: each text after 0, 1, … `steps` erasures, and where its decision first changes."""
    parts = []
    for example in examples:
        path = erase(fitted, example, by=by, level=level, seed=seed)
        shown = sorted({*range(min(steps, len(path.order)) + 1), path.first_flip or 0})
        steps_of = sum((path.step(k, legend=k == shown[-1]) for k in shown), start=Html(""))
        whole = steps_of + say(path.verdict())
        parts.append(Html(f'<div style="margin-bottom:2.2em">{whole}</div>', whole.text))
    ranking = "attention" if by in ("alpha", "probability") else by.replace("_", " ")
    how = f"Tokens are erased from the highest {ranking} down, at the {level} level: {LEVELS[level]}."
    return sum(parts, start=say(how))


def explore(
    fitted: Fitted,
    examples: Sequence[str | Example],
    *,
    by: Sequence[str] = ("alpha", "probability", "alpha_grad", "omission"),
    level: str = "attention",
    steps: int = STEPS,
    seed: int = 0,
) -> VBox | Html:
    """The explorer: a widget, or in a batch run its static twin of the first few texts.

    by  what the text may be coloured and ranked by; the first is where the widget starts
    """
    if batch_run():
        return explore_static(fitted, list(examples)[:TEXTS], by=by[0], level=level, steps=steps, seed=seed)
    return Explorer(fitted, examples, by, level, seed).box


class Explorer:
    """State of the widget; `box` is what is shown."""

    def __init__(
        self, fitted: Fitted, examples: Sequence[str | Example], by: Sequence[str], level: str, seed: int
    ) -> None:
        widgets = needs("ipywidgets", "notebooks")
        self.fitted, self.seed = fitted, seed
        choices = [(_short(example), example) for example in examples]
        wide = {"layout": {"width": "98%"}, "style": {"description_width": "8em"}}
        self.chosen = widgets.Dropdown(options=[*choices, (TYPED, OWN)], description="text", **wide)
        self.typed = widgets.Text(
            placeholder="or type your own text and press Enter",
            description="your text",
            continuous_update=False,  # Enter, or leaving the field
            **wide,
        )
        self.by = widgets.Dropdown(
            options=[(NAMES.get(name, name.replace("_", " ")), name) for name in by],
            description="colour by",
            style=wide["style"],
        )
        levels = ["input"] if fitted.model_config.hierarchical else list(LEVELS)
        self.level = widgets.Dropdown(
            options=[(f"{name} level", name) for name in levels],
            value=level if level in levels else levels[0],
            description="erase at",
            style=wide["style"],
        )
        self.count = widgets.IntSlider(min=0, max=1, description="tokens to erase", **wide)
        self.flip = widgets.HTML()
        self.view = widgets.HTML()
        self.box = widgets.VBox(
            [self.chosen, self.typed, widgets.HBox([self.by, self.level]), self.count, self.flip, self.view]
        )
        self.typed.observe(self._wrote, names="value")
        for control in (self.chosen, self.by, self.level):
            control.observe(self._changed, names="value")
        self.count.observe(self._moved, names="value")
        self._changed(None)

    def _wrote(self, _: Any) -> None:
        """A text was typed: it is the one to look at, whatever was chosen before."""
        if self.chosen.value is OWN:
            self._changed(None)
        elif self.typed.value.strip():
            self.chosen.value = OWN

    def _changed(self, _: Any) -> None:
        """Another text, colour or level: walk the path again."""
        own = self.chosen.value is OWN
        text = self.typed.value if own else self.chosen.value
        self.path, self.flip.value = None, ""
        if own and not text.strip():
            self.view.value = "<p><i>Type a text above and press Enter.</i></p>"
            return
        self.view.value = COMPUTING
        try:
            self.path = erase(self.fitted, text, by=self.by.value, level=self.level.value, seed=self.seed)
        except AttnlibError as error:
            self.view.value = (
                '<p role="alert" style="border-left:3px solid rgb(213,94,0);padding-left:.8em">'
                f"{escape(str(error))}</p>"
            )
            return
        self.count.max = len(self.path.order)
        self.flip.value = _flip_mark(self.path)
        self._moved(None)

    def _moved(self, _: Any) -> None:
        if self.path is not None:
            told = f"<p>{escape(self.path.verdict())}</p>"
            self.view.value = str(self.path.step(self.count.value)) + told


def _flip_mark(path: ErasurePath) -> str:
    """A ruler under the slider: blue while the decision holds, orange where it has changed, the flip numbered."""
    k, n = path.first_flip, len(path.order)
    blue, orange = ("rgb({},{},{})".format(*colour) for colour in (BLUE, ORANGE))
    cuts = np.flatnonzero(np.diff(path.flipped.astype(int))) + 0.5  # between two steps
    places = [0.0, *(cuts / n), 1.0]
    parts = "".join(
        f'<span style="position:absolute;top:0;height:.3em;left:{left:.2%};width:{right - left:.2%};'
        f'background:{orange if path.flipped[min(round(left * n + 0.5), n) if left else 0] else blue}"></span>'
        for left, right in pairwise(places)
    )
    if k is None:
        told, side = "decision never changes", "left:0"
    elif k / n <= 0.5:
        told, side = f"▲ {k}: decision changes", f"left:{k / n:.2%}"
    else:
        told, side = f"decision changes: {k} ▲", f"right:{1 - k / n:.2%}"
    return (
        '<div style="position:relative;height:1.9em;margin:0 4.5em 0 9em" role="img" '
        f'aria-label="{escape(told)}">{parts}<span style="position:absolute;top:.35em;{side};font-size:.85em;'
        f'white-space:nowrap">{told}</span></div>'
    )


def _short(example: str | Example, most: int = 80) -> str:
    text = example if isinstance(example, str) else example.text
    return text if len(text) <= most else text[: most - 1] + "…"
