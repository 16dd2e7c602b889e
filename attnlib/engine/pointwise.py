r"""Input erasure in closed form, for encoders that read each word alone (none, mlp).

Without context, removing words changes no other h_i and no other score: what is left is the projection of the
remaining scores. With softmax all prefixes are cumulative sums, as at the attention level; a sparse projection is
applied again to each remaining set. A replacement token (mask, unk) has the same state and score in every position:
the projection is applied to its score wherever it stands.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attnlib.engine import attention
from attnlib.engine.orders import inverse
from attnlib.engine.rows import Rows


class Pointwise(Rows):
    """All prefixes and all single removals of a batch, without running the model again."""

    whole = True

    def __init__(self, model, batch, trace, operator) -> None:
        super().__init__(model, batch, trace, operator)
        if operator.stays:
            self._replacement()

    def _replacement(self) -> None:
        """State, score and scale of the replacement token, read from a text that holds nothing else."""
        fields = {name: getattr(self.batch, name)[:, :1] for name in ("ids", "mask", "content", "words")}
        alone = replace(self.batch, sentences=None, **fields)
        alone = replace(
            alone,
            ids=torch.full_like(alone.ids, self.operator.token),
            mask=torch.ones_like(alone.mask),
            content=torch.ones_like(alone.content),
        )
        trace = self.model(alone)
        self.token_score = trace.scores.double()
        scale = 1.0 if trace.scale is None else trace.scale.double().unsqueeze(-1)
        self.token_part = (self._states(trace) * scale).squeeze(1)

    def _states(self, trace) -> Tensor:
        """(B, T, C) token logits of a linear decoder, else (B, T, H) states."""
        return (trace.token_logits if self.trace.linear else trace.hidden).double()

    def _finish(self, total: Tensor) -> Tensor:
        """Weighted sums of `_states` (B, K, ·) to logits."""
        return total + self.trace.bias.double() if self.trace.linear else attention.decode(self.trace, total)

    def prefixes(self, texts: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
        if self.operator.stays:
            rank = inverse(order).unsqueeze(1)
            logits = self._replaced(lambda steps: rank < steps.reshape(1, -1, 1))
        else:
            logits = attention.prefix_logits(self.trace, order, reproject=not self.trace.exponential)
        step = torch.arange(start + 1, stop + 1, device=order.device).clamp_max(logits.shape[1] - 1)
        step = torch.minimum(step.unsqueeze(0), self.lengths[texts].unsqueeze(1))
        return logits[texts].gather(1, step.unsqueeze(-1).expand(-1, -1, logits.shape[-1]))

    def singles(self) -> Tensor:
        if not self.operator.stays:
            return attention.single_logits(self.trace, reproject=not self.trace.exponential)
        line = torch.arange(self.batch.ids.shape[1], device=self.device)
        return self._replaced(lambda steps: line == (steps - 1).reshape(1, -1, 1))[:, 1:]

    def _replaced(self, gone_at: Callable[[Tensor], Tensor]) -> Tensor:
        """(B, T + 1, C): sets of positions replaced; `gone_at(steps)` gives them (·, k, T)."""
        content = self.batch.content.unsqueeze(1)
        states = self._states(self.trace)
        scale = None if self.trace.scale is None else self.trace.scale.double().unsqueeze(1)
        step = max(1, attention.CELLS // (content.shape[0] * content.shape[-1]))
        pieces = []
        for steps in torch.arange(content.shape[-1] + 1, device=self.device).split(step):
            gone = gone_at(steps) & content
            scores = torch.where(gone, self.token_score.unsqueeze(1), self.trace.scores.double().unsqueeze(1))
            alpha = self.trace.project(scores, content.expand_as(gone)).double()
            kept = alpha.masked_fill(gone, 0.0)
            token = alpha.masked_fill(~gone, 0.0).sum(-1, keepdim=True)
            kept = kept if scale is None else kept * scale
            pieces.append(self._finish(kept @ states + token * self.token_part.unsqueeze(1)))
        return torch.cat(pieces, 1)
