"""Which eraser is the cheapest exact one for a model, and the closed form for encoders without context."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from attnlib.engine import attention
from attnlib.engine.operators import OPERATORS, Operator
from attnlib.engine.rows import Rows
from attnlib.engine.windows import Windows
from attnlib.models.attention import Additive, Deep, Dot
from attnlib.models.classifier import AttentionClassifier, JoinDecoder, Reader
from attnlib.models.encoders import CNN, MLP, Layer, NoEncoder, Recurrent, Transformer
from attnlib.models.projections import Projection
from attnlib.models.regularise import Concat, MaskedWords, Regulariser, Residual, Tying
from attnlib.models.scaling import Conv, Feat, Lin

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.models.trace import Trace
    from attnlib.training.fitted import Fitted

OURS = {AttentionClassifier, Reader, Projection, JoinDecoder, Additive, Deep, Dot, Lin, Feat, Conv}
OURS |= {NoEncoder, MLP, CNN, Recurrent, Transformer, Layer, Regulariser, Concat, Residual, Tying, MaskedWords}
TORCHS = {nn.Embedding, nn.Linear, nn.Conv1d, nn.LSTM, nn.GRU, nn.LayerNorm, nn.ReLU, nn.GELU}
TORCHS |= {nn.Dropout, nn.Identity, nn.Sequential, nn.ModuleList}


@singledispatch
def input_eraser(fitted: Fitted, batch: Batch, trace: Trace, operator: str, *, generic: bool = False) -> Rows:
    """The eraser of a batch at the input level; `generic` runs every variant, whatever the model."""
    made = OPERATORS[operator](fitted.model, fitted.vectoriser)
    kind = Rows if generic else cheapest(fitted.model, made)
    return kind(fitted.model, batch, trace, made)


def cheapest(model: nn.Module, operator: Operator) -> type[Rows]:
    """The class of eraser for a model. Only where a word moves few states is anything saved."""
    if operator.stays or not plain(model):
        return Rows
    encoder = model.encoder
    if type(encoder) in (NoEncoder, MLP):
        return Pointwise
    short = type(encoder) is CNN and len(encoder.layers) == 1 and operator.token == 0
    return Windows if short and not isinstance(model.reader.regulariser, Concat | Residual) else Rows


class Pointwise(Rows):
    """Encoders that read each word alone (none, mlp): removing words changes no other state and no other score.

    What is left is the projection of the remaining scores: all prefixes and all single removals of a batch, without
    running the model again, as at the attention level.
    """

    whole = True

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        logits = attention.prefix_logits(self.trace, order, reproject=not self.trace.exponential)
        step = torch.arange(start + 1, stop + 1, device=order.device).clamp_max(logits.shape[1] - 1)
        step = torch.minimum(step.unsqueeze(0), self.lengths[texts].unsqueeze(1))
        return logits[texts].gather(1, step.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))

    def singles(self) -> Tensor:
        return attention.single_logits(self.trace, reproject=not self.trace.exponential)


def plain(model: nn.Module) -> bool:
    """Whether a flat model is made of modules that shortcuts know, whatever its config says.

    Shortcuts take a model apart instead of calling it. So every module must be exactly of a known class, with no
    hook and no `forward` of its own: an encoder or attention that somebody else wrote is run as it is.
    """
    return isinstance(model, AttentionClassifier) and all(map(_known, model.modules()))


def _known(module: nn.Module) -> bool:
    changed = module._forward_hooks or module._forward_pre_hooks or "forward" in vars(module)
    return type(module) in OURS | TORCHS and not changed
