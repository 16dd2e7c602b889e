"""The attention inside a Hugging Face classifier: `attnlib.hf.readings`, summed over the pieces of each word.

Special tokens get no number. What they swallow of a reading that sums to one is one minus the sum of its words.
"""

from __future__ import annotations

from torch import Tensor

from attnlib.hf import readings
from attnlib.hf.network import per_word
from attnlib.importance.base import Case, method


@method(
    "cls_last",
    summary="last layer's attention at the position that the head reads ([CLS]; a decoder's last token)",
    models="hf",
)
def cls_last(case: Case) -> Tensor:
    return case.trace.alpha


def rollout(case: Case) -> Tensor:
    return per_word(readings.rollout(case.model, case.batch.pieces), case.batch)


@method(
    "value_norm",
    summary="last layer's attention times the norm of the value, sums to one (after Kobayashi et al. 2020)",
    models="hf",
)
def value_norm(case: Case) -> Tensor:
    return per_word(readings.value_norm(case.model, case.batch.pieces), case.batch)


@method(
    "attention_grad",
    summary="positive part of attention times gradient, through all layers (Chefer et al. 2021)",
    needs="gradient",
    models="hf",
    target="logit",
)
def attention_grad(case: Case) -> Tensor:
    return per_word(readings.attention_grad(case.model, case.batch.pieces, case.explained), case.batch)


@method(
    "value_zeroing",
    summary="how far states turn without a piece's value, through all layers (Mohebbi et al. 2023); slow",
    needs="variants",
    models="hf",
)
def value_zeroing(case: Case) -> Tensor:
    return per_word(readings.value_zeroing(case.model, case.batch.pieces), case.batch)
