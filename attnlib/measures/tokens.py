r"""What a model would predict from each token alone, and how evenly it attends.

.. math:: z = b + \sum_t \alpha_t s_t v_t = \sum_t \alpha_t (b + s_t v_t), \qquad
          p_t = \mathrm{softmax}(b + s_t v_t)

(Tutek & Šnajder 2020, eq. 9: b moves inside the sum because the weights sum to one.) p_t is the output with all
attention on token t. Where every p_t is near the prediction, the weights decide nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from attnlib import stats

if TYPE_CHECKING:
    from attnlib.data.types import Example
    from attnlib.models.trace import Trace
    from attnlib.training.fitted import Fitted


def token_probabilities(trace: Trace) -> Tensor:
    """(B, T, C): class probabilities with all attention on one position; meaningless where masked."""
    alone = trace.hidden if trace.scale is None else trace.hidden * trace.scale.unsqueeze(-1)
    return trace.decode(alone).softmax(-1)


@torch.no_grad()
def token_table(fitted: Fitted, examples: Sequence[Example], *, batch_size: int = 256) -> pd.DataFrame:
    """One row per text, in the order given.

    instance, id, length, label, prediction; confidence: p of the predicted class; token_probability: mean over
    tokens of p_t of that class (the paper's Table 3 averages it over correctly classified texts); entropy:
    that of the attention weights over its maximum ln T, NaN for a single token
    """
    frames = []
    for batch, trace in fitted.traces(examples, batch_size):
        chosen = trace.prediction
        picked = chosen.view(-1, 1, 1).expand(-1, trace.mask.shape[1], 1)
        alone = token_probabilities(trace).gather(-1, picked).squeeze(-1)
        mean = alone.double().masked_fill(~trace.mask, 0.0).sum(1) / trace.lengths.clamp_min(1)
        rows = batch.rows.cpu().numpy()
        frames.append(
            pd.DataFrame(
                {
                    "instance": rows,
                    "id": [examples[i].id for i in rows],
                    "length": trace.lengths.cpu().numpy(),
                    "label": [examples[i].label for i in rows],
                    "prediction": chosen.cpu().numpy(),
                    "confidence": trace.probabilities.amax(-1).double().cpu().numpy(),
                    "token_probability": np.where(trace.lengths.cpu() > 0, mean.cpu(), np.nan),
                    "entropy": stats.normalized_entropy(trace.alpha.double().cpu(), trace.mask.cpu()),
                }
            )
        )
    return pd.concat(frames, ignore_index=True).sort_values("instance", ignore_index=True)
