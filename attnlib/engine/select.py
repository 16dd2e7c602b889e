"""Which eraser is the cheapest exact one for a model."""

from __future__ import annotations

from attnlib.engine.operators import operator as make_operator
from attnlib.engine.pointwise import Pointwise
from attnlib.engine.recurrent import Recurrent
from attnlib.engine.rows import Rows
from attnlib.engine.windows import Windows


def input_eraser(fitted, batch, trace, operator: str, *, generic: bool = False) -> Rows:
    """The eraser of a batch at the input level; `generic` runs every variant, whatever the encoder."""
    made = make_operator(operator, fitted.model, fitted.vectoriser)
    return kind(fitted.model, generic=generic)(fitted.model, batch, trace, made)


def kind(model, *, generic: bool = False) -> type[Rows]:
    """The class of eraser for a model. Two and more layers share nothing beyond the first: rows."""
    config = model.config
    if generic or config.hierarchical:
        return Rows
    if config.encoder in ("none", "mlp"):
        return Pointwise
    if config.recurrent and config.layers == 1:
        return Recurrent
    if config.encoder == "cnn" and config.layers == 1:
        return Windows
    return Rows
