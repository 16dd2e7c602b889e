r"""How much every input moves every hidden state (Meister et al. 2021, eq. 5).

.. math:: G_{pi} = \Big\| \frac{\partial \|h_p\|_2}{\partial X_i} \Big\|_2

for all p and i. Definition: one backward pass per position p (`by_loop`). Cheaper and equal, for the kit's own lstm
and gru of one layer (`select.plain`): back-propagation through time of all p at once (`bptt`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor, nn

from attnlib.engine.attention import CELLS
from attnlib.engine.bptt import sweep
from attnlib.engine.operators import self_attentive
from attnlib.engine.select import plain
from attnlib.models.encoders import Recurrent, reversal, turned
from attnlib.models.regularise import Concat, Residual
from attnlib.utils.device import measuring
from attnlib.utils.errors import ConfigError
from attnlib.utils.progress import bar

PASS_TOKENS = 512
"""Padded positions of a batch whose states go backward one by one: a long text must not make short ones longer."""

if TYPE_CHECKING:
    from attnlib.data.batching import Batch
    from attnlib.data.types import Example
    from attnlib.training.fitted import Fitted


def norm_jacobian(fitted: Fitted, examples: Iterable, *, batch_size: int = 64) -> list[np.ndarray]:
    """One (n, n) array per text over its n content positions: row p, column i, :math:`g_{h_p}(x_i)` of eq. 5.

    Every row sums to one; a row of zeros (no input moves it) stays so.
    """
    examples = fitted.examples(examples)
    if fitted.model_config.hierarchical:
        raise ConfigError(
            "norm_jacobian reads one encoder over words; a hierarchical model has two. Use a flat one."
        )
    found: list[np.ndarray | None] = [None] * len(examples)
    most = PASS_TOKENS if self_attentive(fitted.model) else None
    with bar("influence of inputs on hidden states", total=len(examples), unit="text") as line:
        for batch in fitted.vectoriser.batches(examples, batch_size, labels=False, max_tokens=most):
            batch = batch.to(fitted.device)
            norms = influence(fitted.model, batch)
            for i, row in enumerate(batch.rows.tolist()):
                where = batch.content[i]
                found[row] = _shares(norms[i][where][:, where])
            line.update(len(batch))
    return found


def full_jacobian(fitted: Fitted, example: Example) -> np.ndarray:
    r"""(n, n): :math:`\|\partial h_p / \partial X_i\|_F`, rows p normalised to sum to one, or zero.

    The text is repeated once per component of h, so that one backward pass gives all components of one state.
    """
    model, vectoriser = fitted.model, fitted.vectoriser
    batch = vectoriser.batch(vectoriser.encode(fitted.examples([example]))).to(fitted.device)
    content = batch.content[0]
    with fitted.evaluating(grad=True):
        embedded = model.embed(batch).detach()
        width = model.reader.encode(embedded, batch.mask).shape[-1]
        leaf = embedded.expand(width, -1, -1).clone().requires_grad_()
        hidden = model.reader.encode(leaf, batch.mask.expand(width, -1))
        rows = []
        for p in content.nonzero().squeeze(1).tolist():
            facet = hidden[:, p].diagonal().sum()
            gradient = torch.autograd.grad(facet, leaf, retain_graph=True)[0]
            rows.append(gradient.square().sum((0, 2)).sqrt())
    return _shares(torch.stack(rows)[:, content])


def _shares(square: Tensor) -> np.ndarray:
    """Rows divided by their sums; a row of zeros stays so."""
    square = square.double().cpu().numpy()
    total = square.sum(1, keepdims=True)
    return square / np.where(total > 0, total, 1.0)


@measuring()
def influence(model: nn.Module, batch: Batch) -> Tensor:
    """(B, T, T): G of every text, by the cheapest exact way; zero at padding."""
    embedded, encoder, mask = model.embed(batch).detach(), model.encoder, batch.mask
    if plain(model) and type(encoder) is Recurrent and len(encoder.forwards) == 1:
        step = max(1, CELLS // (embedded.shape[1] * 4 * encoder.width))  # memory stays flat as texts grow
        parts = zip(embedded.split(step), mask.split(step), strict=True)
        norms = torch.cat([_recurrent(model, some, its_mask) for some, its_mask in parts])
    else:
        norms = by_loop(model, embedded, mask)
    return norms.masked_fill(~(mask.unsqueeze(1) & mask.unsqueeze(2)), 0.0)


def by_loop(model: nn.Module, embedded: Tensor, mask: Tensor) -> Tensor:
    """The definition: a backward pass for each position."""
    with measuring(grad=True):
        leaf = embedded.detach().requires_grad_()
        length = model.reader.encode(leaf, mask).norm(dim=-1)
        rows = [
            torch.autograd.grad(length[:, p].sum(), leaf, retain_graph=True)[0].norm(dim=-1)
            for p in range(length.shape[1])
        ]
    return torch.stack(rows, 1)


def _recurrent(model: nn.Module, embedded: Tensor, mask: Tensor) -> Tensor:
    direction, own = _directions(model, embedded, mask)
    encoder = model.encoder
    size = encoder.forwards[0].hidden_size
    norms, corner = sweep(encoder.forwards[0], embedded, direction[..., :size])
    if encoder.backwards:
        turn = reversal(mask)
        back, other = sweep(encoder.backwards[0], turned(embedded, turn), turned(direction[..., size:], turn))
        back = torch.stack([turned(rows, turn) for rows in back.transpose(0, 1)]).transpose(0, 1)
        norms, corner = norms + turned(back, turn), corner + turned(other, turn)
    # Where p = i both directions and the word itself meet: their vectors add before the norm is taken.
    norms.diagonal(dim1=1, dim2=2).copy_((corner + own).norm(dim=-1))
    return norms


def _directions(model: nn.Module, embedded: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Unit vectors h_p / ‖h_p‖: the encoder's part (B, T, H), and what the word itself adds (B, T, D)."""
    hidden = model.reader.encode(embedded, mask)
    norm = hidden.norm(dim=-1, keepdim=True)
    unit = torch.where(norm > 0, hidden / norm, 0.0)
    if isinstance(model.reader.regulariser, Concat):
        return unit.split([model.encoder.width, embedded.shape[-1]], -1)
    return unit, unit if isinstance(model.reader.regulariser, Residual) else torch.zeros_like(embedded)
