"""An explorer: choose or type a text, colour it, erase its top tokens, edit its attention, watch the prediction.

    al.explore(fitted, corpus.test[:5])
    al.explore({"plain": plain, "Lin-TaSc": scaled}, corpus.test[:5])        # several models side by side

The page is one ES module, `explorer.js`, with two hosts: anywidget where somebody can use it, and in batch runs the
report itself, which carries the module and the data. Where scripts do not run, there is a static heat map.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import count, pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from attnlib.data.types import Example
from attnlib.engine.explainable import explained
from attnlib.erasure.flips import erasure_curves
from attnlib.rankings.scores import readings as readings_of
from attnlib.stats import descending
from attnlib.utils import paths
from attnlib.utils.errors import AttnlibError, ConfigError, UnknownName, unknown
from attnlib.utils.extras import needs
from attnlib.utils.progress import SWITCH
from attnlib.viz.heatmap import Reading, Scale, clearest, read
from attnlib.viz.prose import Html

if TYPE_CHECKING:
    from attnlib.engine.explainable import Explainable
    from attnlib.models.trace import Trace

LEVELS = {
    "attention": "the weight becomes zero and the others grow to sum to one",
    "input": "the token is blanked before the model reads the text",
}
NAMES = {
    "alpha": "attention",
    "probability": "probability of the token alone",
    "alpha_grad": "attention × gradient",
    "omission": "leave-one-out",
    "attention_grad": "attention × gradient, all layers",
}
"""Names of rows in the explorer; other rows keep their own."""
TEXTS = 20
"""Texts that a report keeps of those given."""
STEPS = 60
"""A longer text is erased in about this many steps."""
CUT = 80
"""Characters of a text in the list of texts."""
MODULE = Path(__file__).with_name("explorer.js")
_numbers = count(1)
Models = Mapping[str, "Explainable"]
Texts = Sequence[str | Example]


def explore(
    fitted: Explainable | Models,
    examples: Texts,
    *,
    by: Sequence[str] | None = None,
    level: str = "attention",
    seed: int = 0,
) -> Any:
    """The explorer: a widget, or in a batch run what the report shows of it.

    It opens on the text that the models classify correctly with the most confidence.

    fitted  a model, or several by name, shown side by side
    by      what the text may be coloured and ranked by: importances, `alpha`, `probability`; the first is where it
            starts; None: what all the models have of attention, probability, attention × gradient and omission
    level   where tokens are erased at first; see LEVELS

    >>> shown = al.explore({"mlp": fitted}, corpus.test[:2])  # the last line of a notebook's cell
    >>> hasattr(shown, "_repr_html_") or hasattr(shown, "_repr_mimebundle_")
    True
    """
    if level not in LEVELS:
        raise UnknownName(unknown("level", level, LEVELS))
    models = dict(fitted) if isinstance(fitted, Mapping) else {"": fitted}
    if not models:
        raise ConfigError("explore needs a model, or several by name; got none.")
    examples = [examples] if isinstance(examples, str | Example) else examples
    for model in models.values():
        explained(model, examples)
    by = list(dict.fromkeys(by or _rows(models.values())))
    if paths.run_folder() is not None or os.environ.get(SWITCH) == "0":  # `attnlib run`, nbval: no slider moves
        return frozen(models, list(examples)[:TEXTS], by, level, seed)
    return _widget(models, list(examples), by, level, seed)


def _rows(models: Iterable[Explainable]) -> list[str]:
    """Rows of the explorer that apply to all the models."""
    rows = ("alpha", "probability", "alpha_grad", "attention_grad", "omission", "rollout")
    pooled = all(hasattr(model, "model_config") for model in models)
    known = [{"alpha", *readings_of(model)} | ({"probability"} if pooled else set()) for model in models]
    return [row for row in rows if all(row in names for names in known)][:4]


def frozen(models: Models, examples: Texts, by: Sequence[str], level: str, seed: int = 0) -> Html:
    """What a report shows: the data of the explorer, and a heat map for readers without scripts."""
    data = explored(models, examples, by, level, seed)
    (still,) = read(next(iter(models.values())), [examples[data["text"]]], by[0], seed=seed)
    shown = still.html()
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    html = (
        f'<div class="attnlib-explorer" id="explorer-{next(_numbers)}"><div class="ax-place">{shown}</div>'
        f'<script type="application/json">{text}</script></div>'
    )
    return Html(html, shown.text)


def explored(models: Models, examples: Texts, by: Sequence[str], level: str, seed: int = 0) -> dict[str, Any]:
    """Everything the explorer shows, as plain values.

    texts   name and true class of each text
    models  of each: name, classes, `ranks` (row -> the ranking that erases when it colours), `units` by level, and
            `texts`: see `_text`
    rows, levels  their names and descriptions;  level, text: where to start
    """
    shown, texts = [], []
    rankings = list(dict.fromkeys("alpha" if row == "probability" else row for row in by))
    for name, fitted in models.items():
        readings = read(fitted, list(examples), list(dict.fromkeys([*by, "alpha"])), seed=seed)
        labels = [r.classes[r.example.label] if r.labelled else "" for r in readings]
        texts = texts or [{"name": _short(e), "label": label} for e, label in zip(examples, labels, strict=True)]
        traces = [next(iter(fitted.traces([reading.example])))[1] for reading in readings]
        held = [_text(reading, trace, by) for reading, trace in zip(readings, traces, strict=True)]
        for where, ranking in product(LEVELS, rankings):
            _add_paths(held, fitted, readings, traces, ranking, where)
        kinds = {"input": "tokens", "attention": "sentences" if fitted.hierarchical else "tokens"}
        own = {"name": name, "classes": list(fitted.classes), "ranks": {"probability": "alpha"}, "units": kinds}
        shown.append(own | {"texts": held})
    rows = {name: NAMES.get(name, name.replace("_", " ")) for name in by}
    start = {"level": level, "text": int(clearest(models.values(), examples)[0])}
    return {"texts": texts, "models": shown, "rows": rows, "levels": LEVELS, **start}


def _text(reading: Reading, trace: Trace, by: Sequence[str]) -> dict[str, Any]:
    """One text in one model.

    tokens, predicted, marked (a rationale, or None)
    rows       name -> values and the ends of their scale
    paths      level -> ranking -> order (tokens of each step), p of the class first predicted and winner, with
               0, 1, … steps erased
    pooled     bias, values v_i, weights and tokens of each unit, where z = b + Σ α v; else None
    sentences  tokens of each, and their `weights`, of a hierarchical model
    """
    labels, kept, units = reading.labels(), trace.mask[0], [[i] for i in range(len(reading.tokens))]
    rows = {}
    for name in by:
        values, chance = reading.rows[name], Scale.probability(len(reading.classes))
        scale = chance if name == "probability" else Scale.of(values)
        ends = {"low": scale.low, "high": scale.high} | ({} if scale.centre is None else {"centre": scale.centre})
        rows[name] = {"name": labels[name], "values": _plain(np.where(np.isfinite(values), values, 0.0)), **ends}
    found: dict[str, Any] = {"tokens": list(reading.tokens), "predicted": reading.predicted, "rows": rows}
    found |= {"marked": reading.marked and [bool(mark) for mark in reading.marked], "paths": {}, "pooled": None}
    if trace.words is not None:
        sizes = trace.words.mask.reshape(*trace.mask.shape, -1)[0].sum(-1)[kept].tolist()
        units = [list(range(a, b)) for a, b in pairwise(np.cumsum([0, *sizes]).tolist())]
        found |= {"sentences": units, "weights": _plain(trace.alpha[0][kept])}
    if trace.linear and int(kept.sum()) == len(units):
        values = trace.token_logits[0] if trace.scale is None else trace.token_logits[0] * trace.scale[0, :, None]
        pooled = {"bias": trace.bias, "alpha": trace.alpha[0][kept], "values": values[kept]}
        found["pooled"] = {name: _plain(part) for name, part in pooled.items()} | {"units": units}
    return found


def _add_paths(
    held: list[dict[str, Any]],
    fitted: Explainable,
    readings: Sequence[Reading],
    traces: Sequence[Trace],
    ranking: str,
    level: str,
) -> None:
    """The erasure of every text along one ranking; a hierarchical model's attention layer ranks by alpha alone."""
    sentences = level == "attention" and fitted.hierarchical
    if sentences and ranking != "alpha":
        return
    scores = [reading.rows[ranking] for reading in readings]
    if sentences:
        scores = [trace.alpha[0][trace.mask[0]].double().cpu().numpy() for trace in traces]
    curves = erasure_curves(fitted, [reading.example for reading in readings], scores, level=level)
    for place, curve in curves.groupby("text", sort=True):
        order, classes = descending(scores[place]), list(fitted.classes)
        tokens = held[place]["sentences"] if sentences else [[i] for i in range(len(order))]
        kept = sorted({round(k) for k in np.linspace(0, len(order), min(len(order), STEPS) + 1)})
        held[place]["paths"].setdefault(level, {})[ranking] = {
            "order": [[i for u in order[a:b] for i in tokens[u]] for a, b in pairwise(kept)],
            "p": _plain(curve["probability"].to_numpy()[kept]),
            "winner": [classes.index(name) for name in curve["decision"].to_numpy()[kept]],
        }


