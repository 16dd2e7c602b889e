"""Importance: one number a token, by one function a method.

`importance(fitted, examples, "alpha_grad")` returns one array a text with one number for every content position:
padding and special tokens are left out. `METHODS` lists the methods; each lives in `attnlib.importance`.

Levels: `input` ranks the words a text is made of; `hidden` ranks what the final attention layer looks at, which is
the same positions in a flat model and the sentences of a hierarchical one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from attnlib import quirks as quirk_names
from attnlib.importance import LEVELS, METHODS, TARGETS, Job, Spec
from attnlib.utils.errors import ConfigError, unknown
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    from attnlib.training.fitted import Fitted

__all__ = ["LEVELS", "METHODS", "TARGETS", "Spec", "importance"]


def importance(
    fitted: Fitted,
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
    """Scores of every text, in the order given: one float array a text, one number a content position.

    method   a name in `METHODS`
    level    `input`: the words; `hidden`: what the final attention layer looks at
    target   `logit` or `probability` of the predicted class; None: the method's own (see `METHODS[method].target`)
    seed     for methods with chance in them; a text's numbers depend on the seed and its place in `examples` alone
    quirks   authors' deviations to reproduce, see `attnlib.quirks`
    options  of the method, such as `operator="delete"` for omission or `steps=100` for integrated_gradients
    """
    spec = check(method, level, target, quirks, options)
    examples = fitted.examples(examples)
    scores: list[np.ndarray | None] = [None] * len(examples)
    with bar(f"{method}, {level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples, batch_size=batch_size):
            values, units = score(fitted, batch, trace, spec, level, target, seed, quirks, options)
            flat = values[units].double().cpu().numpy()
            cuts = np.cumsum(units.sum(1).cpu().numpy())[:-1]
            for row, piece in zip(batch.rows.tolist(), np.split(flat, cuts), strict=True):
                scores[row] = piece
            line.update(len(batch))
    return scores


def check(method: str, level: str, target: str | None, quirks: Iterable[str], options: dict) -> Spec:
    """The method's Spec, after its arguments were found to fit it."""
    spec = METHODS[method]
    if level not in LEVELS:
        raise ConfigError(unknown("level", level, LEVELS))
    if level not in spec.levels:
        raise ConfigError(f"Importance method {method!r} works at level {spec.levels[0]!r} only; got {level!r}.")
    if target is not None and target not in TARGETS:
        raise ConfigError(unknown("target", target, TARGETS))
    if target is not None and spec.target is None:
        raise ConfigError(f"Importance method {method!r} explains no output: leave out target={target!r}.")
    for name in options:
        if name not in spec.options:
            raise ConfigError(unknown(f"option of importance method {method!r}", name, spec.options or ["(none)"]))
    quirk_names.checked(quirks)
    return spec


def score(fitted, batch, trace, spec, level, target, seed, quirks, options) -> tuple[Tensor, Tensor]:
    """Scores (B, T) of one batch that was traced already, and its units (B, T)."""
    job = Job(fitted, batch, trace, level, target or spec.target, seed, frozenset(quirks) & set(spec.quirks))
    with torch.no_grad():
        return spec.run(job, **options), job.units
