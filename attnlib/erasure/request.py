"""Erasure requests: what is removed, in which order and how, checked once and then passed down.

level="attention"  zero attention weights and renormalise the rest (Serrano & Smith 2019), or `reproject` a sparse
                   projection: closed form, no encoder pass beyond the first
level="input"      remove words from the text itself (Chrysostomou & Aletras 2021), by an `operator`: `pad` (the
                   default, what they run), `delete` (what they write), `mask`, `unk`

A `ranking` is the name of an importance method, or scores of your own: one array per text, one number per unit, as
`importance` returns. Units are removed from the highest score down; equal scores in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypedDict

import numpy as np

from attnlib import quirks as quirk_names
from attnlib.engine.explainable import ATTENTION, operators
from attnlib.engine.operators import OPERATORS
from attnlib.engine.select import input_eraser
from attnlib.importance.scores import METHODS, Explainer
from attnlib.models.trace import Trace
from attnlib.utils.errors import ConfigError, one_of

if TYPE_CHECKING:
    from torch import Tensor

    from attnlib.data.batching import Batch
    from attnlib.engine.explainable import Answers, Explainable
    from attnlib.engine.rows import Rows

LEVELS = (ATTENTION, "input")
RANKING_QUIRKS = ("tasc_ig", "tasc_grad_after_ig")
Ranking = str | Sequence[np.ndarray]


class How(TypedDict, total=False):
    """Keywords that all functions of erasure take: the fields of `Erasure`, explained there."""

    level: Literal["attention", "input"]
    operator: str | None
    reproject: bool | None
    target: Literal["logit", "probability"] | None
    seed: int
    batch_size: int
    on_bad: Literal["raise", "mark"]
    quirks: Iterable[str]
    options: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Removal:
    """How units are removed; options that do not apply at a level are refused there.

    level      `input`: words leave the text; `attention`: positions lose their weight
    operator   at the input level: what becomes of a removed word (`engine.operators`); None: `pad`, or the first
               of a Hugging Face model's `operators(model)`
    reproject  at the attention level: apply a sparse projection to what remains instead of renormalising it
    """

    level: str = "input"
    operator: str | None = None
    reproject: bool | None = None

    def __post_init__(self) -> None:
        one_of("level", self.level, LEVELS)
        if self.level == "attention" and self.operator is not None:
            raise ConfigError(
                f"operator={self.operator!r} says how words leave the input; at level 'attention' the text stays "
                "and weights are set to zero. Leave operator out, or use level='input'."
            )
        if self.level == "input" and self.reproject is not None:
            raise ConfigError(
                f"reproject={self.reproject} says what becomes of the remaining weights at level 'attention'; at "
                "level 'input' the model reads the changed text and projects its scores in any case. Leave "
                "reproject out, or use level='attention'."
            )
        OPERATORS[self.operator or "pad"]

    def units(self, batch: Batch, trace: Answers) -> Tensor:
        """(B, T) bool: what can be removed."""
        return trace.mask if self.level == "attention" else batch.content

    def way(self, model: Explainable) -> str:
        """The operator for this model, one of `operators(model)`."""
        return ATTENTION if self.level == ATTENTION else self.operator or operators(model)[0]

    def closed(self, trace: Answers) -> bool:
        """Whether removal has a closed form: weights of one pooling attention."""
        return self.level == ATTENTION and isinstance(trace, Trace)

    def eraser(self, model: Explainable, batch: Batch, trace: Answers) -> Rows:
        """What answers for texts without some of their words: wherever there is no closed form."""
        return input_eraser(model, batch, trace, self.way(model))


@dataclass(frozen=True, kw_only=True)
class Erasure(Removal):
    """One question about erasure: a way of removal, and the order of what is removed.

    ranking          the name of an importance method, or scores of your own
    target, seed, quirks, options   of the importance method, where `ranking` names one
    batch_size       texts traced at a time; it changes no result
    on_bad           a ranking that does not fit its text (wrong length, NaN): `raise`, or `mark` the row and go on
    """

    ranking: Ranking
    target: str | None = None
    seed: int = 0
    batch_size: int = 256
    on_bad: str = "raise"
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
        """The request from the keywords of a public function.

        Keywords that are no fields are options of the importance method. `quirks` are those that the function
        honours; it does not take the keywords `without`, nor those it has `fixed`.
        """
        taken = [name for name in How.__annotations__ if name not in (*without, *fixed)]
        fields = {name: how[name] for name in taken if name in how}
        options = {name: value for name, value in how.items() if name not in taken}
        options |= fields.pop("options", {})
        for name in options:
            if isinstance(ranking, str) or name in How.__annotations__:
                known = METHODS[ranking].options if isinstance(ranking, str) else ()
                one_of("option of this erasure", name, [*taken, *known])
        fields["quirks"] = quirk_names.checked(fields.get("quirks", ()), quirks)
        return cls(ranking=ranking, options=options, **fields, **fixed)

    def __post_init__(self) -> None:
        super().__post_init__()
        one_of("on_bad", self.on_bad, ("raise", "mark"))
        if self.explainer is None and (self.options or self.target is not None):
            said = ", ".join(self.options) or "target"
            raise ConfigError(f"Scores were given, so no method runs that could use {said}.")

    @cached_property
    def explainer(self) -> Explainer | None:
        """The importance method that ranks the units, at the level of removal; None: scores were given."""
        if not isinstance(self.ranking, str):
            return None
        level = "hidden" if self.level == "attention" and "hidden" in METHODS[self.ranking].levels else "input"
        return Explainer(self.ranking, level, self.target, self.seed, self.quirks, self.options)