def _plain(values: Any) -> Any:
    """Numbers as lists, with eight digits."""
    values = values.detach().double().cpu().numpy() if hasattr(values, "detach") else np.asarray(values, float)
    return [float(f"{v:.8g}") for v in values] if values.ndim == 1 else [_plain(row) for row in values]


def _widget(models: Models, examples: Texts, by: Sequence[str], level: str, seed: int) -> Any:
    anywidget, traitlets = needs("anywidget", "notebooks"), needs("traitlets", "notebooks")

    class Explorer(anywidget.AnyWidget):
        """The live explorer: a typed text is added to the others, or its fault is said."""

        _esm = MODULE.read_text(encoding="utf-8")
        data = traitlets.Dict().tag(sync=True)
        live = traitlets.Bool(True).tag(sync=True)
        typed = traitlets.Unicode("").tag(sync=True)
        problem = traitlets.Unicode("").tag(sync=True)

        @traitlets.observe("typed")
        def _wrote(self, change: Any) -> None:
            if not change["new"].strip():
                return
            try:
                new = explored(models, [change["new"]], by, level, seed)
            except AttnlibError as error:
                self.problem = str(error)
                return
            grown = [
                {**old, "texts": [*old["texts"], *one["texts"]]}
                for old, one in zip(self.data["models"], new["models"], strict=True)
            ]
            self.problem = ""
            self.data = {**self.data, "texts": [*self.data["texts"], *new["texts"]], "models": grown}

    return Explorer(data=explored(models, examples, by, level, seed))


def _short(example: str | Example) -> str:
    text = example if isinstance(example, str) else example.text
    return text if len(text) <= CUT else text[: CUT - 1] + "…"
