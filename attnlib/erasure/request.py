"""Erasure requests: what is removed, in which order and how, checked once; and traced batches with their orders.

level="attention"  zero attention weights and renormalise the rest (Serrano & Smith 2019)
level="input"      remove words from the text itself (Chrysostomou & Aletras 2021), by an `operator`: `pad` (the
                   default, what they run), `delete` (what they write), `mask`, `unk`

A `ranking` is the name of an importance method, or scores of your own: one array per text, one number per unit, as
`importance` returns. Units are removed from the highest score down; equal scores in the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypedDict

import numpy as np
import torch
from torch import Tensor

from attnlib import quirks as quirk_names
from attnlib.engine import attention, orders
from attnlib.engine.explainable import ATTENTION, operators
from attnlib.engine.rows import OPERATORS
from attnlib.engine.select import input_eraser
from attnlib.models.trace import Trace
from attnlib.rankings.scores import METHODS, Explainer
from attnlib.utils.errors import ConfigError, DataError, one_of
from attnlib.utils.progress import bar

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.data.types import Example
    from attnlib.engine.explainable import Answers, Explainable
    from attnlib.engine.rows import Rows

LEVELS = (ATTENTION, "input")
RANKING_QUIRKS = ("tasc_ig", "tasc_grad_after_ig")
Ranking = str | Sequence[np.ndarray]
Rank = Callable[["Batch", "Answers", Tensor], Tensor]
"""A batch, its trace and its units (B, T) to scores (B, T)."""


class How(TypedDict, total=False):
    """Keywords that all functions of erasure take: the fields of `Erasure`, explained there."""

    level: Literal["attention", "input"]
    operator: str | None
    target: Literal["logit", "probability"] | None
    seed: int
    batch_size: int
    quirks: Iterable[str]


@dataclass(frozen=True, kw_only=True)
class Erasure:
    """One question about erasure: how units are removed, and in which order.

    level       `input`: words leave the text; `attention`: positions lose their weight
    operator    at the input level: what becomes of a removed word; None: the first of `operators(model)`
    ranking     the name of an importance method, to which target, seed, quirks and options go; or your own scores
    batch_size  texts traced at a time; it changes no result

    Options that do not apply at a level are refused there.
    """

    ranking: Ranking
    level: str = "input"
    operator: str | None = None
    target: str | None = None
    seed: int = 0
    batch_size: int = 256
    quirks: frozenset[str] = frozenset()
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        ranking: Ranking,
        how: How,
        *,
        quirks: Iterable[str] = RANKING_QUIRKS,
        without: Iterable[str] = (),
        **fixed: Any,
    ) -> Erasure:
        """The request from the keywords of a public function; those that are no fields are options of the method.

        `quirks` are those that the function honours; it takes no keywords `without`, nor those it has `fixed`.
        """
        taken = [name for name in How.__annotations__ if name not in (*without, *fixed)]
        fields = {name: how[name] for name in taken if name in how}
        options = {name: value for name, value in how.items() if name not in taken}
        for name in options:
            if isinstance(ranking, str) or name in How.__annotations__:
                known = METHODS[ranking].options if isinstance(ranking, str) else ()
                one_of("option of this erasure", name, [*taken, *known])
        fields["quirks"] = quirk_names.checked(fields.get("quirks", ()), quirks)
        return cls(ranking=ranking, options=options, **fields, **fixed)

    def __post_init__(self) -> None:
        one_of("level", self.level, LEVELS)
        if self.level == "attention" and self.operator is not None:
            raise ConfigError(
                f"operator={self.operator!r} says how words leave the input; at level 'attention' the text stays "
                "and weights are set to zero. Leave operator out, or use level='input'."
            )
        OPERATORS[self.operator or "pad"]
        if self.explainer is None and (self.options or self.target is not None):
            said = ", ".join(self.options) or "target"
            raise ConfigError(f"Scores were given, so no method runs that could use {said}.")

    def units(self, batch: Batch, trace: Answers) -> Tensor:
        """(B, T) bool: what can be removed."""
        return trace.mask if self.level == "attention" else batch.content

    def closed(self, trace: Answers) -> bool:
        """Whether removal has a closed form: weights of one pooling attention."""
        return self.level == ATTENTION and isinstance(trace, Trace)

    def eraser(self, model: Explainable, batch: Batch, trace: Answers) -> Rows:
        """What answers for texts without some of their words: wherever there is no closed form."""
        way = ATTENTION if self.level == ATTENTION else self.operator or operators(model)[0]
        return input_eraser(model, batch, trace, way)

    @cached_property
    def explainer(self) -> Explainer | None:
        """The importance method that ranks the units, at the level of removal; None: scores were given."""
        if not isinstance(self.ranking, str):
            return None
        level = "hidden" if self.level == "attention" and "hidden" in METHODS[self.ranking].levels else "input"
        return Explainer(self.ranking, level, self.target, self.seed, self.quirks, self.options)


class RankedBatch(NamedTuple):
    """A traced batch with its order of removal (B, T) and its units (B, T)."""

    batch: Batch
    trace: Answers
    order: Tensor
    units: Tensor

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
            return orders.table(request.eraser(fitted, self.batch, self.trace), self.order)
        logits = attention.prefix_logits(self.trace, self.order)
        logits[:, 0] = self.trace.logits.double()
        return logits


def ranked(fitted: Explainable, examples: list[Example], request: Erasure, what: str) -> Iterator[RankedBatch]:
    """All batches of the examples, behind a progress bar that counts the texts done."""
    rank = _by_method(fitted, request) if request.explainer else _by_scores(examples, request)
    with bar(f"{what}, {request.level} level", total=len(examples), unit="text") as line:
        for batch, trace in fitted.traces(examples, batch_size=request.batch_size):
            line.set_postfix_str(f"{len(batch)} texts of up to {batch.ids.shape[1]} tokens at a time")
            units = request.units(batch, trace)
            order = orders.descending(rank(batch, trace, units), units)
            yield RankedBatch(batch, trace, order, units)
            line.update(len(batch))


def _by_method(fitted: Explainable, request: Erasure) -> Rank:
    explain = request.explainer
    if request.level == "attention" and explain.level == "input" and fitted.hierarchical:
        raise ConfigError(
            f"Ranking {explain.method!r} ranks words; the attention level of a hierarchical model has sentences. "
            "Use a method with level 'hidden', such as 'alpha' or 'alpha_grad'."
        )

    def rank(batch: Batch, trace: Answers, units: Tensor) -> Tensor:
        scores, _ = explain(fitted, batch, trace)
        if (bad := (scores.isnan() & units).any(1)).any():
            raise DataError(f"Ranking {explain.method!r} is NaN in text {int(batch.rows[bad][0])} (from 0).")
        return scores.nan_to_num(0.0)

    return rank


def _by_scores(examples: list[Example], request: Erasure) -> Rank:
    arrays = orders.checked(request.ranking, [e.id for e in examples])

    def rank(batch: Batch, trace: Answers, units: Tensor) -> Tensor:
        rows = batch.rows.tolist()
        return orders.padded([arrays[i] for i in rows], units, rows)

    return rank
