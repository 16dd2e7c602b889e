"""LIME and KernelSHAP through Captum: linear models of a text's answers to removed words.

The linear model of LIME is a ridge regression with penalty 1, as in its authors' own package. Captum's default, a
lasso with penalty 0.01, suits larger numbers than changes of a probability: it gives most words, in many texts
all of them, a weight of exactly zero, and ranks them no better than chance.
"""

from __future__ import annotations

import warnings

import torch
from torch import Tensor

from attnlib.engine.select import input_eraser
from attnlib.importance.base import Case, method
from attnlib.utils.extras import needs

RIDGE = 1.0
"""Penalty on the squared weights of LIME's linear model."""
NOISE = 1e-7
"""Scores up to this are rounding: the answers that Captum fits are in single precision."""


class AllZero(UserWarning):
    """Texts whose outputs no removal changes: they have no ranking."""


@method(levels=("input",), needs="variants", models="both", target="probability")
def lime(case: Case, samples: int = 200, operator: str = "pad") -> Tensor:
    """weights of a linear model of the answers to removed words (Ribeiro et al. 2016), by Captum"""
    captum = needs("captum.attr", "captum")
    from captum._utils.models.linear_model import SkLearnRidge

    return _surrogate(
        case, lambda answer: captum.Lime(answer, interpretable_model=SkLearnRidge(alpha=RIDGE)), samples, operator
    )


@method(levels=("input",), needs="variants", models="both", target="probability")
def kernel_shap(case: Case, samples: int = 200, operator: str = "pad") -> Tensor:
    """Shapley values estimated by weighted regression (Lundberg & Lee 2017), by Captum"""
    captum = needs("captum.attr", "captum")
    return _surrogate(case, captum.KernelShap, samples, operator)


def _surrogate(case: Case, kind, samples: int, operator: str) -> Tensor:
    eraser = input_eraser(case.fitted, case.batch, case.trace, operator, generic=True)
    scores = torch.zeros(case.units.shape, dtype=torch.float64, device=case.units.device)
    for i, row in enumerate(case.batch.rows.tolist()):
        places = case.units[i].nonzero().squeeze(1)

        def answer(kept: Tensor, i=i, places=places) -> Tensor:
            removed = torch.zeros(len(kept), case.units.shape[1], dtype=torch.bool, device=kept.device)
            removed[:, places] = kept < 0.5
            texts = torch.full((len(kept),), i, device=kept.device)
            return case.explained(eraser.variants(texts, lambda piece: removed[piece]), texts).float()

        whole = torch.ones(1, len(places), device=case.units.device)
        with torch.random.fork_rng():
            torch.manual_seed((case.seed * 1_000_003 + row) % 2**63)
            found = kind(answer).attribute(
                whole, baselines=torch.zeros_like(whole), n_samples=samples, perturbations_per_eval=64
            )
        scores[i, places] = found[0].double()
    empty = (scores.abs().amax(1) <= NOISE).sum().item()
    if empty:
        warnings.warn(
            f"All scores of {empty} of {len(scores)} texts are zero: no removal tried moves their answers. "
            "A ranking by them follows the order of the text. Try more samples, or target='logit'.",
            AllZero,
            stacklevel=2,
        )
    return scores
