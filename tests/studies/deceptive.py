"""A model that hides what it relies on: trained to keep attention off decisive words (Pruthi et al. 2020)."""

from __future__ import annotations

import numpy as np
import torch

import attnlib as al
from attnlib.data.types import Corpus
from attnlib.training.fit import cross_entropy
from attnlib.training.fitted import Fitted


def fit_hiding(
    corpus: Corpus, model: al.ModelConfig, training: al.TrainConfig, seed: int = 0, *, weight: float = 1.0
) -> Fitted:
    """Cross-entropy minus weight · log(1 - m), where m is the attention on the words of the rationale."""
    marks = [np.array(example.rationale, dtype=np.float32) for example in corpus.train]
    plain = cross_entropy(corpus, training, torch.device("cpu"))

    def objective(trace, batch):
        marked = torch.zeros_like(trace.alpha)
        for row, place in zip(marked, batch.rows.tolist(), strict=True):
            row[: len(marks[place])] = torch.from_numpy(marks[place])
        mass = (trace.alpha * marked).sum(1)
        return {**plain(trace, batch), "hidden": -weight * torch.log(1 - mass + 1e-6).mean()}

    return al.fit(corpus, model, training, seed, objective=objective)
