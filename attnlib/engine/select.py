"""Which eraser is the cheapest exact one for a model."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from torch import nn

from attnlib.engine.branches import Branches
from attnlib.engine.gapless import Gapless
from attnlib.engine.operators import OPERATORS
from attnlib.engine.pointwise import Pointwise
from attnlib.engine.rows import Rows
from attnlib.engine.windows import Windows
from attnlib.models.encoders import Transformer

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.models.trace import Trace
    from attnlib.training.fitted import Fitted


@singledispatch
def input_eraser(fitted: Fitted, batch: Batch, trace: Trace, operator: str, *, generic: bool = False) -> Rows:
    """The eraser of a batch at the input level; `generic` runs every variant, whatever the encoder."""
    made = OPERATORS[operator](fitted.model, fitted.vectoriser)
    kind = Rows if generic else cheapest(fitted.model)
    return kind(fitted.model, batch, trace, made)


def cheapest(model: nn.Module) -> type[Rows]:
    """The class of eraser for a model. Beyond one recurrent or convolutional layer nothing is shared."""
    config = model.config
    if config.hierarchical:
        return Rows
    if not config.contextual:
        return Pointwise
    if config.recurrent and config.layers == 1:
        return Branches
    if isinstance(model.encoder, Transformer):  # not by its name: an encoder may be replaced by another one
        return Gapless
    if config.encoder == "cnn" and config.layers == 1:
        return Windows
    return Rows
