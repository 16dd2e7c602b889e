"""LIME and KernelSHAP through Captum: linear models of a text's answers to removed words."""

from __future__ import annotations

import torch
from torch import Tensor

from attnlib.engine.select import input_eraser
from attnlib.errors import ConfigError
from attnlib.methods.base import Job, method


@method(
    "lime",
    levels=("input",),
    summary="weights of a sparse linear model of the answers to removed words (Ribeiro et al. 2016), by Captum",
    needs="variants",
    target="probability",
)
def lime(job: Job, samples: int = 200, operator: str = "pad") -> Tensor:
    captum = _captum()
    return _surrogate(job, captum.Lime, samples, operator)


@method(
    "kernel_shap",
    levels=("input",),
    summary="Shapley values estimated by weighted regression (Lundberg & Lee 2017), by Captum",
    needs="variants",
    target="probability",
)
def kernel_shap(job: Job, samples: int = 200, operator: str = "pad") -> Tensor:
    captum = _captum()
    return _surrogate(job, captum.KernelShap, samples, operator)


def _captum():
    try:
        import captum.attr
    except ImportError:
        raise ConfigError("lime and kernel_shap need captum: pip install captum.") from None
    return captum.attr


def _surrogate(job: Job, kind, samples: int, operator: str) -> Tensor:
    eraser = input_eraser(job.fitted, job.batch, job.trace, operator, generic=True)
    scores = torch.zeros(job.units.shape, dtype=torch.float64, device=job.units.device)
    for i, row in enumerate(job.batch.rows.tolist()):
        places = job.units[i].nonzero().squeeze(1)

        def answer(kept: Tensor, i=i, places=places) -> Tensor:
            removed = torch.zeros(len(kept), job.units.shape[1], dtype=torch.bool, device=kept.device)
            removed[:, places] = kept < 0.5
            texts = torch.full((len(kept),), i, device=kept.device)
            return job.explained(eraser.variants(texts, lambda piece: removed[piece]), texts).float()

        whole = torch.ones(1, len(places), device=job.units.device)
        with torch.random.fork_rng():
            torch.manual_seed((job.seed * 1_000_003 + row) % 2**63)
            found = kind(answer).attribute(
                whole, baselines=torch.zeros_like(whole), n_samples=samples, perturbations_per_eval=64
            )
        scores[i, places] = found[0].double()
    return scores
