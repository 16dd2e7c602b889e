"""Which eraser is the cheapest exact one for a model."""

from __future__ import annotations

from attnlib.engine.operators import operator as make_operator
from attnlib.engine.pointwise import Pointwise
from attnlib.engine.rows import Rows


def input_eraser(fitted, batch, trace, operator: str, *, generic: bool = False) -> Rows:
    """The eraser of a batch at the input level; `generic` runs every variant, whatever the encoder."""
    made = make_operator(operator, fitted.model, fitted.vectoriser)
    return kind(fitted.model, generic=generic)(fitted.model, batch, trace, made)


def kind(model, *, generic: bool = False) -> type[Rows]:
    """The class of eraser for a model."""
    config = model.config
    if generic or config.hierarchical:
        return Rows
    if config.encoder in ("none", "mlp"):
        return Pointwise
    return Rows
