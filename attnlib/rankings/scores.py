"""Importance: one number per content position, by one function per method (`METHODS`); word omission among them.

Levels: `input` ranks the words a text is made of; `hidden` ranks what the final attention layer looks at, which is
the same positions in a flat model and the sentences of a hierarchical one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attnlib import quirks as quirk_names
from attnlib.data.batching import Batch
from attnlib.engine import attention
from attnlib.engine.explainable import ATTENTION, Answers, Explainable, explained
from attnlib.engine.select import input_eraser
from attnlib.models.trace import Trace
from attnlib.rankings.base import LEVELS, METHODS, TARGETS, Case, has_self_attention, method, normalised
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError, one_of
from attnlib.utils.progress import bar

ROUNDINGS = 8
"""Units in the last place of a logit that two ways of computing it may differ by."""


def importance(
    fitted: Explainable,
    examples: Iterable,
    method: str,
    *,
    level: str = "input",
    target: str | None = None,
    seed: int = 0,
    batch_size: int = 256,
    quirks: Iterable[str] = (),
    **options: Any,
) -> list[np.ndarray]:
    """Scores of every text, in the order given: one float array per text, one number per content position.

    method   a name in `METHODS`
    level    `input`: the words; `hidden`: what the final attention layer looks at
    target   `logit` or `probability` of the predicted class; None: the method's own (see `METHODS[method].target`)
    seed     for methods with randomness; a text's numbers depend on the seed and its place in `examples` alone
    quirks   authors' deviations to reproduce, see `attnlib.quirks`
    options  of the method, such as `operator="delete"` for omission or `steps=100` for integrated_gradients

    >>> (scores,) = al.importance(fitted, ["a great morning"], "omission")
    >>> fitted.tokens("a great morning")[scores.argmax()]
    'great'
    """
    explain = Explainer(method, level, target, seed, quirk_names.checked(quirks), options)
    examples = explained(fitted, examples)
    scores: list[np.ndarray | None] = [None] * len(examples)
    with bar(f"{method}, {level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples, batch_size=batch_size, **explain.kept(fitted)):
            values, units = explain(fitted, batch, trace)
            flat = values[units].double().cpu().numpy()
            ends = accumulate(units.sum(1).tolist(), initial=0)
            for row, (start, end) in zip(batch.rows.tolist(), pairwise(ends), strict=True):
                scores[row] = flat[start:end]
            line.update(len(batch))
    return scores


def readings(model: Explainable) -> tuple[str, ...]:
    """The names of `METHODS` that apply to this model; `alpha` of a Hugging Face classifier is `cls_last`."""
    if getattr(model, "model_config", None) is None:
        return tuple(name for name, spec in METHODS.items() if spec.hf is not None and name != "alpha")
    inside = has_self_attention(model.model)
    return tuple(n for n, s in METHODS.items() if s.run is not None and (inside or s.needs != "self-attention"))


@dataclass(frozen=True)
class Explainer:
    """An importance method with its arguments, which are checked on construction."""

    method: str
    level: str = "input"
    target: str | None = None
    seed: int = 0
    quirks: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        spec = METHODS[self.method]
        one_of("level", self.level, LEVELS)
        named = f"importance method {self.method!r}"
        if self.level not in spec.levels:
            raise ConfigError(f"The {named} works at level {spec.levels[0]!r} only; got {self.level!r}.")
        if self.target is not None:
            one_of("target", self.target, TARGETS)
            if spec.target is None:
                raise ConfigError(f"The {named} explains no output: leave out target={self.target!r}.")
        for name in self.options:
            one_of(f"option of {named}", name, spec.options or ["(none)"])

    def kept(self, fitted: Explainable) -> dict[str, bool]:
        """What to ask `traces` for: a graph, where the method and the model can use one."""
        config = getattr(fitted, "model_config", None)
        return {"grad": True} if METHODS[self.method].graph and config and not config.hierarchical else {}

    def __call__(self, fitted: Explainable, batch: Batch, trace: Answers) -> tuple[Tensor, Tensor]:
        """Scores (B, T) of one batch that was traced already, and its units (B, T)."""
        spec = METHODS[self.method]
        run = spec.run if isinstance(trace, Trace) else spec.hf
        if run is None:
            raise ConfigError(
                f"Importance method {self.method!r} applies to {spec.models} only. For this model: "
                f"{', '.join(readings(fitted))}."
            )
        target, quirks = self.target or spec.target, self.quirks & set(spec.quirks)
        case = Case(fitted, batch, trace, self.level, target, self.seed, quirks)
        with measuring():
            return run(case, **self.options), case.units


@method(needs="variants", models="both", target="probability")
def omission(case: Case, operator: str | None = None) -> Tensor:
    """word omission: p(ŷ | x) - p(ŷ | x without x_i), signed (Chrysostomou & Aletras 2021)

    operator: how a word is removed at the input level, `pad` by default; see `attnlib.engine.rows`.
    """
    return _drop(case, operator, "pad")


@method(needs="variants", models="both", target="probability")
def leave_one_out(case: Case, operator: str | None = None) -> Tensor:
    r"""|ŷ - ŷ without x_i|, sums to one (Meister et al. 2021; Jain & Wallace 2019)

    :math:`D_{\hat y}(x_i) = |\hat y - \hat y_{-i}| / \sum_k |\hat y - \hat y_{-k}|`. Deleted, as J&W do.
    """
    return normalised(_drop(case, operator, "delete").abs(), case.units)


def _drop(case: Case, operator: str | None, default: str) -> Tensor:
    """(B, T): the explained number of the text minus that of the text without each unit; zero where rounding."""
    whole = case.explained(case.trace.logits.double()).unsqueeze(1)
    if case.level == "hidden":
        if operator is not None:
            raise ConfigError(
                f"operator={operator!r} says how words leave the input; at level 'hidden' the text stays, and "
                "states lose their weight. Leave operator out, or use level='input'."
            )
        operator = ATTENTION
    if operator == ATTENTION and isinstance(case.trace, Trace):
        # A sparse projection moves its threshold when a position goes. Renormalising does the same for a softmax,
        # and is all there is for weights with noise that was drawn once.
        trace = case.trace
        same = torch.allclose(trace.project(trace.scores, trace.mask), trace.alpha, atol=1e-5)
        logits = attention.single_logits(trace, reproject=same and not trace.exponential)
    else:
        logits = input_eraser(case.fitted, case.batch, case.trace, operator or default).singles()
    drop = whole - case.explained(logits)
    return drop.masked_fill(drop.abs() <= _rounding(case, whole), 0.0)


def _rounding(case: Case, whole: Tensor) -> Tensor:
    """(B, 1): changes up to this are rounding of the model's logits, or of their softmax in float64."""
    logits = case.trace.logits
    size = logits.abs().amax(1, keepdim=True).double().clamp_min(1.0)
    noise = ROUNDINGS * torch.finfo(logits.dtype).eps * size
    if case.target == "probability":
        # dp / dz is p (1 - p): a confident model resolves far smaller changes than its logits have digits.
        noise = noise * whole * (1 - whole) + 4 * torch.finfo(torch.float64).eps
    return noise
