"""Traced batches with their orders of removal, from a method's name or from scores of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from attnlib.engine import attention, flips, orders
from attnlib.engine.select import input_eraser
from attnlib.importance import METHODS
from attnlib.importance.attention import word_alpha
from attnlib.importance.scores import check, score
from attnlib.utils.errors import ConfigError, DataError, unknown
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.data.types import Example
    from attnlib.models.trace import Trace
    from attnlib.training.fitted import Fitted

LEVELS = ("attention", "input")
Ranking = str | Sequence[np.ndarray]


class Request(NamedTuple):
    """What to rank by and how; the arguments that all public functions share."""

    ranking: Ranking
    level: str
    target: str | None
    seed: int
    batch_size: int
    quirks: frozenset[str]
    options: dict[str, Any]
    on_bad: str = "raise"


class Ranked(NamedTuple):
    """A traced batch with its order of removal (B, T), its units (B, T), and why a row cannot be ranked."""

    batch: Batch
    trace: Trace
    order: Tensor
    units: Tensor
    problems: list[str]

    @property
    def lengths(self) -> Tensor:
        return self.units.sum(1)

    def turned(self) -> Ranked:
        """The order of the units turned around, those that are no units still last."""
        n = self.lengths.unsqueeze(1)
        place = torch.arange(self.order.shape[1], device=self.order.device)
        return self._replace(order=self.order.gather(1, torch.where(place < n, n - 1 - place, place)))

    def mass(self) -> Tensor:
        """(B, T + 1): attention weight on the first k units; for the words of a HAN, word times sentence."""
        words = self.trace.words is not None and self.units is not self.trace.mask
        alpha = word_alpha(self.trace) if words else self.trace.alpha
        ordered = alpha.double().gather(1, self.order)
        return torch.cat([torch.zeros_like(ordered[:, :1]), ordered.cumsum(1)], 1)


def ranked(fitted: Fitted, examples: list[Example], request: Request, what: str) -> Iterator[Ranked]:
    """All batches of the examples, behind a progress bar that counts the texts done."""
    rank = _by_method(fitted, request) if isinstance(request.ranking, str) else _by_scores(examples, request)
    with bar(f"{what}, {request.level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples, batch_size=request.batch_size):
            line.set_postfix_str(f"{len(batch)} texts of up to {batch.ids.shape[1]} tokens at a time")
            units = trace.mask if request.level == "attention" else batch.content
            scores, problems = rank(batch, trace, units)
            _refuse(problems, batch, examples, request.on_bad)
            yield Ranked(batch, trace, orders.descending(scores, units), units, problems)
            line.update(len(batch))


def way(level: str, operator: str | None, reproject: bool | None) -> tuple[str, bool]:
    """How units are removed, with the defaults filled in; what means nothing at a level is refused there."""
    if level not in LEVELS:
        raise ConfigError(unknown("level", level, LEVELS))
    if level == "attention" and operator is not None:
        raise ConfigError(
            f"operator={operator!r} says how words leave the input; at level 'attention' the text stays and "
            "weights are set to zero. Leave operator out, or use level='input'."
        )
    if level == "input" and reproject is not None:
        raise ConfigError(
            f"reproject={reproject} says what becomes of the remaining weights at level 'attention'; at level "
            "'input' the model reads the changed text and projects its scores in any case. Leave reproject out, or "
            "use level='attention'."
        )
    return operator or "pad", bool(reproject)


def table(fitted: Fitted, found: Ranked, level: str, operator: str, reproject: bool) -> Tensor:
    """(B, T + 1, C) float64 logits with k = 0, 1, … units removed."""
    if level == "input":
        return flips.table(input_eraser(fitted, found.batch, found.trace, operator), found.order)
    logits = attention.prefix_logits(found.trace, found.order, reproject=reproject)
    logits[:, 0] = found.trace.logits.double()
    return logits


def _by_method(fitted: Fitted, request: Request):
    name = request.ranking
    level = "hidden" if request.level == "attention" and "hidden" in METHODS[name].levels else "input"
    if request.level == "attention" and level == "input" and fitted.model_config.hierarchical:
        raise ConfigError(
            f"Ranking {name!r} ranks words; the attention level of a hierarchical model has sentences. Use a "
            "method with level 'hidden', such as 'alpha' or 'alpha_grad'."
        )
    spec = check(name, level, request.target, request.quirks, request.options)

    def rank(batch, trace, units) -> tuple[Tensor, list[str]]:
        scores, _ = score(
            fitted, batch, trace, spec, level, request.target, request.seed, request.quirks, request.options
        )
        bad = (scores.isnan() & units).any(1).tolist()
        return scores.nan_to_num(0.0), [f"NaN from {name}" if b else orders.FITS for b in bad]

    return rank


def _by_scores(examples: list[Example], request: Request):
    if request.options or request.target is not None:
        said = ", ".join(request.options) or "target"
        raise ConfigError(f"Scores were given, so no method runs that could use {said}.")
    arrays = orders.checked(request.ranking, [e.id for e in examples])
    return lambda batch, trace, units: orders.padded([arrays[i] for i in batch.rows.tolist()], units)


def _refuse(problems: list[str], batch, examples: list[Example], on_bad: str) -> None:
    for place, why in zip(batch.rows.tolist(), problems, strict=True):
        if why != orders.FITS and on_bad == "raise":
            raise DataError(
                f"The ranking of text {place} ({examples[place].id!r}) does not fit: {why}. Give one number a "
                "unit, or on_bad='mark' to mark such texts in the frame and go on."
            )
