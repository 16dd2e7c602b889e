r"""The self-attention inside a transformer encoder.

The kit pools the encoder's outputs with its own attention layer, alpha. The importance of input i is therefore
what flows from i to the outputs, weighted by alpha: :math:`\sum_p \alpha_p R_{pi}`. `row="first"` takes the first
output alone instead (the [CLS] of BERT), as papers on plain BERT classifiers do.
"""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.importance import hf
from attnlib.importance.base import Case, method
from attnlib.utils.errors import ConfigError, one_of


@method(
    "rollout",
    levels=("input",),
    summary="attention rollout through the layers of a transformer (Abnar & Zuidema 2020)",
    needs="self-attention",
    hf=hf.rollout,
)
def rollout(case: Case, row: str = "alpha") -> Tensor:
    r""":math:`R = \prod_l \tfrac12 (\bar A_l + I)`, with :math:`\bar A_l` the mean over heads of layer l."""
    flow = None
    for layer in self_attention(case):
        mixed = (layer.mean(1) + torch.eye(layer.shape[-1], dtype=layer.dtype, device=layer.device)) / 2
        flow = mixed if flow is None else mixed @ flow
    return _read(case, flow, row)


@method(
    "last_layer",
    levels=("input",),
    summary="mean over heads of the last layer's self-attention",
    needs="self-attention",
)
def last_layer(case: Case, row: str = "alpha") -> Tensor:
    return _read(case, self_attention(case)[-1].mean(1), row)


def self_attention(case: Case) -> list[Tensor]:
    """Self-attention weights of every layer, (B, heads, T, T)."""
    kind = case.model.config.encoder
    if case.model.config.hierarchical or kind not in ("bert", "transformer"):
        what = (
            f"a hierarchical model with encoder {kind!r}" if case.model.config.hierarchical else f"encoder {kind!r}"
        )
        raise ConfigError(
            f"This method reads the self-attention of a flat model with encoder 'transformer' or 'bert'; this is "
            f"{what}. Use 'alpha', a gradient method or 'omission'."
        )
    return case.model.encoder.self_attention(case.trace.embedded, case.batch.mask)


def _read(case: Case, flow: Tensor, row: str) -> Tensor:
    one_of("row", row, ("alpha", "first"))
    return flow[:, 0] if row == "first" else (case.trace.alpha.unsqueeze(1) @ flow).squeeze(1)
