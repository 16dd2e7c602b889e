"""Traced batches with their orders of removal, from a method's name or from given scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from attnlib.engine import attention, flips, orders
from attnlib.utils.errors import ConfigError, DataError
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Answers, Explainable
    from attnlib.erasure.request import Erasure

Rank = Callable[["Batch", "Answers", Tensor], tuple[Tensor, list[str]]]
"""A batch, its trace and its units (B, T) to scores (B, T), and what is wrong with the ranking of each text."""


class RankedBatch(NamedTuple):
    """A traced batch with its order of removal (B, T), its units (B, T), and why a row cannot be ranked."""

    batch: Batch
    trace: Answers
    order: Tensor
    units: Tensor
    problems: list[str]

    @property
    def lengths(self) -> Tensor:
        return self.units.sum(1)

    def turned(self) -> RankedBatch:
        """The order of the units reversed, non-units still last."""
        n = self.lengths.unsqueeze(1)
        place = torch.arange(self.order.shape[1], device=self.order.device)
        return self._replace(order=self.order.gather(1, torch.where(place < n, n - 1 - place, place)))

    def mass(self) -> Tensor:
        """(B, T + 1): attention weight on the first k units; for the words of a HAN, word times sentence."""
        sentences = self.trace.words is not None and self.units is self.trace.mask
        alpha = self.trace.alpha if sentences else self.trace.token_alpha
        ordered = alpha.double().gather(1, self.order)
        return torch.cat([torch.zeros_like(ordered[:, :1]), ordered.cumsum(1)], 1)

    def table(self, fitted: Explainable, request: Erasure) -> Tensor:
        """(B, T + 1, C) float64 logits with k = 0, 1, … units removed."""
        if not request.closed(self.trace):
            return flips.table(request.eraser(fitted, self.batch, self.trace), self.order)
        logits = attention.prefix_logits(self.trace, self.order, reproject=request.reproject)
        logits[:, 0] = self.trace.logits.double()
        return logits


def ranked(fitted: Explainable, examples: list[Example], request: Erasure, what: str) -> Iterator[RankedBatch]:
    """All batches of the examples, behind a progress bar that counts the texts done."""
    rank = _by_method(fitted, request) if request.explainer else _by_scores(examples, request)
    with bar(f"{what}, {request.level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples, batch_size=request.batch_size):
            line.set_postfix_str(f"{len(batch)} texts of up to {batch.ids.shape[1]} tokens at a time")
            units = request.units(batch, trace)
            scores, problems = rank(batch, trace, units)
            if request.on_bad == "raise":
                _refuse(problems, batch, examples)
            yield RankedBatch(batch, trace, orders.descending(scores, units), units, problems)
            line.update(len(batch))


def _by_method(fitted: Explainable, request: Erasure) -> Rank:
    explain = request.explainer
    if request.level == "attention" and explain.level == "input" and fitted.hierarchical:
        raise ConfigError(
            f"Ranking {explain.method!r} ranks words; the attention level of a hierarchical model has sentences. "
            "Use a method with level 'hidden', such as 'alpha' or 'alpha_grad'."
        )

    def rank(batch: Batch, trace: Answers, units: Tensor) -> tuple[Tensor, list[str]]:
        scores, _ = explain(fitted, batch, trace)
        bad = (scores.isnan() & units).any(1).tolist()
        return scores.nan_to_num(0.0), [f"NaN from {explain.method}" if b else orders.FITS for b in bad]

    return rank


def _by_scores(examples: list[Example], request: Erasure) -> Rank:
    arrays = orders.checked(request.ranking, [e.id for e in examples])
    return lambda batch, trace, units: orders.padded([arrays[i] for i in batch.rows.tolist()], units)


def _refuse(problems: list[str], batch: Batch, examples: list[Example]) -> None:
    for place, why in zip(batch.rows.tolist(), problems, strict=True):
        if why != orders.FITS:
            raise DataError(
                f"The ranking of text {place} ({examples[place].id!r}) does not fit: {why}. Give one number per "
                "unit, or on_bad='mark' to mark such texts in the frame and go on."
            )
